// A session's report, kept up to date: the server tells that there is more, and the page fetches what it lacks.
"use strict";

(() => {
  const key = location.pathname.split("/")[2];
  const api = `/api/session/${key}`;
  // Texts that are kept here; a report asks for them again.
  const MOST_TEXTS = 2000;
  let version = "";
  let values = null;
  let isLoading = false;
  let isDue = false;
  let again = 0;
  let stream = null;
  // What was forgotten last stays beside the state, which is said again at once.
  let done = "";
  const texts = new Map();

  const bar = document.createElement("nav");
  bar.setAttribute("aria-label", "This server");
  Object.assign(bar.style, { display: "flex", flexWrap: "wrap", gap: "0 .8rem", alignItems: "center", padding: ".3rem 1rem" });
  const back = document.createElement("a");
  back.href = "/";
  back.textContent = "← All sessions";
  const state = document.createElement("span");
  state.className = "dim";
  state.setAttribute("role", "status");
  bar.append(back, state);
  document.body.prepend(bar);
  const count = (number, what) => `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
  const say = (text) => { state.textContent = text; };

  function loggedOut(answer) {
    if (answer.headers.get("squidbot-login") !== "token") { say("not logged in any more: open a new address from the terminal"); return; }
    say("not logged in any more: ");
    const link = document.createElement("a");
    link.href = "/";
    link.textContent = "log in again";
    state.append(link);
  }

  async function loadTexts(number) {
    if (!texts.has(number)) {
      if (texts.size >= MOST_TEXTS) texts.delete(texts.keys().next().value);
      const found = fetch(`${api}/texts/${number}?version=${version}`).then((answer) => {
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        return answer.json();
      });
      found.catch(() => { texts.delete(number); load(); });
      texts.set(number, found);
    }
    return texts.get(number);
  }

  function patch(made) {
    if (made.since === null) texts.clear();
    const lists = Object.entries(made.lists).map(([name, list]) => {
      const kept = list.keep ? values[name].slice(0, list.keep) : [];
      return [name, list.add.length ? kept.concat(list.add) : kept];
    });
    const isFirst = values === null;
    values = { ...made.values, ...Object.fromEntries(lists) };
    version = made.version;
    if (isFirst) window.squidbotReport.open(values, loadTexts);
    else window.squidbotReport.update(values);
  }

  async function load() {
    clearTimeout(again);
    if (isLoading) { isDue = true; return; }
    isLoading = true;
    try {
      const answer = await fetch(`${api}/figures${version ? `?since=${version}` : ""}`);
      if (answer.status === 401) { isLoading = false; loggedOut(answer); return; }
      if (answer.status !== 304 && !answer.ok) throw new Error((await answer.text()).trim());
      const seconds = answer.headers.get("squidbot-again-seconds");
      if (seconds !== null) again = setTimeout(load, 1000 * Number(seconds) + 20);
      if (answer.status !== 304) patch(await answer.json());
      say(`${done}follows the session: ${count(values.messages.length, "message")}, ${count(values.calls.length, "call")}`);
    } catch (error) {
      say(error instanceof TypeError ? "the server does not answer; it may have ended" : error.message);
    }
    isLoading = false;
    if (isDue) { isDue = false; load(); }
  }

  // Only a page that is looked at holds a connection: browsers have few for one server.
  function follow() {
    if (document.visibilityState !== "visible") { stream?.close(); stream = null; return; }
    if (stream && stream.readyState !== EventSource.CLOSED) return;
    stream = new EventSource(`/api/events?session=${key}`);
    stream.addEventListener("changed", load);
    stream.onerror = () => { setTimeout(() => { if (stream?.readyState === EventSource.CLOSED) follow(); }, 5000); };
  }

  document.addEventListener("visibilitychange", follow);

  // -- forgetting, where the server allows it ----------------------------------------------------------------------

  async function forget(me, field) {
    const seqs = field.value.split(/[\s,]+/).filter(Boolean).map((one) => Number(one.replace(/^m/, "")));
    if (!seqs.length || seqs.some((seq) => !Number.isInteger(seq) || seq < 0)) { say("write messages as m17 m20"); return; }
    if (!window.confirm(`Forget ${seqs.map((seq) => `m${seq}`).join(", ")} for good?`)) return;
    const headers = { "content-type": "application/json", "squidbot-csrf": me.csrf };
    const answer = await fetch(`${api}/forget`, { method: "POST", headers, body: JSON.stringify({ messages: seqs }) });
    if (answer.status === 401) { loggedOut(answer); return; }
    if (!answer.ok) { say((await answer.text()).trim()); return; }
    done = `forgot ${seqs.map((seq) => `m${seq}`).join(", ")}; `;
    field.value = "";
    load();
  }

  async function begin() {
    const answer = await fetch("/api/me");
    const me = answer.ok ? await answer.json() : { writes: false };
    if (me.writes) {
      const form = document.createElement("form");
      const field = document.createElement("input");
      field.placeholder = "m17 m20";
      field.setAttribute("aria-label", "Messages to forget for good");
      const button = document.createElement("button");
      button.textContent = "Forget…";
      form.append(field, " ", button);
      form.addEventListener("submit", (event) => { event.preventDefault(); forget(me, field); });
      bar.append(form);
    }
    follow();
    if (values === null) load();
  }

  begin();
})();
