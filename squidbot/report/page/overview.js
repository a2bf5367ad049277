// The overview: what the session took, and ten questions with their answers.

let charts = [], said = {};
function overview() {
  if (!charts.length) {
    charts = [["chart-tokens", TOKENS], ["chart-cost", COST], ["chart-sum", SUM]].map(([id, kind]) => new Chart(document.getElementById(id), kind));
    document.getElementById("overview-tools").replaceChildren(...zoomButtons());
  }
  document.getElementById("chart-sum").hidden = app.session.isRecording;
  for (const chart of charts) chart.paint();
  // What does not change with the zoom is not made anew.
  if (said.session === app.session && said.money === app.money) return;
  said = { session: app.session, money: app.money };
  document.getElementById("totals").replaceChildren(...totals());
  document.getElementById("questions").replaceChildren(...questions());
  const money = document.getElementById("money");
  money.closest("label").hidden = !app.session.values.prices.per_million;
  money.checked = app.money;
}

function zoomButtons() {
  const button = (label, says, click) => make("button", { type: "button", "aria-label": says, title: says, click }, label);
  return [
    make("span", { class: "dim" }, "Calls:"), button("+", "Zoom in", () => zoomCalls(1 / 1.6)), button("\u2212", "Zoom out", () => zoomCalls(1.6)),
    button("\u2190", "Earlier calls", () => moveCalls(-0.5)), button("\u2192", "Later calls", () => moveCalls(0.5)),
    button("All", "Show all calls", () => keepPlace({ calls: null })),
    make("label", {}, make("input", { type: "checkbox", id: "money", change: (event) => { app.money = event.target.checked; redraw(); } }), "prices in money"),
  ];
}

function totals() {
  const { values } = app.session, all = values.totals, { window } = values;
  const counted = app.session.calls.reduce((sum, call) => sum + call.cached, 0), tokens = app.session.calls.reduce((sum, call) => sum + call.cached + call.new + call.rewritten, 0);
  const saved = all.everything_price > 0 ? 1 - all.price / all.everything_price : null;
  const unsure = all.calls - all.rebuilt;
  const boxes = app.session.isRecording ? recordedBoxes(counted, tokens) : [
    ["Calls", figure(all.calls), all.reported ? `${figure(all.reported)} with the provider's report` : "requests to the model"],
    ["Messages", figure(all.messages), `${figure(all.said_tokens)} tokens were said`],
    ["Limit of a request", figure(window.limit), `tokens; the window has ${figure(window.tokens)}, and ${figure(window.reserve)} are kept for the answer`],
    ["Prompts cost", priced(all.price), saved === null ? "" : `${share(Math.abs(saved), 1)} ${saved >= 0 ? "less" : "more"} than sending everything (${priced(all.everything_price)})${billedApart(values)}`],
    ["From the cache", share(counted, tokens), `of ${figure(tokens)} prompt tokens were read from the provider's cache`],
    ["Answers cost", priced(all.output_price), `${figure(all.output)} tokens written by the model`],
    ["Compactions", figure(all.compactions), "changes of what is sent of older messages"],
    ["Verified", `${figure(all.rebuilt)} of ${figure(all.calls)}`, unsure ? `calls were rebuilt byte for byte; ${figure(unsure)} are not` : "calls were rebuilt: byte for byte what was sent"],
  ];
  return [make("p", {}, ...summary(values)), make("dl", { class: "figures" }, boxes.map(([name, value, note]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note)))))];
}

function recordedBoxes(cached, tokens) {
  const { session } = app, { totals: all, recording } = session.values, largest = session.calls.length ? session.sizeOf(session.largest) : 0;
  const unsure = all.calls - all.reported, estimated = unsure ? `, of which ${many(unsure, "call")} without a report are estimated` : "";
  return [
    ["Imported from", agentName(recording), [recording.project, recording.title].filter(Boolean).map(shown).join(" \u00b7 ")],
    ["Calls", figure(all.calls), `of the agent; ${figure(all.reported)} with the provider's report`],
    ["Messages", figure(all.messages), `${figure(all.said_tokens)} tokens were said`],
    ["Largest call", figure(largest), all.reported ? "tokens, as the provider reported" : "tokens of messages"],
    ["Prompts cost", priced(all.price), unsure < all.calls ? `as the provider reported${estimated}` : "estimated: the recording has no report"],
    ["From the cache", share(cached, tokens), `of ${figure(tokens)} prompt tokens${unsure ? ", partly estimated" : ""}`],
    ["Answers cost", priced(all.output_price), `${figure(all.output)} tokens written by the model`],
    ["Compactions", figure(all.compactions), "of the agent's own"],
  ];
}
function agentName(recording) { return recording.agent ? word(AGENTS, recording.agent) : "another agent"; }

// A provider's report counts what squidbot does not see, such as the host's tools: sums of both can't be compared well.
function billedApart({ totals: all, source }) {
  return source === "store" && all.reported ? "; this is billed as the provider reported it, sending everything as squidbot counts" : "";
}

// Below this part of our count, a provider does not only count in another way.
const FAR_BELOW = 0.75;
function recordedSummary({ totals: all, recording, calls: every }) {
  const where = recording.project ? ` (project ${shown(recording.project)})` : "", over = every.filter((call) => call.reported && call.reported.input_tokens > call.tokens);
  const mean = over.reduce((sum, call) => sum + call.reported.input_tokens - call.tokens, 0) / over.length;
  const under = every.filter((call) => call.reported && call.reported.input_tokens < FAR_BELOW * call.tokens).length;
  return [
    `This session was imported from ${agentName(recording)}${where}: the model was called ${many(all.calls, "time")} in a conversation of ${many(all.messages, "message")}. squidbot made none of these calls: each shows the messages that the agent can have sent. `,
    all.compactions ? `The agent compacted ${many(all.compactions, "time")}: from there on its own summary stands for the messages before it. ` : "",
    over.length ? `In ${many(over.length, "call")}, the provider reported more tokens than these messages have, ${figure(mean)} on average: system text and tools, which a recording lacks. ` : "",
    under ? `In ${many(under, "call")}, the provider reported far fewer than these messages have: there the agent had left out messages, which this recording does not tell. ` : "",
    all.reported ? "" : "The recording does not say what the provider reported, so tokens and prices are estimated. ",
    `Prices are ${priceUnit()}. Calls and messages are numbered from 0.`,
  ];
}
function priceUnit() { return app.money ? "in money" : "in tokens' worth: 1 is the price of one input token that is not cached"; }

function summary(values) {
  if (app.session.isRecording) return recordedSummary(values);
  const all = values.totals, { limit } = values.window, everything = values.policies[0];
  const first = everything ? everything.tokens.findIndex((tokens, at) => tokens !== null && tokens > (app.session.calls[at]?.limit || limit)) : -1;
  const fit = !all.calls ? [] : first < 0 ? ["Sending everything would have fitted at each call."] : ["Sending everything would not have fitted from ", callLink(first), " on."];
  return [
    `${values.source === "replay" ? "This is a replay of a recording" : "This is a stored session"}: the model was called ${many(all.calls, "time")} in a conversation of ${many(all.messages, "message")}. squidbot kept each request within ${figure(limit)} tokens: it replaced older messages with notes ${many(all.compactions, "time")}, and kept every message in its store. `,
    ...fit, ` Prices are ${priceUnit()}. Calls and messages are numbered from 0.`,
  ];
}

// -- ten questions ------------------------------------------------------------------------------------------------------

function questions() {
  return (app.session.calls.length ? [fits, dropped, dearer, halved, eaters, unknown, policies, sure, recalled, atCall] : [fits]).flatMap((ask) => {
    const [question, ...answer] = ask(app.session);
    return [make("dt", {}, question), make("dd", {}, ...answer)];
  });
}

function fits(session) {
  const { calls: all, values } = session;
  const question = "Did a prompt get too long?", [error] = values.errors;
  const bad = error && [make("span", { class: "warn" }, `Yes: ${many(values.errors.length, "call")} had no request. `), error.text ?? LEFT_OUT, " ", tableLink("errors", "All errors"), ". "];
  if (!all.length) return [question, ...(bad ?? ["No call was made yet."])];
  if (session.isRecording) {
    const { largest } = session;
    return [question, "The recording does not tell the agent's limit. Its largest call was ", callLink(largest.call), `: ${figure(session.sizeOf(largest))} tokens, ${largest.reported ? "as the provider reported" : "by its messages"}.`];
  }
  const full = (call) => (call.bound || call.tokens) / (call.limit || Infinity);
  const fullest = all.reduce((best, call) => (full(call) > full(best) ? call : best));
  const near = ["The fullest request was ", callLink(fullest.call), `: ${figure(fullest.tokens)} tokens, at most ${figure(fullest.bound)} by the bound, of ${figure(fullest.limit)}.`];
  return [question, ...(bad ?? ["No. "]), ...near];
}

function dropped({ values, isRecording }) {
  const question = "What did compaction take out, and where are the words?";
  const rows = values.compactions.filter((row) => row.call !== null && row.before !== null && row.after !== null);
  if (!rows.length) return [question, isRecording ? "The recording has no compaction of the agent's." : "Nothing was taken out: there was no compaction."];
  const most = rows.reduce((best, row) => (row.before - row.after > best.before - best.after ? row : best));
  return [question, `${many(rows.length, "compaction")}${isRecording ? " of the agent's own" : ""}; the largest before `, callLink(most.call), ` took out ${figure(most.before - most.after)} tokens. The call shows what went, message by message; each message keeps its words under Message. `, tableLink("compactions", "All compactions"), "."];
}

function dearer(session) {
  const { calls: all } = session, size = (call) => session.sizeOf(all[call]);
  const question = "Why did a smaller prompt cost more?";
  let best = null;
  for (let call = 1; call < all.length; call += 1) {
    const more = all[call].price - all[call - 1].price;
    if (session.isRecording && !all[call].reported !== !all[call - 1].reported) continue; // they are counted in two ways
    if (size(call) < size(call - 1) && more > 0 && (!best || more > best.more)) best = { call, more };
  }
  if (!best) return [question, "None did."];
  const call = all[best.call], before = all[best.call - 1];
  return [question, callLink(best.call), ` has ${figure(size(best.call - 1) - size(best.call))} tokens fewer than the call before it and cost ${priced(call.price)} instead of ${priced(before.price)}: the cache had ${figure(call.cached)} of its tokens, and ${figure(call.rewritten)} that had been sent before were written again.`];
}

function halved(session) {
  const question = "Was a tool result sent without its call?", found = session.halves();
  if (!found.length) return [question, "No: in no request stands a tool's result without the message that called the tool."];
  return [question, make("span", { class: "warn" }, `Yes, ${many(found.length, "time")}: `), "first ", messageLink(found[0].message), " in ", callLink(found[0].call), "."];
}

function eaters({ values, messages }) {
  const question = "What fills the window?", [message] = values.heaviest, [tool] = values.tools;
  const found = [];
  if (message) found.push("Of all messages, ", messageLink(message.message), ` (${messages[message.message].role}) took most: ${figure(message.sent_tokens)} tokens in ${many(message.calls, "call")}. `);
  if (tool) found.push(`Of all tools, ${shown(tool.tool ?? LEFT_OUT)}: ${figure(tool.sent_tokens)} tokens for ${many(tool.results, "result")}. `);
  return [question, ...found, tableLink("heaviest", "Heaviest messages"), ", ", tableLink("tools", "tools"), "."];
}

function unknown({ values }) {
  const question = "Why does the model not know that file?", [row] = values.missing;
  if (values.source !== "replay") return [question, "Search for its name under ", make("a", { href: "#view=message" }, "Message"), `: the story of the message says since when ${values.source === "recording" ? "it was left out behind a summary of the agent's" : "only a note stands for it"}.`];
  if (!row) return [question, "No answer used a name that had been said and was not in its request."];
  return [question, `${values.missing.length === 1 ? "Once" : many(values.missing.length, "time")}, the model used a name or number next that had been said and that its request did not have: first `, make("b", {}, row.name ?? LEFT_OUT), " at ", callLink(row.call), ", said in ", messageLink(row.said), ". ", tableLink("missing", "All names"), "."];
}

function policies() {
  const question = "Would another policy have been cheaper?", [own, ...others] = sumRows(), last = app.session.calls.length - 1;
  const fit = others.filter((row) => !row.bad).sort((one, other) => one.sums[last] - other.sums[last]);
  const cheaper = fit.filter((row) => row.sums[last] < own.sums[last]);
  const unfit = others.length - fit.length, note = unfit ? ` ${many(unfit, "other policy", "other policies")} would not have fitted at every call.` : "";
  if (!others.length) return [question, "No other was compared."];
  const answer = cheaper.length ? `Yes: ${shown(cheaper[0].name)} would have cost ${priced(cheaper[0].sums[last])}, this session ${priced(own.sums[last])}.` : `No policy that fits would have cost less than the ${priced(own.sums[last])} of this session.`;
  return [question, answer, note, " ", tableLink("policies", "All policies"), ". Price is not all: see which names were missing."];
}

function sure({ values, calls: all }) {
  const question = "How sure is the count of tokens?", told = all.filter((call) => call.reported && call.reported.input_tokens > 0);
  const bounds = all.filter((call) => call.tokens > 0 && call.bound), margin = bounds.length ? bounds.reduce((sum, call) => sum + call.bound / call.tokens - 1, 0) / bounds.length : 0;
  const own = `squidbot counted by ${shown(values.window.counter || "its own rules")} and planned with a bound that is ${whole.format(100 * margin)} % above the count.`;
  if (values.source === "recording") return [question, ...sureOfRecording(values, told)];
  if (!told.length) return [question, `No provider's report was recorded. ${own}`];
  const off = (call) => call.tokens / call.reported.input_tokens - 1, worst = told.reduce((best, call) => (Math.abs(off(call)) > Math.abs(off(best)) ? call : best));
  const mean = told.reduce((sum, call) => sum + off(call), 0) / told.length;
  return [question, `${many(told.length, "call")} can be compared with the provider's report: the count was ${precise.format(Math.abs(100 * mean))} % ${mean < 0 ? "below" : "above"} it on average, and ${precise.format(Math.abs(100 * off(worst)))} % ${off(worst) < 0 ? "below" : "above"} it at worst, in `, callLink(worst.call), `. ${own}`];
}

function sureOfRecording({ window }, told) {
  const own = `squidbot counted the messages by ${shown(window.counter || "its own rules")}.`, over = told.reduce((sum, call) => sum + call.reported.input_tokens - call.tokens, 0) / Math.max(1, told.length);
  if (!told.length) return [`The recording does not say what the provider reported. ${own}`];
  return [`${many(told.length, "call")} can be compared with the provider's report, which is ${figure(Math.abs(over))} tokens ${over < 0 ? "below" : "above"} the count of the messages on average${over > 0 ? ": it has the system text and the tools, too" : ""}. ${own}`];
}

function recalled({ values, isRecording }) {
  const question = "What was recalled?", rows = values.recalled, [row] = rows;
  if (!row && isRecording) return [question, "squidbot put nothing into these calls. What its tools gave the agent stands among the results of ", tableLink("tools", "tools"), "."];
  if (!row) return [question, "Nothing: the model asked for no earlier message."];
  return [question, `${many(rows.length, "copy", "copies")} of earlier messages came back, first ${row.of ? shown(row.of) : "what a search found"} in `, messageLink(row.message), ". ", tableLink("recalled", "All that was recalled"), "."];
}

function atCall({ calls: all }) {
  const input = make("input", { type: "number", min: 0, max: all.length - 1, value: Math.min(41, all.length - 1), "aria-label": "number of the call" });
  const open = (event) => { event.preventDefault(); go({ view: "call", call: Number(input.value) }); };
  return ["What was sent at a certain call?", make("form", { class: "tools", submit: open }, make("label", {}, "Call", input), make("button", {}, "Show"))];
}
