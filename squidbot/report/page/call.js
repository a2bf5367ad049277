// One call as it was sent: what changed since the call before, and every part with its text.

const PARTS_AT_ONCE = 60;
let grower = null;

function callView(root) {
  const { session, place } = app, number = Math.max(0, Math.min(place.call, session.calls.length - 1));
  if (!session.calls.length) return root.replaceChildren(make("p", {}, "There is no call yet."));
  const call = session.calls[number], key = JSON.stringify([number, call, session.changes.get(number), app.money]);
  // Newer data of the same call leave it as it is: what is folded out stays so.
  if (root.dataset.shows === key) return root.firstChild.replaceWith(callTools(number));
  root.dataset.shows = key;
  grower?.disconnect();
  const parts = session.partsOf(number);
  return root.replaceChildren(
    callTools(number), make("h2", {}, `Call ${number} of ${session.calls.length}`), callFacts(number, call),
    ...callTrouble(number, call), changeOf(number, call),
    make("h2", {}, session.isRecording ? `What the agent can have sent: ${many(parts.length, "message")}` : `The whole request: ${many(parts.length, "part")}`), strip(parts), partList(parts, number, session.difference(number)), answerOf(call));
}

function callTools(number) {
  const { session } = app, last = session.calls.length - 1;
  const before = session.changedCalls.findLast((call) => call < number), after = session.changedCalls.find((call) => call > number);
  const step = (label, to) => make("button", { type: "button", disabled: to === undefined || to < 0 || to > last, click: () => go({ view: "call", call: to }) }, label);
  const input = make("input", { type: "number", min: 0, max: last, value: number, "aria-label": "number of the call", id: "call-number" });
  return make("form", { class: "tools", submit: (event) => { event.preventDefault(); go({ view: "call", call: Number(input.value) }); } },
    step("\u2190 Call", number - 1), step("Call \u2192", number + 1), step("\u2190 Compaction", before), step("Compaction \u2192", after),
    make("label", {}, "Call", input), make("button", {}, "Show"));
}

function callFacts(number, call) {
  const cost = app.session.costs[number], sum = cost.cached + cost.new + cost.rewritten;
  const rows = app.session.isRecording ? recordedFacts(call, cost, sum) : [
    ["Tokens", `${figure(call.tokens)} of ${figure(call.limit)}`, `bound ${figure(call.bound)}${call.outside ? `; ${figure(call.outside)} are the host's system text, tools and frame` : ""}`],
    ["Prompt cost", priced(sum), `${figure(call.cached)} tokens cached, ${figure(call.new)} new, ${figure(call.rewritten)} written again`],
    ["Answer", `${figure(call.output)} tokens`, `cost ${priced(cost.output)}`],
    ["Provider's report", call.reported ? `${figure(call.reported.input_tokens)} in` : "none", call.reported ? `${figure(call.reported.cached_tokens)} cached, ${figure(call.reported.output_tokens)} out; the count is ${precise.format(100 * (call.tokens / Math.max(1, call.reported.input_tokens) - 1))} % off` : "counted by squidbot"],
    ["Verified", call.is_same ? "yes" : "no", call.is_same ? "byte for byte what was sent" : call.problem ?? "the rebuilt request differs from what was sent"],
  ];
  const where = [moment(call.time), app.session.values.lines.length > 1 ? `branch ${call.line}, its request ${call.request}` : ""].filter(Boolean).join(" \u00b7 ");
  return make("div", {}, make("p", { class: "dim" }, where), make("dl", { class: "figures facts" }, rows.map(([name, value, note]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note))))));
}

function recordedFacts(call, cost, sum) {
  const more = call.reported ? call.reported.input_tokens - call.tokens : 0;
  return [
    ["Tokens", figure(call.tokens), "of the messages that the agent can have sent"],
    ["Provider's report", call.reported ? `${figure(call.reported.input_tokens)} in` : "none", call.reported ? `${figure(call.reported.cached_tokens)} cached, ${figure(call.reported.output_tokens)} out${more > 0 ? `; ${figure(more)} more than the messages: system text and tools, which a recording lacks` : ""}` : "the recording has none of this call"],
    ["Prompt cost", priced(sum), `${figure(call.cached)} tokens cached, ${figure(call.new)} new, ${figure(call.rewritten)} written again${call.reported ? "" : ", by an estimate"}`],
    ["Answer", `${figure(call.output)} tokens`, `cost ${priced(cost.output)}`],
    ...(call.model ? [["Model", shown(call.model), "by the recording"]] : []),
  ];
}

function callTrouble(number, call) {
  const { session } = app, found = [];
  if (call.problem) found.push(make("p", { class: "warn" }, `This request can't be rebuilt: ${call.problem}`));
  for (const error of session.errors.get(number) ?? []) found.push(make("p", { class: "warn" }, `A call before this one had no request (${error.kind}): ${error.text}`));
  const missing = session.missing.get(number) ?? [];
  if (missing.length) {
    found.push(make("p", { class: "warn" }, "The answer to this call used names that had been said and were not in the request: ", ...missing.flatMap((row, at) => [at ? ", " : "", make("b", {}, row.name ?? LEFT_OUT), " (said in ", messageLink(row.said), ")"])));
  }
  for (const half of session.halves().filter((row) => row.call === number)) found.push(make("p", { class: "warn" }, "The tool result ", messageLink(half.message), " stands here without its call."));
  return found;
}

// -- what changed -------------------------------------------------------------------------------------------------------

function changeOf(number, call) {
  const { session } = app, { gone, come, again, kept } = session.difference(number), changes = session.changes.get(number) ?? [];
  const box = make("div", { class: "card" }, make("h2", {}, number ? "What changed since the call before" : "The first call"));
  for (const change of changes) box.append(...changeStory(change));
  if (number && session.calls[number - 1].problem) box.append(make("p", {}, "The call before can't be rebuilt, so everything counts as new."));
  if (number && session.calls[number - 1].line !== call.line) box.append(make("p", {}, `The call before was on branch ${session.calls[number - 1].line}; this one is on branch ${call.line}.`));
  const again_ = again.length ? `; ${many(again.length, "part")} behind the change stayed as they were but had to be written again (${figure(session.tokens(again))} tokens)` : "";
  box.append(make("p", {}, `${kept ? `${many(kept, "part")} at the beginning stayed, so the provider's cache could hold ${kept === 1 ? "it" : "them"}` : "No part at the beginning stayed, so the provider's cache could hold none"}${again_}. ${gone.length ? `${many(gone.length, "part")} left (${figure(session.tokens(gone))} tokens), ` : ""}${many(come.length, "part")} came (${figure(session.tokens(come))} tokens).`));
  if (gone.length || come.length) box.append(differenceTable(gone, come));
  return box;
}

function changeStory(change) {
  const paid = change.pays_after === null ? "" : change.paid_at !== null ? ["It had paid for itself by ", callLink(change.paid_at), "."] : [`It would pay for itself after ${figure(Math.ceil(change.pays_after))} more calls; the next compaction, or the end, came first.`];
  const from = change.from === null ? "" : [change.cause === "agent" ? "The first message that it left out is " : "The first message that is sent in another way is ", messageLink(change.from), ". "];
  const kept = change.kept === null ? "" : change.kept ? `The first ${figure(change.kept)} tokens stayed as they were. ` : "Nothing before it stayed as it was. ";
  const price = change.price === null ? "" : `Writing the rest again cost ${priced(change.price)}${change.summary_price ? `, its summaries ${priced(change.summary_price)}` : ""}. `;
  const restores = change.restores === null || change.restores === undefined ? "" : ` It is plan ${change.restores} again.`;
  return [make("p", {}, make("b", {}, changeWords({ ...change, price: null })), `, because ${word(CAUSES, change.cause)}.${restores}`), make("p", {}, from, kept, price, paid)];
}

// Parts that left beside the part that now stands for the same messages.
function differenceTable(gone, come) {
  const { session } = app, body = make("tbody"), left = new Set(gone);
  const row = (sign, list, label, kind) => body.append(make("tr", { class: kind }, make("td", { class: "sign" }, sign, make("span", { class: "skip" }, sign === "+" ? "added" : "removed")), make("td", { class: "long" }, ...label), make("td", { class: "num" }, figure(session.tokens(list))), make("td", {}, wordsButton(list))));
  for (const number of come) {
    const part = session.parts[number];
    const replaced = part.first === null ? [] : [...left].filter((one) => session.parts[one].first !== null && session.parts[one].first >= part.first && session.parts[one].last <= part.last);
    for (const one of replaced) left.delete(one);
    for (const run of runsOf(replaced)) row("\u2212", run, runLabel(run), "gone");
    row("+", [number], [...partLabel(part), replaced.length ? ` in place of ${figure(session.tokens(replaced))} tokens` : ""], "came");
  }
  for (const run of runsOf([...left])) row("\u2212", run, runLabel(run), "gone");
  return make("div", { class: "wide" }, make("table", { class: "diff" }, make("caption", {}, "Parts that left (\u2212) and came (+)"), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "\u00b1"), make("th", { scope: "col" }, "part"), make("th", { scope: "col", class: "num" }, "tokens"), make("th", { scope: "col" }, "words"))), body));
}

// The words of what left or came, below its row.
const MOST_WORDS = 40;
function wordsButton(list) {
  let below = null;
  const click = ({ currentTarget: button }) => {
    if (below) { below.remove(); below = null; } else {
      below = make("tr", {}, make("td"), make("td", { colspan: 3, class: "long" }, list.slice(0, MOST_WORDS).map((number) => make("div", {}, make("p", { class: "dim" }, ...partLabel(app.session.parts[number])), textBlock(app.session.parts[number].text)))));
      button.closest("tr").after(below);
    }
    button.setAttribute("aria-expanded", below !== null);
  };
  return make("button", { type: "button", class: "more", "aria-expanded": false, click }, "Show");
}

// Messages that stand one behind the other, sent in the same way.
function runsOf(parts) {
  const runs = [];
  for (const number of [...parts].sort((one, other) => (app.session.parts[one].first ?? -1) - (app.session.parts[other].first ?? -1))) {
    const part = app.session.parts[number], run = runs[runs.length - 1], before = run && app.session.parts[run[run.length - 1]];
    if (before && isOwn(part) && isOwn(before) && part.first === before.last + 1 && part.how === before.how) run.push(number);
    else runs.push([number]);
  }
  return runs;
}
function runLabel(run) {
  const first = app.session.parts[run[0]], last = app.session.parts[run[run.length - 1]];
  if (run.length === 1) return partLabel(first);
  return [messageLink(first.first), " to ", messageLink(last.last), `, ${figure(run.length)} messages ${STATES[STATE[first.how]][1]}`];
}
function partLabel(part) {
  if (isOwn(part)) return [messageLink(part.first), ` ${word(GROUPS, part.group)}, ${STATES[STATE[part.how]][1]}`];
  const range = part.first === null ? [] : [", for ", messageLink(part.first), part.last > part.first ? [" to ", messageLink(part.last)] : ""].flat();
  return [app.session.nameOf(part), ...range];
}

// -- its parts ----------------------------------------------------------------------------------------------------------

// The request as one bar: each part as wide as it has tokens.
function strip(parts) {
  const { session } = app, all = Math.max(1, session.tokens(parts)), svg = draw("svg", { class: "strip", viewBox: "0 0 1000 26", preserveAspectRatio: "none", role: "img", "aria-label": "The parts of the request in order, each as wide as it has tokens" });
  let x = 0, run = 0, group = "";
  const flush = () => { if (run) { const box = draw("rect", { x: x - run, y: 0, width: run, height: 26 }, draw("title", {}, GROUPS[group] ?? group)); box.style.fill = fillOf(group); svg.append(box); } run = 0; };
  for (const number of parts) {
    const part = session.parts[number], width = (1000 * part.tokens) / all;
    // Parts that are narrower than a line are drawn with their neighbours.
    if (part.group !== group || run + width > 3) { flush(); group = part.group; }
    x += width;
    run += width;
  }
  flush();
  return svg;
}

function partList(parts, number, { come, again }) {
  const isNew = new Set(come), isAgain = new Set(again), list = make("ol", { class: "parts" }), more = make("button", { type: "button", class: "more" });
  let at = 0;
  const grow = () => {
    const end = Math.min(parts.length, at + PARTS_AT_ONCE);
    for (; at < end; at += 1) list.append(partItem(parts[at], number > 0 && isNew.has(parts[at]) ? "new" : number > 0 && isAgain.has(parts[at]) ? "written again" : ""));
    more.textContent = `Show more of ${parts.length} parts`;
    more.hidden = at >= parts.length;
  };
  more.addEventListener("click", grow);
  grow();
  grower = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting) && !more.hidden) grow(); }, { rootMargin: "400px" });
  grower.observe(more);
  return make("div", {}, list, more);
}

const FOLDED_CHARACTERS = 420;
function partItem(number, news) {
  const { session } = app, part = session.parts[number], message = isOwn(part) ? session.messages[part.first] : null;
  const item = make("li", { class: news ? "added" : "" });
  item.style.borderLeftColor = `var(--${part.group})`;
  const tools = message?.tools.length ? `tools: ${message.tools.slice(0, 5).join(", ")}` : "";
  item.append(make("div", { class: "head" }, make("span", {}, ...partLabel(part)), make("span", { class: "dim" }, `role ${part.role}`), tools && make("span", { class: "dim" }, tools),
    news && make("span", { class: "tag" }, news), part.reason && make("span", { class: "tag" }, part.reason), make("span", { class: "num" }, `${figure(part.tokens)} tokens`)),
    textBlock(part.text, FOLDED_CHARACTERS));
  return item;
}

function answerOf(call) {
  const message = call.answer === null ? null : app.session.messages[call.answer];
  if (!message) return make("p", { class: "dim" }, "The answer is not stored.");
  return make("div", {}, make("h2", {}, "The answer"), make("p", {}, messageLink(message.id), ` ${message.role}, ${figure(message.tokens)} tokens${message.tools.length ? `, calls ${message.tools.join(", ")}` : ""}`), textBlock(message.text));
}
