// The map: messages down, calls across, and a colour for how each message was sent at each call.

const GUTTER = 7, MAP_EDGE = 18;

class MessageMap {
  constructor(root) {
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map", "aria-label": "Map of messages by calls", "aria-describedby": "map-readout" });
    this.over = draw("svg", { "aria-hidden": "true" });
    this.readout = make("div", { class: "card", id: "map-readout", role: "status" });
    this.detail = make("div");
    this.status = make("p", { class: "dim" });
    const button = (label, says, click) => make("button", { type: "button", "aria-label": says, title: says, click }, label);
    this.legend = make("ul", { class: "legend" });
    root.replaceChildren(
      make("h2", {}, "How each message was sent at each call"),
      make("div", { class: "tools" }, make("span", { class: "dim" }, "Zoom:"),
        button("+", "Zoom in", () => this.zoom(1 / 1.6, 1 / 1.6)), button("\u2212", "Zoom out", () => this.zoom(1.6, 1.6)),
        button("\u2194 +", "Zoom into calls", () => this.zoom(1 / 1.6, 1)), button("\u2195 +", "Zoom into messages", () => this.zoom(1, 1 / 1.6)),
        button("\u2190", "Earlier calls", () => moveCalls(-0.5)), button("\u2192", "Later calls", () => moveCalls(0.5)),
        button("\u2191", "Earlier messages", () => this.move(-0.5)), button("\u2193", "Later messages", () => this.move(0.5)),
        button("All", "Show all", () => keepPlace({ calls: null, messages: null }))),
      this.legend, make("div", { class: "plot" }, this.canvas, this.over), this.readout, this.status, this.detail,
      make("p", { class: "help" }, `Read it from left to right: each row is a message, and its colour says how it was sent at each call. ${app.session.isRecording ? "A message is left out after a compaction of the agent's (\u25bc): its summary stands for all before it." : "A message begins as words, is replaced with a note at a compaction (\u25bc), and the note gets shorter with age."} The stripe at the left says who wrote the message. Click a place to see what the model had of that message at that call; drag to zoom in; the wheel zooms while the map has the focus, or with Ctrl, and with Shift moves along messages.`));
    this.states = null;
    this.drag = null;
    this.#listen();
  }

  // -- what is shown ---------------------------------------------------------------------------------------------------

  paint() {
    const { session } = app;
    this.#work(session);
    if (!session.calls.length || !session.messages.length) return this.readout.replaceChildren("Nothing was sent yet.");
    const box = this.canvas.getBoundingClientRect();
    this.width = Math.max(60, Math.round(box.width || 1000));
    this.height = Math.max(60, Math.round(box.height || 420));
    [this.from, this.to] = shownCalls();
    [this.first, this.last] = this.shownMessages();
    this.#pixels();
    this.#overlay();
    this.#legend();
    this.#say();
    return undefined;
  }

  // Until all is worked out, older states are shown; if there are none, what is known so far.
  #work(session) {
    const { states } = session;
    if (app.isPrinting) states.advance();
    if (states.isFinished) { this.states = states; this.status.textContent = ""; return; }
    this.states ??= states;
    this.status.textContent = `Working out the map: ${share(states.done, session.calls.length)}`;
    if (this.waitsFor === session) return;
    this.waitsFor = session;
    const again = () => { if (app.session === session && !app.isPrinting && this.canvas.clientWidth) this.paint(); };
    const timer = setInterval(again, 250);
    session.ready().then(() => { clearInterval(timer); again(); });
  }

  shownMessages() {
    const last = app.session.messages.length - 1, [from, to] = app.place.messages ?? [0, last];
    return [Math.max(0, Math.min(from, last)), Math.max(0, Math.min(to, last))];
  }

  #pixels() {
    const { canvas, width, height, states } = this, context = canvas.getContext("2d");
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer), paints = this.#paints();
    const rows = this.last - this.first + 1, line = new Uint8Array(width);
    let before = -1;
    for (let y = 0; y < height; y += 1) {
      const low = this.first + Math.floor((y * rows) / height), high = Math.max(low, this.first + Math.ceil(((y + 1) * rows) / height) - 1);
      const message = Math.min(this.last, (low + high) >> 1);
      if (message !== before || rows > height) this.#row(line, message, low, Math.min(high, this.last), states);
      before = message;
      this.#fill(pixels, y, line, paints, message, height / rows >= 7 && Math.floor(((y + 1) * rows) / height) !== Math.floor((y * rows) / height));
    }
    context.putImageData(image, 0, 0);
  }

  // The states of one message along the calls; of its neighbours on the same row of pixels only what is rare.
  #row(line, message, low, high, states) {
    line.fill(0);
    this.#runs(line, message, states, false);
    for (let other = low; other <= high; other += 1) if (states.isRare[other]) this.#runs(line, other, states, true);
    for (const call of this.#problems()) line.fill(message < app.session.said(call) ? STATE.unknown : 0, this.x(call), Math.max(this.x(call) + 1, this.x(call + 1)));
  }

  #runs(line, message, states, isRareOnly) {
    const from = states.from[message] ?? [], codes = states.codes[message];
    for (let at = 0; at < from.length; at += 1) {
      const end = at + 1 < from.length ? from[at + 1] : states.done;
      if (end <= this.from || from[at] > this.to) continue;
      const isRare = codes[at] === STATE.recalled || codes[at] === STATE.forgotten;
      if (isRareOnly && !isRare) continue;
      const left = this.x(Math.max(from[at], this.from)), right = this.x(Math.min(end, this.to + 1));
      line.fill(codes[at], left, isRare ? Math.max(right, left + 1) : right);
    }
  }

  #problems() {
    const found = [];
    if (app.session.problems === undefined) app.session.problems = app.session.calls.filter((call) => call.problem).map((call) => call.call);
    for (const call of app.session.problems) if (call >= this.from && call <= this.to) found.push(call);
    return found;
  }

  #fill(pixels, y, line, paints, message, isEdge) {
    const start = y * this.width, { messages } = app.session, { role, flags } = messages[message];
    const gutter = flags.includes("forgotten") ? paints.gutter.forgotten : paints.gutter[role] ?? paints.gutter.other;
    for (let x = 0; x < GUTTER - 2; x += 1) pixels[start + x] = gutter;
    if (isEdge) return;
    for (let x = GUTTER; x < this.width; x += 1) {
      const code = line[x];
      // Hatching, so that these do not hang on a colour alone.
      if (code === STATE.hidden ? (x + y) % 5 > 1 : code === STATE.forgotten ? (x - y) % 4 === 0 : code === STATE.truncated && (x + y) % 6 === 0) continue;
      pixels[start + x] = paints.state[code];
    }
  }

  #paints() {
    const style = getComputedStyle(document.documentElement), pen = make("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const number = (name) => {
      pen.fillStyle = style.getPropertyValue(name).trim() || "#888";
      pen.fillRect(0, 0, 1, 1);
      return new Uint32Array(pen.getImageData(0, 0, 1, 1).data.buffer)[0];
    };
    const state = STATES.map(([name]) => (name === "blank" ? 0 : number(`--${name}`)));
    const gutter = { user: "--user", assistant: "--model", tool: "--tool", system: "--system", other: "--other", forgotten: "--forgotten" };
    return { state, gutter: Object.fromEntries(Object.entries(gutter).map(([role, name]) => [role, number(name)])) };
  }

  x(call) { return GUTTER + Math.floor(((call - this.from) * (this.width - GUTTER)) / (this.to - this.from + 1)); }
  y(message) { return ((message - this.first) * this.height) / (this.last - this.first + 1); }

  #overlay() {
    const { over, width, height } = this, { session, place } = app, parts = [];
    over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    let shapes = "";
    const changed = session.changedCalls.filter((call) => call >= this.from && call <= this.to), isCrowded = changed.length * 11 > width;
    for (const call of changed) {
      const x = this.x(call) + Math.min(6, (this.x(call + 1) - this.x(call)) / 2);
      shapes += isCrowded ? `M${x - 0.5} 0h1v8h-1z` : shapeOf(session.changes.get(call)[0].cause, x, 6);
    }
    parts.push(draw("path", { class: "change", d: shapes }));
    for (const call of ticks(this.from, this.to, width / 110)) if (Number.isInteger(call)) parts.push(draw("text", { x: Math.max(this.x(call), 26), y: height - 5 }, call));
    for (const message of ticks(this.first, this.last, height / 70)) if (Number.isInteger(message) && this.y(message) < height - MAP_EDGE) parts.push(draw("text", { x: GUTTER + 3, y: Math.max(24, this.y(message) + 11) }, `m${message}`));
    if (place.calls) parts.push(draw("rect", { class: "where", y: height - 3, height: 3, x: (this.from / session.calls.length) * width, width: Math.max(6, ((this.to - this.from + 1) / session.calls.length) * width) }));
    if (place.messages) parts.push(draw("rect", { class: "where", x: width - 3, width: 3, y: (this.first / session.messages.length) * height, height: Math.max(6, ((this.last - this.first + 1) / session.messages.length) * height) }));
    this.across = draw("path", { class: "cursor" });
    this.brush = draw("rect", { class: "brush", visibility: "hidden" });
    over.replaceChildren(...parts, this.across, this.brush);
    this.#cross();
  }

  #legend() {
    const seen = STATES.filter((_, code) => code === STATE.blank || this.states.seen[code] || (code === STATE.unknown && this.#problems().length));
    this.legend.replaceChildren(...seen.map(([name, label]) => make("li", {}, plainSwatch(name), label)));
  }

  // -- the cursor ------------------------------------------------------------------------------------------------------

  #spot(event) {
    const box = this.canvas.getBoundingClientRect(), x = ((event.clientX - box.left) * this.width) / box.width, y = ((event.clientY - box.top) * this.height) / box.height;
    const call = this.from + Math.floor(((x - GUTTER) * (this.to - this.from + 1)) / (this.width - GUTTER)), message = this.first + Math.floor((y * (this.last - this.first + 1)) / this.height);
    return { call: Math.max(this.from, Math.min(this.to, call)), message: Math.max(this.first, Math.min(this.last, message)) };
  }

  // Where the pointer is, else what was chosen.
  get spot() {
    if (this.hover) return this.hover;
    return app.place.message === null ? null : { message: Math.min(app.place.message, app.session.messages.length - 1), call: Math.min(app.place.call, app.session.calls.length - 1) };
  }

  #cross() {
    const { spot } = this;
    if (!spot || !this.across) return this.across?.setAttribute("d", "");
    const x = (this.x(spot.call) + Math.max(this.x(spot.call) + 1, this.x(spot.call + 1))) / 2, y = this.y(spot.message + 0.5);
    return this.across.setAttribute("d", `M${x} 0V${this.height}M0 ${y}H${this.width}`);
  }

  #say() {
    const { spot, states } = this, { session } = app;
    if (!spot) return this.readout.replaceChildren(make("p", { class: "dim" }, "Point at a place, or use the arrow keys."));
    const message = session.messages[spot.message], state = STATES[spot.message > states.last ? STATE.blank : states.at(spot.message, Math.min(spot.call, Math.max(0, states.done - 1)))];
    this.readout.replaceChildren(make("p", {}, plainSwatch(state[0]), " ", make("b", {}, `m${message.id}`), ` (${shown(message.role)}${message.tools.length ? `, ${shown(message.tools[0])}` : ""}, ${many(message.tokens, "token")}) ${session.isRecording && state[0] === "absent" ? "is left out: the agent's summary stands for it" : state[2]} at call ${spot.call}.`),
      make("p", { class: "tools" }, make("button", { type: "button", click: () => go({ view: "message", message: spot.message }) }, `Open message m${spot.message}`), make("button", { type: "button", click: () => go({ view: "call", call: spot.call }) }, `Open call ${spot.call}`)));
    return undefined;
  }

  // The chosen message in words and as a table: what the map says for those who do not see it.
  #choose(spot) {
    this.hover = null;
    keepPlace({ message: spot.message, call: spot.call });
  }

  detailOf() {
    const { message } = app.place, key = message === null ? "" : `${message} ${app.session.calls.length}`;
    if (this.shownDetail === key) return;
    this.shownDetail = key;
    if (message === null || message >= app.session.messages.length) this.detail.replaceChildren();
    else this.detail.replaceChildren(storyOf(message), textBlock(app.session.messages[message].text, 600));
  }

  // -- zoom ------------------------------------------------------------------------------------------------------------

  zoom(acrossFactor, downFactor, around = this.spot) {
    if (acrossFactor !== 1) zoomCalls(acrossFactor, around ? around.call + 0.5 : undefined);
    if (downFactor === 1) return;
    const width = Math.max(LEAST_CALLS, Math.round((this.last - this.first + 1) * downFactor)), middle = around ? around.message + 0.5 : (this.first + this.last + 1) / 2;
    const start = Math.round(middle - ((middle - this.first) / (this.last - this.first + 1)) * width);
    this.showMessages(start, start + width - 1);
  }
  showMessages(from, to) {
    const count = app.session.messages.length, width = Math.min(count, Math.max(LEAST_CALLS, to - from + 1)), start = Math.max(0, Math.min(Math.round(from), count - width));
    keepPlace({ messages: width >= count ? null : [start, start + width - 1] });
  }
  move(part) {
    const by = Math.max(1, Math.round((this.last - this.first + 1) * Math.abs(part))) * Math.sign(part);
    this.showMessages(this.first + by, this.last + by);
  }

  // -- events ----------------------------------------------------------------------------------------------------------

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.#moved(event));
    canvas.addEventListener("pointerleave", () => { if (!this.drag) { this.hover = null; this.#cross(); this.#say(); } });
    canvas.addEventListener("pointerdown", (event) => { if (event.button === 0 && this.states) this.drag = { x: event.clientX, y: event.clientY, spot: this.#spot(event) }; });
    canvas.addEventListener("pointerup", (event) => this.#dropped(event));
    canvas.addEventListener("pointercancel", () => { this.drag = null; this.paint(); });
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => { if (this.#key(event)) event.preventDefault(); });
  }

  #moved(event) {
    if (!app.session.calls.length || !this.across) return;
    this.hover = this.#spot(event);
    this.#cross();
    this.#say();
    if (!this.drag || Math.hypot(event.clientX - this.drag.x, event.clientY - this.drag.y) < 6) return;
    if (!this.canvas.hasPointerCapture(event.pointerId)) this.canvas.setPointerCapture(event.pointerId);
    const one = this.drag.spot, other = this.hover;
    this.drag.range = { calls: [Math.min(one.call, other.call), Math.max(one.call, other.call)], messages: [Math.min(one.message, other.message), Math.max(one.message, other.message)] };
    const { calls: across, messages: down } = this.drag.range, x = this.x(across[0]), y = this.y(down[0]);
    for (const [name, value] of Object.entries({ x, y, width: this.x(across[1] + 1) - x, height: this.y(down[1] + 1) - y, visibility: "visible" })) this.brush.setAttribute(name, value);
  }

  #dropped(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || event.button !== 0) return;
    if (!drag.range) return this.#choose(this.#spot(event));
    showCalls(...drag.range.calls);
    return this.showMessages(...drag.range.messages);
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    const by = event.deltaY > 0 ? 1.25 : 1 / 1.25;
    if (event.shiftKey) this.move(Math.sign(event.deltaY || event.deltaX) * 0.15);
    else this.zoom(by, by, this.#spot(event));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !app.session.calls.length) return false;
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0], PageUp: [0, -20], PageDown: [0, 20] }[event.key];
    const spot = this.spot ?? { message: this.first, call: this.to };
    if (by && event.shiftKey) { if (by[0]) moveCalls(by[0] * 0.25); else this.move(by[1] * 0.25); }
    else if (by) this.#step(spot, by);
    else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.6, 1 / 1.6);
    else if (event.key === "-") this.zoom(1.6, 1.6);
    else if (event.key === "0") keepPlace({ calls: null, messages: null });
    else if (event.key === "Enter") go({ view: "message", message: spot.message });
    else if (event.key === "c") go({ view: "call", call: spot.call });
    else return false;
    return true;
  }

  #step(spot, [across, down]) {
    const { calls: all, messages } = app.session;
    const call = Math.max(0, Math.min(all.length - 1, spot.call + across)), message = Math.max(0, Math.min(messages.length - 1, spot.message + down));
    if (call < this.from || call > this.to) showCalls(call - ((this.to - this.from) >> 1), call + ((this.to - this.from) >> 1));
    if (message < this.first || message > this.last) this.showMessages(message - ((this.last - this.first) >> 1), message + ((this.last - this.first) >> 1));
    this.#choose({ call, message });
  }
}

let map = null;
function mapView(root) {
  if (!map) map = new MessageMap(root);
  map.paint();
  map.detailOf();
}
