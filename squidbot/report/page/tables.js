// Tables of all that a session did: each sorts by its columns, and each row leads to its call or message.

const ROWS_AT_ONCE = 25;

// Columns are [name, value of a row, what is shown of it, its kind]; a value sorts, and is shown where nothing else is.
function tablesOf(session) {
  const { values } = session, role = (row) => session.messages[row.message]?.role ?? "";
  const last = session.calls.length - 1;
  return {
    compactions: ["Compactions and other changes", session.isRecording ? "The agent itself put its summary in the place of older messages here. Before and after are tokens of messages, as squidbot counts." : "What was sent of older messages changed here. The price is what writing the changed part again cost; it pays off when the smaller requests behind it have saved as much. Before, after and kept are in tokens, by the bound.", values.compactions, [
      ["call", (row) => row.call, (row) => (row.call === null ? "none followed" : callLink(row.call)), "num"], ["cause", (row) => row.cause, null, ""], ["that is", (row) => word(CAUSES, row.cause), null, "long"],
      ["before", (row) => row.before, null, "num"], ["after", (row) => row.after, null, "num"], ["kept", (row) => row.kept, null, "num"],
      ["price", (row) => row.price, (row) => priced(row.price), "num"], ["pays after", (row) => row.pays_after, (row) => (row.pays_after === null ? "\u2013" : many(Math.ceil(row.pays_after), "call")), "num"],
      ["paid at", (row) => (row.cause === "agent" ? null : row.paid_at ?? Infinity), (row) => (row.paid_at === null ? "no" : row.paid_at > last ? "not yet" : callLink(row.paid_at)), "num"],
      ["first message", (row) => row.from, (row) => (row.from === null ? "\u2013" : messageLink(row.from)), "num"], ["branch", (row) => (values.lines.length > 1 ? row.line : null), null, "num"],
      ["restores plan", (row) => row.restores, null, "num"],
    ]],
    heaviest: ["Heaviest messages", "Tokens of a message times the calls it was sent in, cut or not.", values.heaviest, [
      ["message", (row) => row.message, (row) => messageLink(row.message), "num"], ["role", role], ["tools", (row) => session.messages[row.message]?.tools.join(", ") ?? "", null, "long"],
      ["tokens", (row) => row.tokens, null, "num"], ["calls", (row) => row.calls, null, "num"], ["tokens of all calls", (row) => row.sent_tokens, null, "num"], ["begins", (row) => row.message, (row) => beginning(session.messages[row.message]?.text), "long"],
    ]],
    tools: ["Tools", "What the results of each tool took.", values.tools, [
      ["tool", (row) => row.tool, null, "long"], ["results", (row) => row.results, null, "num"], ["tokens", (row) => row.tokens, null, "num"], ["tokens of all calls", (row) => row.sent_tokens, null, "num"],
      ["largest result", (row) => heaviestOf(row.tool), (row) => { const found = heaviestOf(row.tool); return found === null ? "\u2013" : messageLink(found); }, "num"],
    ]],
    recalled: ["Recalled", "Earlier messages that the model asked for and got as a copy.", values.recalled, [
      ["copy", (row) => row.message, (row) => messageLink(row.message), "num"], ["of", (row) => namedRun(row.of)?.[0] ?? -1, (row) => { const run = namedRun(row.of); return run ? messageLink(run[0], span(...run)) : row.of || "found by search"; }],
      ["first sent at", (row) => row.call, (row) => (row.call === null ? "\u2013" : callLink(row.call)), "num"], ["tokens", (row) => row.tokens, null, "num"], ["begins", (row) => row.message, (row) => beginning(session.messages[row.message]?.text), "long"],
    ]],
    missing: ["Names that were needed and not there", values.source === "replay" ? "Names and numbers that the model's next answer used, that had been said before, and that its request did not contain. It could still recall them." : "Only a replay looks for these.", values.missing, [
      ["call", (row) => row.call, (row) => callLink(row.call), "num"], ["name", (row) => row.name ?? "", (row) => row.name ?? LEFT_OUT, "long"],
      ["tokens said since then", (row) => row.age, null, "num"], ["last said in", (row) => row.said, (row) => messageLink(row.said), "num"], ["how that message stood", (row) => row.said, (row) => standing(row.said, row.call), "long"],
    ]],
    errors: ["Errors", "Calls that had no request, because nothing fitted or the messages were not valid.", values.errors, [
      ["before call", (row) => row.next ?? row.call, (row) => ((row.next ?? row.call) > last ? "the end" : callLink(row.next ?? row.call)), "num"], ["kind", (row) => row.kind], ["text", (row) => row.text ?? "", (row) => row.text ?? LEFT_OUT, "long"],
    ]],
    lines: ["Branches", "A branch begins where somebody edited an earlier message or went on from it. Branch 0 is the one that the conversation began with.", values.lines, [
      ["branch", (row) => row.number, (row) => (row.left_at === null ? row.number : messageLink(Math.max(0, row.left_at - 1), row.number)), "num"], ["left branch", (row) => row.parent, null, "num"], ["before message", (row) => row.left_at, (row) => (row.left_at === null ? "\u2013" : messageLink(row.left_at)), "num"],
      ["messages", (row) => row.messages, null, "num"], ["calls", (row) => callsOn(row.number).length, null, "num"], ["last call", (row) => callsOn(row.number).at(-1)?.call ?? null, (row) => { const found = callsOn(row.number).at(-1); return found ? callLink(found.call) : "\u2013"; }, "num"],
      ["begun", (row) => row.at, (row) => moment(row.at) || "\u2013"], ["in use", (row) => (row.is_current ? "yes" : "")],
    ]],
    policies: ["Policies", "What the same calls would have cost under other policies, without the answers.", sumRows(), [
      ["policy", (row) => row.name, null, "long"], ["all prompts", (row) => row.sums[last] ?? 0, (row) => priced(row.sums[last] ?? 0), "num"],
      ["against this session", (row) => row.sums[last] ?? 0, (row) => (row.isThis ? "" : relative((row.sums[last] ?? 0) / (sumRows()[0].sums[last] || 1) - 1)), "num"],
      ["calls that do not fit", (row) => row.bad, null, "num"], ["first", (row) => row.failsAt, (row) => (row.failsAt === null ? "\u2013" : callLink(row.failsAt)), "num"],
    ]],
    messages: ["All messages", "Every message that was said, with what it took.", session.messages, [
      ["message", (row) => row.id, (row) => messageLink(row.id), "num"], ["role", (row) => row.role], ["category", (row) => row.category], ["tools", (row) => row.tools.join(", "), null, "long"],
      ["tokens", (row) => row.tokens, null, "num"], ["sent as", (row) => row.sent_tokens, null, "num"], ["flags", (row) => row.flags.join(", ")],
    ]],
    calls: ["All calls", "Every request, with what it cost.", session.calls, [
      ["call", (row) => row.call, (row) => callLink(row.call), "num"], ["model", (row) => row.model ?? null], ["tokens", (row) => row.tokens, null, "num"], ["reported", (row) => row.reported?.input_tokens ?? null, null, "num"], ["cached", (row) => row.cached, null, "num"],
      ["new", (row) => row.new, null, "num"], ["written again", (row) => row.rewritten, null, "num"], ["answer", (row) => row.output, null, "num"], ["price", (row) => row.price, (row) => priced(row.price), "num"], ["verified", (row) => (row.is_same === null ? null : row.is_same ? "yes" : "no")],
    ]],
  };
}

function callsOn(line) {
  const { session } = app;
  session.lineCalls ??= Map.groupBy ? Map.groupBy(session.calls, (call) => call.line) : session.calls.reduce((all, call) => all.set(call.line, [...(all.get(call.line) ?? []), call]), new Map());
  return session.lineCalls.get(line) ?? [];
}
function heaviestOf(tool) {
  const { session } = app;
  if (!session.toolHeaviest) {
    session.toolHeaviest = new Map();
    for (const message of session.messages) {
      const [name] = message.tools, best = session.toolHeaviest.get(name);
      if (message.role === "tool" && name !== undefined && (best === undefined || session.messages[best].tokens < message.tokens)) session.toolHeaviest.set(name, message.id);
    }
  }
  return session.toolHeaviest.get(tool) ?? null;
}

function tablesView(root) {
  const all = Object.entries(tablesOf(app.session)).filter(([name]) => !(app.isPrinting && (name === "messages" || name === "calls")) && !(app.session.isRecording && name === "policies"));
  const nav = make("nav", { class: "tools", "aria-label": "Tables" }, all.map(([name, [title, , rows]]) => tableLink(name, `${title} (${figure(rows.length)})`)));
  root.replaceChildren(nav, ...all.map(([name, spec]) => make("div", { class: "anchor", id: `table-${name}`, tabindex: -1 }, sortable(name, ...spec))));
}

// How a text begins: it is filled in when it is unpacked.
function beginning(number) {
  if (number === null || number === undefined) return LEFT_OUT;
  const cell = make("span", { class: "dim" }, "\u2026");
  app.texts(number).then((text) => { cell.textContent = shown(text.slice(0, 90).replace(/\s+/g, " ")); }, () => {});
  return cell;
}

// How a message stood at a call: filled in when that is worked out.
function standing(message, call) {
  const cell = make("span", {}, "\u2026");
  app.session.ready().then((states) => { cell.textContent = message < states.last + 1 ? STATES[states.at(message, call)][1] : ""; });
  return cell;
}

// A column in which no row has anything is left out.
function sortable(name, title, help, rows, every) {
  const columns = every.filter(([, value], at) => at === 0 || !rows.length || rows.some((row) => { const found = value(row); return found !== null && found !== undefined && found !== ""; }));
  const body = make("tbody"), sort = app.sorts.get(name), table = make("table", { "data-table": name, "aria-describedby": `help-${name}` });
  const sorted = sort ? sortedBy(rows, columns[sort.column][1], sort.isDown) : [...rows];
  const head = columns.map(([label, , , kind], column) => {
    const isBy = sort?.column === column, click = () => { app.sorts.set(name, { column, isDown: isBy ? !sort.isDown : kind === "num" && column > 0 }); resort(name, column); };
    return make("th", { scope: "col", class: kind, "aria-sort": isBy ? (sort.isDown ? "descending" : "ascending") : "none" }, make("button", { type: "button", click }, label, isBy ? (sort.isDown ? " \u25be" : " \u25b4") : ""));
  });
  table.append(make("caption", {}, title), make("thead", {}, make("tr", {}, head)), body);
  if (!rows.length) body.append(make("tr", {}, make("td", { colspan: columns.length, class: "dim" }, "None.")));
  const more = make("button", { type: "button", class: "more" });
  let at = 0;
  const grow = (count) => {
    const end = Math.min(sorted.length, at + count);
    for (; at < end; at += 1) body.append(rowOf(sorted[at], columns));
    more.textContent = `Show more of ${figure(sorted.length)} rows`;
    more.hidden = at >= sorted.length;
  };
  more.addEventListener("click", () => { grow(ROWS_AT_ONCE * 10); app.rows.set(name, at); });
  grow(app.isPrinting ? Infinity : app.rows.get(name) ?? ROWS_AT_ONCE);
  return make("div", {}, make("div", { class: "wide" }, table), more, make("p", { class: "help", id: `help-${name}` }, help));
}

function rowOf(row, columns) {
  const line = make("tr", { click: openRow }, columns.map(([, value, show, kind]) => make("td", { class: kind }, show ? show(row) : typeof value(row) === "number" ? figure(value(row)) : value(row) ?? "\u2013")));
  if (line.querySelector("a")) line.className = "opens";
  return line;
}
// A click anywhere in a row is one on its first link, unless text is being selected.
function openRow(event) {
  if (event.target.closest("a, button") || String(getSelection())) return;
  event.currentTarget.querySelector("a")?.click();
}
function sortedBy(rows, value, isDown) {
  const order = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other)));
  const known = (row) => { const found = value(row); return found !== null && found !== undefined; };
  return [...rows.filter(known).sort((one, other) => (isDown ? -1 : 1) * order(value(one), value(other))), ...rows.filter((row) => !known(row))];
}
function resort(name, column) {
  const box = document.getElementById(`table-${name}`);
  box.replaceChildren(sortable(name, ...tablesOf(app.session)[name]));
  box.querySelectorAll("thead button")[column].focus();
}
