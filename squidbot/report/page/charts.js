// Charts over calls: they share which calls are shown, and the cursor.

const EDGE = { left: 54, right: 10, top: 26, bottom: 22 };
const LEAST_CALLS = 6;

function shownCalls() {
  const last = app.session.calls.length - 1, [from, to] = app.place.calls ?? [0, last];
  return [Math.max(0, Math.min(from, last)), Math.max(0, Math.min(to, last))];
}

// Show these calls: all of them if there is no part of them that is worth it.
function showCalls(from, to) {
  const count = app.session.calls.length, width = Math.min(count, Math.max(LEAST_CALLS, to - from + 1));
  const start = Math.max(0, Math.min(Math.round(from), count - width));
  keepPlace({ calls: width >= count ? null : [start, start + width - 1] });
}
function zoomCalls(factor, around) {
  const [from, to] = shownCalls(), middle = around ?? (from + to + 1) / 2, width = Math.max(LEAST_CALLS, Math.round((to - from + 1) * factor));
  const start = middle - ((middle - from) / (to - from + 1)) * width;
  showCalls(Math.round(start), Math.round(start) + width - 1);
}
function moveCalls(part) {
  const [from, to] = shownCalls(), by = Math.max(1, Math.round((to - from + 1) * Math.abs(part))) * Math.sign(part);
  showCalls(from + by, to + by);
}

// Steps of an axis that people can read: 1, 2 or 5 with zeros.
function ticks(low, high, most) {
  const rough = Math.max((high - low) / Math.max(1, most), 1e-9), size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one >= rough), found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(at);
  return found;
}

class Chart {
  // `kind` has: title, note, height, columns (least width), top(bars), paint(chart, bars), says(call, bar).
  constructor(figure, kind) {
    this.kind = kind;
    this.cursor = draw("line", { class: "cursor", visibility: "hidden" });
    this.brush = draw("rect", { class: "brush", visibility: "hidden" });
    this.svg = draw("svg", { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": kind.title, height: kind.height });
    this.readout = make("div", { class: "readout", role: "status", hidden: true });
    this.legend = make("div");
    this.help = make("p", { class: "help" });
    this.plot = make("div", { class: "plot" }, this.svg, this.readout);
    figure.replaceChildren(make("figcaption", {}, kind.title), this.plot, this.legend, this.help);
    this.drag = null;
    this.#listen();
  }

  paint() {
    // Not asked of the page: between two charts that are drawn, that would lay out the first.
    this.width = Math.max(200, Math.round(app.width));
    [this.from, this.to] = shownCalls();
    const count = this.to - this.from + 1, inner = Math.max(40, this.width - EDGE.left - EDGE.right);
    this.size = Math.max(1, Math.ceil(count / Math.floor(inner / 2)));
    this.bars = [];
    for (let call = this.from; call <= Math.min(this.to, app.session.calls.length - 1); call += this.size) this.bars.push([call, Math.min(this.to, call + this.size - 1)]);
    this.step = (inner * this.size) / count;
    this.inner = inner;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.kind.height}`);
    this.svg.replaceChildren();
    if (this.bars.length) this.kind.paint(this); else this.legend.replaceChildren("No call was made yet.");
    this.svg.append(this.cursor, this.brush);
    this.help.replaceChildren(asNode(this.kind.note(this.size)));
    this.#placeCursor();
  }

  x(call) { return EDGE.left + ((call - this.from) / this.size) * this.step; }
  y(value) { return this.kind.height - EDGE.bottom - (value / this.top) * (this.kind.height - EDGE.top - EDGE.bottom); }

  axes(top, unit = short) {
    this.top = Math.max(top, 1);
    for (const value of ticks(0, this.top, 4)) {
      const y = Math.round(this.y(value)) + 0.5;
      this.svg.append(draw("line", { class: "axis", x1: EDGE.left, x2: this.width - EDGE.right, y1: y, y2: y }),
        draw("text", { x: EDGE.left - 6, y: y + 4, "text-anchor": "end" }, unit(value)));
    }
    for (const call of ticks(this.from, this.to, this.width / 90)) {
      if (Number.isInteger(call) && this.x(call) < this.width - 62) this.svg.append(draw("text", { x: this.x(call) + Math.min(this.step / 2, 30), y: this.kind.height - 6, "text-anchor": "middle" }, call));
    }
    this.svg.append(draw("text", { x: this.width - EDGE.right, y: this.kind.height - 6, "text-anchor": "end", class: "unit" }, "calls"));
  }

  // Stacked bars, as one path for each kind: `layers` are [name, fill, value of each bar].
  stack(layers) {
    const base = new Float64Array(this.bars.length), gap = this.step > 4 ? 1 : 0;
    for (const [name, fill, values] of layers) {
      let path = "";
      this.bars.forEach(([call], at) => {
        if (!values[at]) return;
        const low = this.y(base[at]), high = this.y(base[at] + values[at]);
        base[at] += values[at];
        path += `M${this.x(call).toFixed(1)} ${high.toFixed(1)}h${(this.step - gap).toFixed(1)}V${low.toFixed(1)}h${(gap - this.step).toFixed(1)}z`;
      });
      const shape = draw("path", { d: path, "data-layer": name });
      shape.style.fill = fill;
      this.svg.append(shape);
    }
  }

  // Fade all layers but one.
  highlight(name) {
    for (const one of this.svg.querySelectorAll("[data-layer]")) one.classList.toggle("faded", name !== null && one.dataset.layer !== name);
  }

  layersLegend(rows) {
    this.legend.replaceChildren(make("ul", { class: "legend" }, rows.map(([name, label, paint]) => make("li", {
      tabindex: 0, pointerenter: () => this.highlight(name), pointerleave: () => this.highlight(null),
      focus: () => this.highlight(name), blur: () => this.highlight(null),
    }, swatch(paint), label))));
  }

  callAt(clientX) {
    const box = this.svg.getBoundingClientRect();
    const x = ((clientX - box.left) * this.width) / box.width;
    const bar = Math.max(0, Math.min(this.bars.length - 1, Math.floor((x - EDGE.left) / this.step)));
    return this.kind.pick ? this.kind.pick(this.bars[bar]) : this.bars[bar][1];
  }

  #listen() {
    const { svg } = this;
    svg.addEventListener("pointermove", (event) => this.#move(event));
    svg.addEventListener("pointerleave", () => { if (!this.drag) this.point(null); });
    svg.addEventListener("pointerdown", (event) => { if (event.button === 0 && this.bars?.length) this.drag = { x: event.clientX, call: this.callAt(event.clientX) }; });
    svg.addEventListener("pointerup", (event) => this.#drop(event));
    svg.addEventListener("pointercancel", () => this.#endDrag());
    svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    svg.addEventListener("keydown", (event) => { if (chartKey(event, this)) event.preventDefault(); });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible") && this.bars?.length) this.point(app.cursor ?? this.to); });
    svg.addEventListener("blur", () => this.point(null));
  }

  #move(event) {
    if (!this.bars?.length) return;
    const call = this.callAt(event.clientX);
    this.point(call);
    if (!this.drag || Math.abs(event.clientX - this.drag.x) < 6) return;
    if (!this.svg.hasPointerCapture(event.pointerId)) this.svg.setPointerCapture(event.pointerId);
    const [low, high] = [Math.min(call, this.drag.call), Math.max(call, this.drag.call)];
    this.drag.range = [low, high];
    const x = this.x(low);
    for (const [name, value] of Object.entries({ x, y: 0, width: Math.max(2, this.x(high + 1) - x), height: this.kind.height, visibility: "visible" })) this.brush.setAttribute(name, value);
  }

  #drop(event) {
    const { drag } = this;
    this.#endDrag();
    if (!drag || event.button !== 0) return;
    if (drag.range) showCalls(...drag.range);
    else go({ view: "call", call: this.callAt(event.clientX) });
  }

  #endDrag() { this.drag = null; this.brush.setAttribute("visibility", "hidden"); }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.svg) return;
    event.preventDefault();
    if (event.shiftKey) moveCalls(Math.sign(event.deltaY || event.deltaX) * 0.1);
    else zoomCalls(event.deltaY > 0 ? 1.3 : 1 / 1.3, this.callAt(event.clientX) + 0.5);
  }

  // Put the cursor on a call and say its figures; null takes it away.
  point(call) {
    app.cursor = call ?? app.cursor;
    this.pointed = call;
    this.#placeCursor();
  }

  #placeCursor() {
    const call = this.pointed ?? null, isIn = call !== null && call >= this.from && call <= this.to && this.bars.length > 0;
    this.cursor.setAttribute("visibility", isIn ? "visible" : "hidden");
    this.readout.hidden = !isIn;
    if (!isIn) return;
    const x = this.x(call) + this.step / this.size / 2;
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: EDGE.top - 8, y2: this.kind.height - EDGE.bottom })) this.cursor.setAttribute(name, value);
    this.readout.replaceChildren(...this.kind.says(call, this.bars.find(([, last]) => last >= call)));
    const isRight = x > this.width / 2;
    this.readout.style.top = `${EDGE.top}px`;
    this.readout.style.left = isRight ? "auto" : `${x + 12}px`;
    this.readout.style.right = isRight ? `${this.width - x + 12}px` : "auto";
  }
}

// Keys of charts and map: zoom and cursor.
function chartKey(event, chart) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || !app.session.calls.length) return false;
  if (by && event.shiftKey) moveCalls(by * 0.25);
  else if (by) stepCursor(chart, (chart.pointed ?? app.cursor ?? chart.from) + by * chart.size);
  else if (event.key === "Home") stepCursor(chart, 0);
  else if (event.key === "End") stepCursor(chart, app.session.calls.length - 1);
  else if (event.key === "+" || event.key === "=") zoomCalls(1 / 1.6, (chart.pointed ?? (chart.from + chart.to) / 2) + 0.5);
  else if (event.key === "-") zoomCalls(1.6, (chart.pointed ?? (chart.from + chart.to) / 2) + 0.5);
  else if (event.key === "0") keepPlace({ calls: null });
  else if (event.key === "Enter" && chart.pointed !== null) go({ view: "call", call: chart.pointed });
  else if (event.key === "Escape") chart.point(null);
  else return false;
  return true;
}
function stepCursor(chart, call) {
  const to = Math.max(0, Math.min(app.session.calls.length - 1, call)), [first, last] = shownCalls();
  if (to < first || to > last) showCalls(to < first ? to : to - (last - first), to < first ? to + (last - first) : to);
  chart.point(to);
}

// What stands on top of a chart: compactions by their shape, errors, names that were missing.
function marks(chart) {
  const { session } = app, y = 12, rows = { change: "", error: "", gap: "" };
  const found = session.changedCalls.filter((call) => call >= chart.from && call <= chart.to).length, isCrowded = found * 11 > chart.inner;
  for (const [first, last] of chart.bars) {
    const x = chart.x(first) + chart.step / 2;
    for (let call = first; call <= last; call += 1) {
      const [change] = session.changes.get(call) ?? [];
      if (change) { rows.change += isCrowded ? `M${x - 0.7} ${y - 4}h1.4v9h-1.4z` : shapeOf(change.cause, x, y); break; }
    }
    if (hasAny(session.errors, first, last)) rows.error += `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`;
    if (hasAny(session.missing, first, last)) rows.gap += `M${x - 2.5} ${EDGE.top - 3}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0`;
  }
  for (const [name, path] of Object.entries(rows)) chart.svg.append(draw("path", { class: name, d: path }));
}
function hasAny(rows, first, last) {
  for (let call = first; call <= last; call += 1) if (rows.has(call)) return true;
  return false;
}
function shapeOf(cause, x, y) {
  if (cause === "undo" || cause === "restore") return `M${x + 4} ${y - 5}v10l-8 -5z`;
  if (cause === "branch") return `M${x} ${y - 5}l5 5l-5 5l-5 -5z`;
  if (cause === "high-water" || cause === "overflow" || cause === "cold-cache" || cause === "agent") return `M${x - 5} ${y - 4}h10l-5 9z`;
  return `M${x - 4} ${y - 4}h8v8h-8z`;
}
// The lines of a session, as a band under the calls.
function lanes(chart) {
  const { session } = app, y = chart.kind.height - EDGE.bottom + 1;
  if (session.values.lines.length < 2) return;
  for (const [first, last] of chart.bars) {
    const { line } = session.calls[first];
    chart.svg.append(draw("rect", { class: line % 2 ? "lane odd" : "lane", x: chart.x(first), y, width: chart.step * ((last - first + 1) / chart.size), height: 4 }));
  }
}

// What a reader wants to know of a call, above its figures.
function callHead(number) {
  const { session } = app, call = session.calls[number], lines = [];
  const branch = session.values.lines.length > 1 ? `, branch ${call.line}` : "";
  lines.push(make("b", {}, `Call ${number}${branch}: ${session.isRecording ? `${figure(call.tokens)} tokens of messages` : `${figure(call.tokens)} of ${figure(call.limit)} tokens`}${call.bound > call.tokens ? `, by the bound ${figure(call.bound)}` : ""}`));
  for (const change of session.changes.get(number) ?? []) lines.push(make("div", {}, changeWords(change)));
  for (const error of session.errors.get(number) ?? []) lines.push(make("div", { class: "warn" }, `A call before this one had no request: ${error.text}`));
  const missing = session.missing.get(number) ?? [];
  if (missing.length) lines.push(make("div", { class: "warn" }, `Needed next, and not in this request: ${missing.slice(0, 4).map((row) => row.name ?? LEFT_OUT).join(", ")}`));
  if (call.problem) lines.push(make("div", { class: "warn" }, `It can't be rebuilt: ${call.problem}`));
  return lines;
}
function changeWords(change) {
  const name = { undo: "Undo", restore: "Restore", branch: "Branch", agent: "The agent's compaction" }[change.cause] ?? `Compaction (${shown(change.cause)})`;
  const sizes = change.before === null || change.after === null ? "" : `: ${figure(change.before)} \u2192 ${figure(change.after)} tokens ${change.cause === "agent" ? "of messages" : "by the bound"}`;
  const price = change.price ? `, price ${priced(change.price)}` : "";
  return `${name}${sizes}${price}`;
}
function rowsOf(pairs) {
  return make("ul", {}, pairs.filter(([, , value]) => value).map(([kind, label, value]) => make("li", {}, swatch(kind), label, make("b", {}, value))));
}

// -- the three charts ---------------------------------------------------------------------------------------------------

function largest([first, last]) {
  let best = first;
  for (let call = first + 1; call <= last; call += 1) if (app.session.calls[call].tokens > app.session.calls[best].tokens) best = call;
  return best;
}

function manyInOne(size) { return size > 1 ? `Each column stands for ${size} calls and shows the largest of them: zoom in to see all. ` : ""; }

const LIMIT_IN_VIEW = 2.5;
const TOKENS = {
  title: "Tokens of each call", height: 300, pick: largest,
  note: (size) => app.session.isRecording ? `Each column is one call of the agent, from the messages that it can have sent. ${manyInOne(size)}A white dot is what the provider reported: it has the system text and the tools, too, which a recording lacks. \u25bc (a stroke, where they are many) is a compaction of the agent's. Click a column to see that call message by message.` : `Each column is one request to the model, from what it was made up. ${manyInOne(size)}The dashed line is the limit. The thin line above a column is the bound that squidbot plans by: no provider should count more, and it stays below the limit. \u25bc (a stroke, where they are many) is a compaction, \u25c0 an undo or restore, \u25c6 a branch, \u25a0 another change; \u2715 a call that had no request; \u25cb a name that the model needed next and the request had not; a white dot what the provider reported. Click a column to see that call part by part.`,
  paint(chart) {
    const { session } = app, picked = chart.bars.map(largest), rows = picked.map((call) => session.calls[call]);
    const seen = session.seenGroups;
    const peak = Math.max(...rows.map((call) => Math.max(call.tokens, call.bound || 0, call.reported?.input_tokens ?? 0))), limits = Math.max(...rows.map((call) => call.limit || 0));
    // A limit far above would press all columns flat: then it is only named.
    const isFar = limits > LIMIT_IN_VIEW * peak;
    chart.axes((isFar ? peak * 1.1 : Math.max(peak, limits)) * 1.03);
    chart.stack(seen.map((group) => [group, fillOf(group), rows.map((call) => call.by[group] ?? 0)]));
    if (!session.isRecording) this.limits(chart, rows, limits, isFar);
    let reported = "";
    rows.forEach((call, at) => { if (call.reported) reported += `M${chart.x(chart.bars[at][0]) + chart.step / 2 - 2} ${chart.y(call.reported.input_tokens)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`; });
    if (reported) chart.svg.append(draw("path", { class: "reported", d: reported }));
    marks(chart);
    lanes(chart);
    chart.layersLegend(seen.map((group) => [group, GROUPS[group], group]));
  },
  // The limit of each call, and its bound: an agent's own are unknown.
  limits(chart, rows, limits, isFar) {
    let limit = "";
    rows.forEach((call, at) => { const x = chart.x(chart.bars[at][0]); limit += `${at ? "L" : "M"}${x} ${chart.y(call.limit)}H${x + chart.step}`; });
    const bound = rows.map((call, at) => `${at ? "L" : "M"}${chart.x(chart.bars[at][0]).toFixed(1)} ${chart.y(call.bound || call.tokens).toFixed(1)}h${chart.step.toFixed(1)}`).join("");
    chart.svg.append(draw("path", { class: "bound", d: bound }));
    if (isFar) chart.svg.append(draw("text", { x: EDGE.left + 4, y: EDGE.top + 10 }, `the limit, ${figure(limits)}, is above this chart`));
    else chart.svg.append(draw("path", { class: "limit", d: limit }), draw("text", { x: EDGE.left + 4, y: chart.y(rows[0].limit) + 13 }, `limit ${figure(rows[0].limit)}`));
  },
  says(number) {
    const { session } = app, call = session.calls[number];
    const reported = call.reported ? [make("div", {}, `the provider reported ${figure(call.reported.input_tokens)}`)] : [];
    return [...callHead(number), ...reported, rowsOf(session.groups.map((group) => [group, GROUPS[group], call.by[group] ? figure(call.by[group]) : ""]).reverse())];
  },
};

const COST_KINDS = [["cached", "read from the cache"], ["new", "new"], ["rewritten", "written again, though it was sent before"], ["output", "the answer"]];
const COST = {
  title: "Cost of each call", height: 220,
  note: (size) => `Prices are in ${app.money ? "money, by the price of a million input tokens" : "tokens' worth: 1 is the price of one input token that is not cached"}. ${size > 1 ? `Each column sums ${size} calls. ` : ""}${app.session.isRecording ? "What the agent paid for its own summaries is not in a recording." : "A compaction makes the next call dearer, for what stands behind the change is written again; the calls after it are cheaper."}`,
  paint(chart) {
    const { session } = app, layers = COST_KINDS.map(([name]) => [name, `var(--${name})`, chart.bars.map(([first, last]) => {
      let sum = 0;
      for (let call = first; call <= last; call += 1) sum += session.costs[call][name];
      return sum;
    })]);
    chart.axes(Math.max(...chart.bars.map((_, at) => layers.reduce((sum, [, , values]) => sum + values[at], 0))) * 1.03, pricedShort);
    chart.stack(layers);
    marks(chart);
    lanes(chart);
    chart.layersLegend(COST_KINDS.map(([name, label]) => [name, label, name]));
  },
  says(number, [first, last]) {
    const { session } = app, call = session.calls[number], cost = session.costs[number];
    const sum = COST_KINDS.reduce((all, [name]) => all + cost[name], 0);
    const also = last > first ? [make("div", { class: "dim" }, `the column sums ${calls(first, last)}`)] : [];
    return [...callHead(number), make("div", {}, `It cost ${priced(sum)}`), ...also, rowsOf(COST_KINDS.map(([name, label]) => [name, `${label}${name === "output" ? "" : `, ${figure(call[name])} tokens`}`, priced(cost[name])]))];
  },
};

const SUM_DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "6 2 1 2 1 2"];
const SUM_PAINTS = ["--accent", "--recalled", "--model", "--user", "--tool", "--other", "--pinned", "--compact"];
const SUM = {
  title: "Cost of the prompts so far, and what other policies would have cost", height: 260,
  note: () => "Each line sums the prices of the requests up to that call, without the answers: these are the same for all. \u2715 marks the first request of a policy that does not fit the window, or is missing: from there on its line is thin, and can't be compared any more. Untick a line to give the others room.",
  paint(chart) {
    const rows = sumRows().filter((row) => !app.off.has(row.name));
    const top = Math.max(1, ...rows.map((row) => row.sums[chart.to]));
    chart.axes(top * 1.03, pricedShort);
    for (const row of rows) {
      const point = (call) => `${(chart.x(call) + chart.step / chart.size).toFixed(1)} ${chart.y(row.sums[call]).toFixed(1)}`;
      const ends = chart.bars.map(([, last]) => last), split = row.failsAt ?? Infinity;
      const path = (list) => (list.length ? `M${list.map(point).join("L")}` : "");
      for (const [list, isBad] of [[ends.filter((call) => call < split), false], [ends.filter((call) => call >= split), true]]) {
        const line = draw("path", { class: isBad ? "sum unfit" : "sum", d: path(list), "stroke-dasharray": row.dash, "stroke-width": row.isThis ? 3.4 : isBad ? 1.1 : 2 });
        line.style.stroke = row.paint;
        chart.svg.append(line);
      }
      if (row.failsAt !== null && row.failsAt >= chart.from && row.failsAt <= chart.to) {
        const x = chart.x(row.failsAt) + chart.step / chart.size / 2, y = chart.y(row.sums[row.failsAt]);
        chart.svg.append(draw("path", { class: "error", d: `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` }));
      }
    }
    if (chart.width > 640) lineNames(chart, rows);
    if (chart.named?.session === app.session && chart.named.money === app.money && chart.named.off === app.off.size) return;
    chart.named = { session: app.session, money: app.money, off: app.off.size };
    chart.legend.replaceChildren(sumTable());
  },
  says(number) {
    const rows = sumRows().filter((row) => !app.off.has(row.name)).sort((one, other) => other.sums[number] - one.sums[number]);
    return [make("b", {}, `Up to call ${number}`), make("ul", {}, rows.map((row) => make("li", {}, lineSample(row), row.name, make("b", {}, priced(row.sums[number])))))];
  },
};

// The names of lines, at their ends: pushed apart where they would lie on each other.
function lineNames(chart, rows) {
  let before = Infinity;
  for (const row of [...rows].sort((one, other) => one.sums[chart.to] - other.sums[chart.to])) {
    before = Math.min(chart.y(row.sums[chart.to]) - 5, before - 13);
    chart.svg.append(draw("text", { class: "name", x: chart.width - EDGE.right - 4, y: before, "text-anchor": "end" }, row.name));
  }
}

// A difference, with its sign.
function relative(part) { return `${part > 0 ? "+" : part < 0 ? "\u2212" : ""}${whole.format(Math.abs(100 * part))} %`; }

// The sums of this session and of the policies that it is compared with.
function sumRows() {
  const { session } = app, { values } = session;
  if (session.sumRows) return session.sumRows;
  const label = values.policies.find((row) => row.is_this)?.name;
  const own = { name: label ? `this session (${shown(label)})` : "this session", price: session.calls.map((call) => call.price), isThis: true, over: [] };
  const others = values.policies.filter((row) => !row.is_this).map((row) => ({ ...row, isThis: false, over: row.over ?? row.tokens.map((tokens, at) => tokens !== null && session.calls[at] && tokens > session.calls[at].limit) }));
  session.sumRows = [own, ...others].map((row, at) => {
    const bad = session.calls.filter((call) => row.over[call.call] || row.price[call.call] === null || row.price[call.call] === undefined).length;
    const failsAt = session.calls.findIndex((call) => row.over[call.call] || row.price[call.call] === null || row.price[call.call] === undefined);
    const prices = session.calls.map((call) => row.price[call.call] ?? 0);
    return { name: row.name, isThis: row.isThis, sums: sums(prices), bad, failsAt: failsAt < 0 ? null : failsAt, paint: `var(${SUM_PAINTS[at % SUM_PAINTS.length]})`, dash: SUM_DASHES[at % SUM_DASHES.length] };
  });
  return session.sumRows;
}
function lineSample(row) {
  const line = draw("line", { x1: 0, x2: 34, y1: 5, y2: 5, "stroke-width": row.isThis ? 3.4 : 2, "stroke-dasharray": row.dash });
  line.style.stroke = row.paint;
  return draw("svg", { class: "sample", viewBox: "0 0 34 10", width: 34, height: 10, "aria-hidden": "true" }, line);
}
function sumTable() {
  const rows = sumRows(), last = app.session.calls.length - 1, own = rows[0].sums[last];
  const line = (row) => make("tr", {},
    make("td", {}, make("label", {}, make("input", { type: "checkbox", checked: !app.off.has(row.name), "data-line": row.name, change: (event) => { app.off[event.target.checked ? "delete" : "add"](row.name); redraw(); } }), lineSample(row), row.name)),
    make("td", { class: "num" }, priced(row.sums[last])),
    make("td", { class: "num" }, row.isThis || !own ? "" : relative(row.sums[last] / own - 1)),
    make("td", { class: row.bad ? "warn" : "dim" }, row.bad ? [`does not fit, or has no request, at ${many(row.bad, "call")}, first at `, callLink(row.failsAt)] : "fits at every call"));
  return make("div", { class: "wide" }, make("table", { class: "lines" }, make("thead", {}, make("tr", {}, ["policy", "all prompts", "against this session", "window"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, rows.map(line))));
}

// A price: as tokens' worth, or as money.
function priced(price) {
  if (price === null || price === undefined) return "\u2013";
  if (app.money) { const sum = (price * app.session.values.prices.per_million) / MONEY_PER; return sum && Math.abs(sum) < 0.01 ? sum.toPrecision(2) : precise.format(sum); }
  return figure(price);
}
function pricedShort(price) { return app.money ? `${+((price * app.session.values.prices.per_million) / MONEY_PER).toPrecision(3)}` : short(price); }
