// One message: its text, and what became of it. And the search over all texts.

function messageView(root) {
  const { session, place } = app;
  if (!root.firstChild) root.append(searchBox(), make("div", { id: "message-body" }));
  const body = root.querySelector("#message-body");
  if (!session.messages.length) return body.replaceChildren(make("p", {}, "There is no message yet."));
  const number = Math.max(0, Math.min(place.message ?? 0, session.messages.length - 1)), message = session.messages[number];
  const key = JSON.stringify([number, message, app.sought]), isSame = body.dataset.shows === key;
  body.dataset.shows = key;
  // Newer data of the same message leave its text as it is: what is folded out stays so.
  const text = isSame ? body.querySelector("#message-text") : make("div", { id: "message-text" }, make("h3", {}, "Its text"), textBlock(message.text, FIRST_CHARACTERS, app.sought));
  body.replaceChildren(messageTools(number), make("h2", {}, `Message m${number}: ${message.role}`), messageFacts(message), storyOf(number), text, ...nowInNote(number));
}

function messageTools(number) {
  const last = app.session.messages.length - 1;
  const step = (label, to) => make("button", { type: "button", disabled: to < 0 || to > last, click: () => go({ view: "message", message: to }) }, label);
  const input = make("input", { type: "number", min: 0, max: last, value: number, "aria-label": "number of the message", id: "message-number" });
  return make("form", { class: "tools", submit: (event) => { event.preventDefault(); go({ view: "message", message: Number(input.value) }); } },
    step("\u2190 Message", number - 1), step("Message \u2192", number + 1), make("label", {}, "Message", input), make("button", {}, "Show"),
    make("a", { href: `#view=map&message=${number}` }, "See it in the map"));
}

function messageFacts(message) {
  const facts = [
    many(message.tokens, "token"), message.sent_tokens === message.tokens ? "" : `sent as ${figure(message.sent_tokens)} after it was cut on arrival`,
    `category ${message.category}`, `turn ${message.turn}`, app.session.values.lines.length > 1 ? `branch ${message.line}` : "", moment(message.time),
    message.tools.length ? `tools: ${message.tools.join(", ")}` : "",
  ].filter(Boolean);
  const { asker, results } = app.session.pairs(), pair = [];
  if (asker[message.id] >= 0) pair.push(" \u00b7 the result of the call in ", messageLink(asker[message.id]));
  if (results.has(message.id)) pair.push(" \u00b7 its results: ", ...results.get(message.id).slice(0, 12).flatMap((one, at) => [at ? ", " : "", messageLink(one)]));
  return make("p", {}, facts.join(" \u00b7 "), ...pair, ...message.flags.map((flag) => [" ", make("span", { class: "tag" }, flag)]).flat());
}

// -- its story ----------------------------------------------------------------------------------------------------------

function storyOf(number) {
  const runs = mergedRuns(number), box = make("div", { class: "card" }, make("h3", {}, "What became of it"));
  if (!runs.length) box.append(make("p", {}, "No call was made since it was said."));
  else box.append(make("p", {}, storyLine(runs)), runTable(number, runs));
  const needed = app.session.values.missing.filter((row) => row.said === number);
  if (needed.length) box.append(make("p", { class: "warn" }, "Needed later, when the request had it no more: ", ...needed.slice(0, 20).flatMap((row, at) => [at ? ", " : "", make("b", {}, row.name ?? LEFT_OUT), " at ", callLink(row.call)])));
  return box;
}

// Runs of a message; notes of one level that replace each other are one run.
function mergedRuns(number) {
  const found = [];
  for (const run of new States(app.session, number, number, true).advance().runs(number)) {
    const before = found[found.length - 1];
    if (before && before.state === run.state) { before.to = run.to; before.parts.push(run.part); } else found.push({ ...run, parts: [run.part] });
  }
  return found;
}

function storyLine(runs) {
  const words = runs.map(({ state, from, to, parts }, at) => {
    const until = at + 1 < runs.length ? ` until call ${to}` : `, up to the last call`, part = app.session.parts[parts[parts.length - 1]];
    if (state === STATE.raw) return `sent word for word${until}`;
    if (state === STATE.truncated) return `cut on arrival and sent as head and tail${until}`;
    if (state === STATE.slimmed) return `cut at call ${from}, and sent as head and tail${until}`;
    if (state === STATE.recalled) return part?.first !== null && part ? `recalled at call ${from} (copy m${part.first})${until}` : `recalled at call ${from}${until}`;
    if (state === STATE.absent) return `left out from call ${from} on${at + 1 < runs.length ? until : ""}`;
    if (state === STATE.hidden) return `on another branch, so not sent, from call ${from} on`;
    if (state === STATE.forgotten) return `forgotten on request; a mark stands for it from call ${from} on`;
    const first = app.session.parts[parts[0]];
    return `from call ${from} on in ${app.session.nameOf(first)}${parts.length > 1 ? `, which was made anew ${many(parts.length - 1, "time")}, at last as ${app.session.nameOf(part)}` : ""}`;
  });
  const text = words.join("; ");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function runTable(number, runs) {
  const row = ({ from, to, state, parts }) => {
    const part = app.session.parts[parts[parts.length - 1]];
    const what = part && !(isOwn(part) && part.first === number) ? partLabel(part) : [];
    return make("tr", {}, make("td", {}, callLink(from, calls(from, to))), make("td", {}, plainSwatch(STATES[state][0]), " ", STATES[state][1]), make("td", { class: "long" }, ...what, what.length && parts.length > 1 ? `, made anew ${many(parts.length - 1, "time")}` : ""), make("td", { class: "num" }, part ? figure(part.tokens) : ""));
  };
  return make("div", { class: "wide" }, make("table", {}, make("caption", {}, `m${number}, run by run`), make("thead", {}, make("tr", {}, ["calls", "how it was sent", "by what", "tokens of that"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, runs.map(row))));
}

// What the model sees of it now, if that is a note.
function nowInNote(number) {
  const runs = mergedRuns(number), last = runs[runs.length - 1], part = last && app.session.parts[last.parts[last.parts.length - 1]];
  if (!part || (isOwn(part) && part.first === number)) return [];
  return [make("h3", {}, `What the last call had in its place: ${app.session.nameOf(part)}`), textBlock(part.text)];
}

// -- search -------------------------------------------------------------------------------------------------------------

const MOST_HITS = 300;
function searchBox() {
  const input = make("input", { type: "search", id: "search", placeholder: "Search all texts", "aria-label": "Search all texts" });
  const status = make("p", { class: "dim", role: "status" }), hits = make("ul", { class: "hits" }), bar = make("progress", { hidden: true, max: 1, "aria-label": "searched" });
  const stop = make("button", { type: "button", click: () => { app.search = null; } , hidden: true }, "Stop");
  const start = (event) => { event.preventDefault(); search(input.value.trim(), { status, hits, bar, stop }); };
  return make("div", {}, make("form", { class: "tools", role: "search", submit: start }, input, make("button", {}, "Search"), stop, bar), status, hits);
}

// Which messages and parts have a text.
function owners() {
  const { session } = app;
  if (session.owners) return session.owners;
  session.owners = new Map();
  const add = (text, owner) => {
    if (text === null || text === undefined) return;
    if (!session.owners.has(text)) session.owners.set(text, []);
    session.owners.get(text).push(owner);
  };
  for (const message of session.messages) add(message.text, { message: message.id });
  for (const call of session.calls) for (const number of call.add) { const part = session.parts[number]; if (!isOwn(part)) add(part.text, { call: call.call, part }); }
  return session.owners;
}

async function search(wanted, { status, hits, bar, stop }) {
  const me = app.search = {}, low = wanted.toLowerCase(), texts = [...owners()].sort((one, other) => one[0] - other[0]);
  app.sought = wanted;
  hits.replaceChildren();
  if (!wanted) { status.textContent = ""; return; }
  let found = 0, until = performance.now() + SLICE_MS, at = 0;
  bar.hidden = stop.hidden = false;
  for (; at < texts.length && found < MOST_HITS && app.search === me; at += 1) {
    const [number, [owner]] = texts[at], text = await app.texts(number), place = text.toLowerCase().indexOf(low);
    if (place >= 0) { found += 1; hits.append(hit(owner, text, place, wanted)); }
    if (performance.now() > until) {
      bar.value = at / texts.length;
      status.textContent = `${many(found, "text")} found so far`;
      await pause();
      until = performance.now() + SLICE_MS;
    }
  }
  if (app.search !== me && app.search) return;
  bar.hidden = stop.hidden = true;
  const part = at < texts.length ? `, in the first ${figure(at)} of ${figure(texts.length)} texts` : "";
  status.textContent = texts.length ? `${many(found, "text")} found${part}.` : "The texts were left out of this report.";
}

function hit(owner, text, place, wanted) {
  const from = Math.max(0, place - 70), piece = text.slice(from, place + wanted.length + 110);
  const where = owner.message !== undefined ? [messageLink(owner.message), ` ${app.session.messages[owner.message].role}: `] : [callLink(owner.call), ` ${app.session.nameOf(owner.part)}: `];
  return make("li", {}, ...where, from ? "\u2026" : "", ...marked(piece, wanted), "\u2026");
}
