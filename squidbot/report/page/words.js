// Words, figures and elements. All that a page shows of a session passes here, and only as text.

const GROUPS = {
  system: "system text and tools", pinned: "pinned", memory: "memory", merged: "note, merged", compact: "note, compact",
  moderate: "note, moderate", detailed: "note, detailed", summary: "note beside the user's words",
  carried: "the agent's own summary", absent: "line for what is left out", user: "user", model: "model", tool: "tool",
  recalled: "recalled", other: "other",
};

// How a message can stand at a call. The place in this list is the number by which the map knows a state.
const STATES = [
  ["blank", "not yet said", "was not said yet"],
  ["hidden", "on another branch", "is on another branch, so it is not sent"],
  ["absent", "left out", "is left out: one line says that it is stored"],
  ["merged", "in a merged note", "stands in a merged note"],
  ["compact", "in a compact note", "stands in a compact note"],
  ["moderate", "in a moderate note", "stands in a moderate note"],
  ["detailed", "in a detailed note", "stands in a detailed note"],
  ["summary", "in a note beside the user's words", "stands in a note, beside which the user's words are sent"],
  ["slimmed", "cut later", "is sent cut to head and tail"],
  ["truncated", "cut on arrival", "is sent cut to head and tail, as on its arrival"],
  ["raw", "word for word", "is sent word for word"],
  ["recalled", "recalled", "is in view as a recalled copy"],
  ["forgotten", "forgotten", "was forgotten on request; a mark stands in its place"],
  ["unknown", "unknown: the call can't be rebuilt", "is unknown: the call can't be rebuilt"],
];
const STATE = Object.fromEntries(STATES.map(([name], number) => [name, number]));

const CAUSES = {
  opened: "the session was opened with more than fits", "high-water": "the history passed its high-water mark",
  "cold-cache": "the provider's cache had expired, so compacting was cheap", overflow: "the next request would not have fitted",
  rollover: "only the current turn fitted or was wanted", "model-changed": "the model changed",
  "mode-changed": "the mode changed", "tools-changed": "the tools changed", "system-changed": "the system text changed",
  manual: "somebody asked for it", "tool-answer": "a tool's answer needed room", undo: "a compaction was undone", restore: "an earlier plan was restored",
  branch: "the conversation went on from an earlier message", forget: "messages were forgotten on request",
  repaired: "a tool result arrived late", agent: "the agent itself put its summary in the place of older messages",
};
// Whose recordings are imported, by the names of their readers.
const AGENTS = {
  "claude-code": "Claude Code", codex: "Codex", "copilot-cli": "Copilot CLI", "gemini-cli": "Gemini CLI", langgraph: "LangGraph",
  "openai-dump": "an OpenAI client", opencode: "OpenCode", openhands: "OpenHands", "pydantic-ai": "Pydantic AI", "swe-agent": "SWE-agent",
};
const MONEY_PER = 1e6;
const LEFT_OUT = "(left out)";

function word(table, name) {
  return Object.hasOwn(table, name) ? table[name] : shown(String(name));
}

// Characters that do not print, or turn the direction of what follows, are shown as their numbers.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/g;
function shown(text) {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, (one) => {
    const code = one.codePointAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\u2039U+${code.toString(16).toUpperCase().padStart(4, "0")}\u203a`;
  });
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumFractionDigits: 2, minimumFractionDigits: 2 });
function figure(value) { return value === null || value === undefined ? "\u2013" : whole.format(value); }
function share(part, all) { return all > 0 ? `${whole.format((100 * part) / all)} %` : "\u2013"; }
function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  return size >= 1e4 ? `${+(value / 1e3).toPrecision(3)}k` : `${+value.toPrecision(3)}`;
}
function many(count, one, more = `${one}s`) { return `${figure(count)} ${count === 1 ? one : more}`; }
// A time of day; without texts, times count from the beginning.
function moment(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (app.session.values.with_text === false) return `${whole.format(seconds)} s after the beginning`;
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}
function span(first, last) { return first === last ? `m${first}` : `m${first}\u2013m${last}`; }
function calls(from, to) { return from === to ? `call ${from}` : `calls ${from}\u2013${to}`; }

// Elements. Attributes come from this script alone; children are elements, or values that become text.
function make(name, attributes = {}, ...children) { return filled(document.createElement(name), attributes, children); }
function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(document.getElementById("patterns").namespaceURI, name), attributes, children);
}
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false).map(asNode));
  return element;
}
function asNode(value) { return value instanceof Node ? value : document.createTextNode(shown(String(value))); }

function swatch(kind) {
  const paint = Object.hasOwn(GROUPS, kind) ? fillOf(kind) : `var(--${kind})`;
  const box = draw("rect", { width: 15, height: 13, rx: 2 });
  box.style.fill = paint;
  return draw("svg", { class: "swatch", viewBox: "0 0 15 13", "aria-hidden": "true" }, box);
}

function plainSwatch(name) {
  const box = draw("rect", { width: 15, height: 13, rx: 2 });
  box.style.fill = name === "blank" ? "transparent" : `var(--${name})`;
  const lines = HATCHED_STATES.has(name) && draw("path", { class: "hatch strong", d: "M-1 7L7 -1M2 13L15 0M9 14L16 7" });
  return draw("svg", { class: "swatch", viewBox: "0 0 15 13", "aria-hidden": "true" }, box, lines);
}
// As the map hatches them.
const HATCHED_STATES = new Set(["hidden", "forgotten", "truncated"]);

// Shades alone would not do for notes: each level and each rare group has its own hatching.
const HATCHES = {
  compact: "M0 6L6 0", moderate: "M0 3H6", detailed: "M3 0V6", summary: "M0 0L6 6M0 6L6 0", absent: "M0 0L6 6",
  pinned: "M0 3H6M3 0V6", memory: "M2 2h1v1h-1z", recalled: "M0 0L6 6", other: "M1 3H4",
};
function fillOf(group) { return Object.hasOwn(HATCHES, group) ? `url("#hatch-${group}")` : `var(--${group})`; }
function makeHatches() {
  const all = Object.entries(HATCHES).map(([group, path]) => draw(
    "pattern", { id: `hatch-${group}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    draw("rect", { width: 6, height: 6, class: `g-${group}` }), draw("path", { d: path, class: "hatch" })));
  document.querySelector("#patterns defs").replaceChildren(...all);
}

function callLink(call, label = `call ${call}`) {
  return make("a", { href: `#view=call&call=${Number(call)}` }, label);
}
function messageLink(message, label = `m${message}`) {
  return make("a", { href: `#view=message&message=${Number(message)}` }, label);
}
function tableLink(name, label) { return make("a", { href: `#view=tables&table=${name}` }, label); }
