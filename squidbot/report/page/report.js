// The page itself: its door, its views, the place that the address names, keys, theme and print.

const VIEWS = { overview, map: mapView, call: callView, message: messageView, tables: tablesView };
const PRINTED = ["overview", "map", "tables"];
const app = {
  session: null, width: 1000, texts: async () => "", money: false, off: new Set(), sorts: new Map(), rows: new Map(), cursor: null, search: null, sought: "",
  isPrinting: false, place: { view: "overview", call: 0, message: null, table: null, calls: null, messages: null },
};
const KEPT_AFTER_MS = 120;
let isWaiting = false, theme = "automatic", isMoved = true;
const darkness = matchMedia("(prefers-color-scheme: dark)");

// -- the door -----------------------------------------------------------------------------------------------------------

// `open` shows a session: its values, and what gives the text of a number. `update` shows newer values of the same one,
// and keeps the view, the zoom and what was chosen.
function open(values, loadTexts) {
  app.texts = loadTexts;
  app.sorts.clear();
  app.rows.clear();
  update(values);
}
function update(values) {
  app.session = new Session(values);
  document.getElementById("notice").hidden = true;
  const name = values.session === null || values.session === undefined ? "a session" : shown(values.session);
  document.getElementById("title").textContent = name;
  document.title = `${name} \u2013 squidbot report`;
  const model = values.window.model ? ` \u00b7 ${shown(values.window.model)}` : "", made = values.made_at ? ` \u00b7 made ${moment(values.made_at)}` : "";
  const from = values.recording ? ` \u00b7 from ${agentName(values.recording)}` : "";
  document.getElementById("subtitle").textContent = `squidbot ${shown(String(values.squidbot))}${from}${model} \u00b7 ${many(values.calls.length, "call")}${made}`;
  redraw();
}

// -- the place ----------------------------------------------------------------------------------------------------------

const VIEW_NAMES = Object.keys(VIEWS);
// Whole numbers and known names only: whatever else an address has is left alone.
function readPlace() {
  const given = new URLSearchParams(location.hash.slice(1)), before = app.place;
  const count = (name) => (/^\d{1,9}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  const range = (name) => { const found = /^(\d{1,9})-(\d{1,9})$/.exec(given.get(name) ?? ""); return found ? [Number(found[1]), Number(found[2])] : null; };
  const view = VIEW_NAMES.includes(given.get("view")) ? given.get("view") : "overview";
  const keeps = given.has("calls") || given.has("messages") || !given.has("view") ? null : before;
  app.place = {
    view, call: count("call") ?? before.call, message: count("message") ?? before.message, table: given.get("table"),
    calls: keeps ? keeps.calls : range("calls"), messages: keeps ? keeps.messages : range("messages"),
  };
}
function address(place) {
  const given = new URLSearchParams({ view: place.view, call: place.call });
  if (place.message !== null) given.set("message", place.message);
  if (place.view === "tables" && place.table) given.set("table", place.table);
  for (const name of ["calls", "messages"]) if (place[name]) given.set(name, place[name].join("-"));
  return `#${given}`;
}
// Go to a view or choose something: the browser's way back leads here again.
function go(change) {
  if (isKeeping !== null) writePlace();
  const next = { ...app.place, ...change };
  const { calls: all, messages } = app.session;
  next.call = Math.max(0, Math.min(Math.trunc(next.call) || 0, all.length - 1));
  if (next.message !== null) next.message = Math.max(0, Math.min(Math.trunc(next.message) || 0, messages.length - 1));
  const to = address(next);
  if (to === location.hash) { app.place = next; isMoved = true; redraw(); } else location.hash = to;
}
// Keep a place in the address, without a step of the way back: zoom and cursor. A wheel turns faster than a browser
// takes addresses.
let isKeeping = null;
function keepPlace(change) {
  Object.assign(app.place, change);
  clearTimeout(isKeeping);
  isKeeping = setTimeout(writePlace, KEPT_AFTER_MS);
  redraw();
}
function writePlace() {
  clearTimeout(isKeeping);
  isKeeping = null;
  history.replaceState(null, "", address(app.place));
}

// -- drawing ------------------------------------------------------------------------------------------------------------

function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; drawNow(); });
}
function drawNow() {
  if (!app.session) return;
  for (const name of VIEW_NAMES) {
    const isShown = name === app.place.view, tab = document.getElementById(`tab-${name}`);
    document.getElementById(name).hidden = !isShown;
    tab.setAttribute("aria-selected", isShown);
    tab.tabIndex = isShown ? 0 : -1;
  }
  VIEWS[app.place.view](document.getElementById(app.place.view));
  if (!isMoved) return;
  isMoved = false;
  if (app.place.view === "tables" && app.place.table) document.getElementById(`table-${app.place.table}`)?.scrollIntoView();
  else if (app.place.view === "call" || app.place.view === "message") scrollTo(0, 0);
}

function setTheme(name) {
  theme = name;
  document.getElementById("theme").textContent = `Theme: ${name}`;
  document.documentElement.dataset.theme = app.isPrinting ? "light" : name === "automatic" ? (darkness.matches ? "dark" : "light") : name;
  redraw();
}

// Paper has all views that are not about one call or message, in light colours, with all rows.
function print(isPrinting) {
  if (!app.session || app.isPrinting === isPrinting) return;
  app.isPrinting = isPrinting;
  setTheme(theme);
  for (const name of VIEW_NAMES) document.getElementById(name).toggleAttribute("data-print", isPrinting && (PRINTED.includes(name) || name === app.place.view));
  if (!isPrinting) return drawNow();
  for (const name of new Set([...PRINTED, app.place.view])) {
    document.getElementById(name).hidden = false;
    VIEWS[name](document.getElementById(name));
  }
  return undefined;
}

// -- what people do -----------------------------------------------------------------------------------------------------

function step(by) {
  const { view, call, message } = app.place;
  go(view === "message" ? { message: (message ?? 0) + by } : { view: "call", call: view === "call" ? call + by : call });
}
function stepChange(by) {
  const all = app.session.changedCalls, { view, call } = app.place, from = view === "call" ? call : app.cursor ?? -1;
  const to = by > 0 ? all.find((one) => one > from) : all.findLast((one) => one < from);
  if (to !== undefined) go({ view: "call", call: to });
}
const KEYS = {
  j: () => step(1), k: () => step(-1), n: () => stepChange(1), p: () => stepChange(-1),
  t: () => setTheme({ automatic: "dark", dark: "light", light: "automatic" }[theme]),
  "?": () => document.getElementById("keys").showModal(),
  "/": () => { go({ view: "message" }); drawNow(); requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("search").focus())); },
  ...Object.fromEntries(VIEW_NAMES.map((view, at) => [String(at + 1), () => go({ view })])),
};
function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !app.session) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  if (Object.hasOwn(KEYS, event.key)) { event.preventDefault(); KEYS[event.key](); }
}
function tabKey(event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], at = VIEW_NAMES.indexOf(app.place.view);
  if (!by) return;
  const view = VIEW_NAMES[(at + by + VIEW_NAMES.length) % VIEW_NAMES.length];
  event.preventDefault();
  go({ view });
  document.getElementById(`tab-${view}`).focus();
}

makeHatches();
setTheme("automatic");
darkness.addEventListener("change", () => setTheme(theme));
document.getElementById("theme").addEventListener("click", KEYS.t);
document.getElementById("help").addEventListener("click", KEYS["?"]);
document.getElementById("tabs").addEventListener("keydown", tabKey);
for (const view of VIEW_NAMES) document.getElementById(`tab-${view}`).addEventListener("click", () => go({ view }));
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("main").focus(); });
document.addEventListener("keydown", pressed);
addEventListener("hashchange", () => { clearTimeout(isKeeping); isKeeping = null; readPlace(); isMoved = true; redraw(); });
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
matchMedia("print").addEventListener("change", (event) => print(event.matches));
// Its height changes whenever something is folded out: that is no reason to draw.
new ResizeObserver(([entry]) => {
  if (entry.contentRect.width === app.width) return;
  app.width = entry.contentRect.width;
  redraw();
}).observe(document.getElementById("main"));
readPlace();
window.squidbotReport = { open, update };
const packedFigures = document.getElementById("figures");
if (packedFigures) {
  unpacked(packedFigures).then((values) => open(values, embeddedTexts()), () => { document.getElementById("notice").textContent = "This report is damaged: its figures can't be read."; });
}
