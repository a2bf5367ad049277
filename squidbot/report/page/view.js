// The pages of a store: sessions, search, facts, goals, journal, status. Elements and words are made by words.js.

const $ = (id) => document.getElementById(id);
const TABS = ["sessions", "search", "facts", "goals", "journal", "status"];
const PAGE = 50;
// What a list that changes often waits for before it is read again, in milliseconds.
const LIST_MS = 1000;
let me = { writes: false, limited: false, csrf: null, user: "" };
let opened = { tab: "", number: 0 };
let stream = null;

// -- elements and words ------------------------------------------------------------------------------------------

const percent = (share) => `${Math.round(100 * share)} %`;

function ago(seconds) {
  if (!seconds) return "";
  const passed = Date.now() / 1000 - seconds;
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"]];
  const found = units.find(([size]) => passed >= size);
  return found ? `${many(Math.floor(passed / found[0]), found[1])} ago` : passed > -60 ? "just now" : "";
}

function when(seconds) {
  if (!seconds) return "";
  const date = new Date(1000 * seconds);
  if (Number.isNaN(date.getTime())) return "";
  return make("time", { datetime: date.toISOString(), title: date.toLocaleString(), "data-at": seconds }, ago(seconds));
}

const safe = (text) => shown(String(text));
const linkTo = (key, session, message = null) =>
  make("a", { href: `/session/${key}${message === null ? "" : `#view=message&message=${message}`}`, class: "name", dir: "auto" }, safe(session));

// -- asking the server -------------------------------------------------------------------------------------------

async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== ""));
  const answer = await fetch(`${path}${query.size === 0 ? "" : `?${query}`}`);
  if (!answer.ok) throw await reason(answer);
  return answer.json();
}

async function change(path, values) {
  const headers = { "content-type": "application/json", "squidbot-csrf": me.csrf ?? "" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(values) });
  if (!answer.ok) throw await reason(answer);
  return answer.json();
}

class LoggedOut extends Error {}

// Return why the server refuses, as an error.
async function reason(answer) {
  if (answer.status === 401) {
    if (answer.headers.get("squidbot-login") === "token") return new LoggedOut("This browser is not logged in any more: ");
    return new Error("This browser is not logged in any more: open a new address from the terminal.");
  }
  const text = (await answer.text()).trim();
  return new Error(text && !text.startsWith("<") ? text : `the server answered ${answer.status}`);
}

function say(text, isWrong = false) {
  $("notice").textContent = text;
  $("notice").className = isWrong ? "wrong" : "dim";
}

function complain(error) {
  say(error instanceof TypeError ? "The server does not answer; it may have ended." : error.message, true);
  if (error instanceof LoggedOut) $("notice").append(make("a", { href: "/" }, "log in again"));
}

// Show what a page reads, unless another page was opened meanwhile.
async function show(read) {
  const number = ++opened.number;
  try {
    const parts = await read();
    if (number !== opened.number) return;
    $("content").replaceChildren(...parts);
    if ($("notice").className === "wrong" || /^Opening/.test($("notice").textContent)) say("");
  } catch (error) {
    if (number === opened.number) complain(error);
  }
}

// -- sessions ----------------------------------------------------------------------------------------------------

let listed = { name: "", offset: 0 };

function sessionsTools() {
  const field = make("input", { type: "search", id: "field", placeholder: "id, project or title", value: listed.name, "aria-label": "Filter by name" });
  field.addEventListener("input", later(() => { listed = { name: field.value, offset: 0 }; show(sessions); }, 200));
  return [field];
}

async function sessions() {
  const page = await ask("/api/sessions", { name: listed.name, offset: listed.offset, limit: PAGE });
  const heads = [["Session"], ["Messages", "number"], ["Window"], ["Newest compaction"], ["Prompts cost", "number"], ["Last activity"]];
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(([text, kind]) => make("th", { scope: "col", class: kind ?? null }, text)))),
    make("tbody", {}, ...page.sessions.map(sessionRow)));
  const older = page.total - page.listed;
  const last = page.offset + page.sessions.length;
  return [
    page.sessions.length ? table : make("p", { class: "dim" }, listed.name ? "No session has such a name." : "This store has no sessions yet."),
    make("p", {},
      page.offset > 0 ? turn("Newer", page.offset - PAGE) : null, " ",
      last < page.listed ? turn("Older", last) : null, " ",
      make("span", { class: "dim" }, page.sessions.length ? `${page.offset + 1} to ${last} of ${page.listed.toLocaleString()}` : "",
        older > 0 ? `; ${many(older, "older session")}: filter by name` : "")),
  ];
}

function turn(text, offset) {
  return make("button", { type: "button", click: () => { listed.offset = Math.max(0, offset); show(sessions); } }, text);
}

function sessionRow(one) {
  const way = { "sub-agent": "sub-agent of", below: "below" }[one.way] ?? "continues";
  const from = one.agent ? [word(AGENTS, one.agent), ...[one.project, one.title].filter(Boolean).map(safe)] : [];
  const about = [
    from.length ? make("small", { class: "text", dir: "auto" }, from.join(" \u00b7 ")) : null,
    one.parent === null ? null : make("small", {}, `${way} `, linkTo(one.parent_key, one.parent)),
    one.goal ? make("small", { class: "text" }, `goal: ${safe(one.goal)}`) : null,
    one.lines > 1 ? make("small", {}, `line ${one.line} of ${one.lines}`) : null,
    one.damaged ? make("small", { class: "bad text" }, safe(one.damaged)) : null,
  ];
  const share = one.limit ? one.request_tokens / one.limit : null;
  const used = share === null ? [one.window ? `${figure(one.window)} tokens` : ""] : [
    make("meter", { min: 0, max: 1, high: 0.8, value: Math.min(1, share), "aria-label": percent(share) }), ` ${percent(share)}`,
    make("small", {}, `at most ${figure(one.request_tokens)} of ${figure(one.limit)} tokens`), one.model ? make("small", {}, safe(one.model)) : null];
  const plan = one.compaction;
  const cost = one.requests ? [figure(one.price), make("small", {},
    `${one.price_is_sure ? "" : "about, "}in input tokens; ${figure(one.sent_tokens)} sent in ${many(one.requests, "request")}`)] : [];
  return make("tr", { "data-key": one.key },
    make("td", {}, linkTo(one.key, one.session), ...about),
    make("td", { class: "number", "data-label": "Messages" }, figure(one.messages)),
    make("td", { "data-label": "Window" }, ...used),
    make("td", { "data-label": "Compaction" }, ...(plan ? [safe(plan.cause), " ", when(plan.time), make("small", {}, `${figure(plan.before)} to ${figure(plan.after)} tokens`)] : [])),
    make("td", { class: "number", "data-label": "Prompts cost" }, ...cost),
    make("td", { "data-label": "Last activity" }, when(one.last_time)));
}

// -- search ------------------------------------------------------------------------------------------------------

let asked = { query: "", name: "" };

function searchTools() {
  const field = make("input", { type: "search", id: "field", placeholder: 'words, or a "quoted phrase"', value: asked.query, "aria-label": "Search all messages" });
  const name = make("input", { type: "search", placeholder: "in sessions named", value: asked.name, "aria-label": "Part of a session's id" });
  $("tools").onsubmit = (event) => { event.preventDefault(); asked = { query: field.value, name: name.value }; show(search); };
  return [field, name, make("button", {}, "Search")];
}

async function search() {
  if (!asked.query.trim()) return [make("p", { class: "dim" }, "Search through all that was said, in all sessions.")];
  say("Searching…");
  const { number } = opened;
  const found = await ask("/api/search", { q: asked.query, name: asked.name });
  if (number !== opened.number) return [];
  const where = `in ${found.searched.toLocaleString()} of ${many(found.total, "session")}${found.damaged ? `; ${found.damaged} can't be read` : ""}`
    + (found.left_out ? `; without ${many(found.left_out, "old message")} that no index has yet: squidbot session search finds them` : "");
  say(found.hits.length ? `The best ${many(found.hits.length, "message")}, ${where}` : `No message ${where}. Try other words.`);
  return found.hits.map((hit) => make("div", { class: "card" },
    make("p", {}, linkTo(hit.key, hit.session, hit.message), make("span", { class: "dim" }, ` m${hit.message}, ${hit.who}, `, when(hit.time))),
    make("p", { class: "text", dir: "auto" }, safe(hit.snippet))));
}

// -- facts -------------------------------------------------------------------------------------------------------

let whose = { user: null, past: false };

function userTools(again, ...others) {
  const name = make("input", { id: "field", value: whose.user ?? me.user, "aria-label": "Whose: the user; empty: shared by all" });
  $("tools").onsubmit = (event) => { event.preventDefault(); whose.user = name.value; show(again); };
  return me.limited ? others : [make("label", {}, "Whose: ", name), make("button", {}, "Show"), ...others];
}

function factsTools() {
  const past = make("input", { type: "checkbox", checked: whose.past });
  past.addEventListener("change", () => { whose.past = past.checked; show(facts); });
  return userTools(facts, make("label", {}, past, " replaced ones, too"));
}

async function facts(after = "") {
  const page = await ask("/api/facts", { user: whose.user, past: whose.past ? 1 : null, after });
  const parts = page.facts.map(factCard);
  if (page.next) {
    const more = make("button", { type: "button" }, "More");
    more.addEventListener("click", async () => more.replaceWith(...await facts(page.next)));
    parts.push(more);
  }
  const of = page.user ? `of ${safe(page.user)}` : "shared by all";
  const none = page.enabled ? `No durable facts ${of}.` : "Durable facts are off (memory.enabled).";
  return parts.length || after ? parts : [make("p", { class: "dim" }, none)];
}

function factCard(one) {
  const sources = one.sources.map((source) => make("li", {}, source.key
    ? linkTo(source.key, `${source.session} m${source.first}${source.last > source.first ? `-m${source.last}` : ""}`, source.first)
    : safe(source.path ?? "a session that you can't see")));
  const about = [one.memory_id, one.category, one.scope.bot && `bot ${one.scope.bot}`, [one.speaker, one.trust].filter(Boolean).join(", "), one.reason,
    one.tags.map((tag) => `#${tag}`).join(" "), one.supersedes && `replaces ${one.supersedes}`,
    one.superseded_by && `replaced by ${one.superseded_by}`].filter(Boolean);
  const card = make("div", { class: "card", "data-fact": one.memory_id },
    make("p", { class: "text", dir: "auto" }, safe(one.text)),
    make("small", { class: "text" }, safe(about.join(" · ")), " ", when(one.time)),
    sources.length ? make("ul", {}, ...sources) : null);
  if (me.writes) card.append(make("button", { type: "button", click: () => forgetFact(card, one) }, "Forget…"));
  return card;
}

async function forgetFact(card, one) {
  const given = await confirmed("Forget this fact?", one.text);
  if (given === null) return;
  try {
    await change("/api/facts/forget", { id: one.memory_id, reason: given, ...(whose.user === null ? {} : { user: whose.user }) });
    card.remove();
    say(`Forgot ${one.memory_id}.`);
  } catch (error) {
    complain(error);
  }
}

// Ask, and return the reason; null for no.
function confirmed(title, text) {
  $("ask-title").textContent = title;
  $("ask-text").textContent = safe(text);
  $("ask-reason").value = "";
  $("ask").returnValue = "no";
  $("ask").showModal();
  $("ask-no").focus();
  return new Promise((resolve) => {
    $("ask").addEventListener("close", () => resolve($("ask").returnValue === "yes" ? $("ask-reason").value : null), { once: true });
  });
}

// -- goals, journal, status --------------------------------------------------------------------------------------

async function goals() {
  const page = await ask("/api/sessions", { limit: 200 });
  const having = page.sessions.filter((one) => one.goal);
  const cards = having.map((one) => {
    const more = make("div", {});
    const details = make("details", {}, make("summary", {}, "Milestones, decisions, blockers"), more);
    details.addEventListener("toggle", async () => {
      if (!details.open || more.childElementCount) return;
      try {
        more.replaceChildren(...goalParts(await ask(`/api/session/${one.key}/goals`)));
      } catch (error) {
        more.textContent = error.message;
      }
    });
    return make("div", { class: "card" }, make("p", { class: "text", dir: "auto" }, safe(one.goal)),
      make("small", {}, linkTo(one.key, one.session), " ", when(one.last_time)), details);
  });
  return cards.length ? cards : [make("p", { class: "dim" }, `None of the newest ${many(page.sessions.length, "session")} has a goal.`)];
}

function goalParts(goals) {
  const items = goals.items.map((one) => make("li", { class: "text" }, `${one.kind}${one.done ? " (done)" : ""}: ${safe(one.text)}`));
  const ended = goals.ended.map((one) => make("li", { class: "text" }, `${one.how}: ${safe(one.text)}`));
  return [goals.next ? make("p", { class: "text" }, `next: ${safe(goals.next)}`) : null,
    items.length ? make("ul", {}, ...items) : make("p", { class: "dim" }, "Nothing beside the goal."),
    ended.length ? make("ul", { "aria-label": "Earlier goals" }, ...ended) : null].filter(Boolean);
}

const NAMES = { open_questions: "open", decisions: "decided", errors: "failed", progress: "done", files_touched: "files" };

async function journal() {
  const page = await ask("/api/journal", { user: whose.user });
  const cards = page.entries.map((one) => make("div", { class: "card" },
    make("p", { class: "dim" }, when(one.time), ` ${[one.agent_id, one.run_id, ...one.tags.map((tag) => `#${tag}`)].filter(Boolean).map(safe).join(" · ")}`,
      one.total_tokens === null ? null : ` · ${many(one.total_tokens, "token")}`, one.key ? " · " : null, one.key ? linkTo(one.key, one.session) : null),
    make("p", { class: "text", dir: "auto" }, safe(one.summary)),
    make("ul", {}, ...Object.entries(NAMES).flatMap(([key, name]) => one[key].map((text) => make("li", { class: "text" }, `${name}: ${safe(text)}`))))));
  const faults = page.faults.map((fault) => make("p", { class: "bad text" }, safe(fault)));
  return cards.length || faults.length ? [...faults, ...cards] : [make("p", { class: "dim" }, "The journal has no entries.")];
}

async function status() {
  say("Looking at devices, models and stores…");
  const found = await ask("/api/status");
  say("");
  const problems = found.problems.map((text) => make("p", { class: "bad text" }, safe(text)));
  const names = { store: "Store", memory: "Durable facts", models: "Models", devices: "Devices", main_memory: "Main memory" };
  const parts = Object.entries(names).flatMap(([key, name]) => {
    const values = [found[key]].flat().filter((value) => value !== null && value !== undefined);
    return [make("h2", {}, name), ...(values.length ? values.map(pairs) : [make("p", { class: "dim" }, "none")])];
  });
  return [...problems, make("p", { class: "dim text" }, `settings: ${safe(found.settings)}`), ...parts];
}

function pairs(values) {
  const rows = Object.entries(values).filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  return make("div", { class: "card" }, make("dl", {}, ...rows.flatMap(([key, value]) => [
    make("dt", {}, key.replaceAll("_", " ")),
    make("dd", {}, typeof value === "object" ? pairs(value) : safe(typeof value === "number" ? value.toLocaleString() : value)),
  ])));
}

// -- which page is open ------------------------------------------------------------------------------------------

const PAGES = {
  sessions: [sessionsTools, sessions], search: [searchTools, search], facts: [factsTools, facts],
  goals: [() => [], goals], journal: [() => userTools(journal), journal], status: [() => [], status],
};

function open() {
  const wanted = location.hash.slice(1);
  opened.tab = TABS.includes(wanted) ? wanted : "sessions";
  for (const link of $("tabs").children) {
    if (link.hash === `#${opened.tab}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${opened.tab} - squidbot view`;
  const [tools, read] = PAGES[opened.tab];
  $("tools").onsubmit = (event) => event.preventDefault();
  $("tools").replaceChildren(...tools());
  $("tools").hidden = !$("tools").childElementCount;
  $("content").replaceChildren();
  say("");
  show(() => read());
  follow();
}

function later(act, milliseconds) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(act, milliseconds); };
}

// Only a page that is looked at holds a connection: browsers have few for one server.
function follow() {
  const wanted = opened.tab === "sessions" && document.visibilityState === "visible";
  if (!wanted) { stream?.close(); stream = null; return; }
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  stream = new EventSource("/api/events?list=1");
  let waiting = 0;
  stream.addEventListener("list", () => {
    if (!waiting) waiting = setTimeout(() => { waiting = 0; refresh(); }, LIST_MS);
  });
  stream.onerror = later(() => { if (document.visibilityState === "visible") follow(); }, 5000);
}

// Read the list again, and leave the focus where it is.
async function refresh() {
  if (opened.tab !== "sessions") return;
  const row = document.activeElement?.closest("tr")?.dataset.key;
  await show(sessions);
  if (row) $("content").querySelector(`tr[data-key="${CSS.escape(row)}"] a`)?.focus({ preventScroll: true });
}

function move(step) {
  const links = [...$("content").querySelectorAll("tr a.name, .card a.name, .card button, .card summary")];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
}

// Told at once, so that the next key finds the page: the browser tells a change of the hash only after keys that wait.
function choose(tab) {
  if (location.hash === `#${tab}`) return;
  history.pushState(null, "", `#${tab}`);
  window.dispatchEvent(new Event("hashchange"));
}

const THEMES = { automatic: "dark", dark: "light", light: "automatic" };

function theme(name) {
  if (name === "automatic") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  $("theme").textContent = `Theme: ${name}`;
  try { localStorage.setItem("squidbot-theme", name); } catch { /* it holds for this page alone */ }
}

function nextTheme() { theme(THEMES[$("theme").textContent.slice(7)] ?? "automatic"); }

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("ask").open) return;
  if (event.target.closest("input, textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  const tab = TABS[Number(event.key) - 1];
  if (tab && !(tab === "status" && $("status-tab").hidden)) choose(tab);
  else if (event.key === "/") $("field")?.focus();
  else if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
  else if (event.key === "t") nextTheme();
  else return;
  event.preventDefault();
});

async function begin() {
  let known = "automatic";
  try { known = localStorage.getItem("squidbot-theme") ?? known; } catch { /* as above */ }
  theme(known in THEMES ? known : "automatic");
  $("theme").addEventListener("click", nextTheme);
  try {
    me = await ask("/api/me");
  } catch (error) {
    complain(error);
    return;
  }
  $("status-tab").hidden = !me.status;
  $("who").textContent = [me.limited ? `${safe(me.user)}'s sessions and facts` : "all sessions", me.writes ? "facts and messages can be forgotten" : "read only"].join("; ");
  window.addEventListener("hashchange", open);
  document.addEventListener("visibilitychange", () => { follow(); });
  setInterval(() => { for (const one of document.querySelectorAll("time[data-at]")) one.textContent = ago(Number(one.dataset.at)); }, 30000);
  open();
}

begin();
