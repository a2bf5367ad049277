// A session's values, and what follows from them: the parts of each call, and what became of each message.

const KEEP_EVERY = 64;

class Session {
  constructor(values) {
    this.values = values;
    // Imported from another agent's recording: squidbot made none of the calls.
    this.isRecording = values.source === "recording";
    this.calls = values.calls;
    this.messages = values.messages;
    this.parts = values.parts;
    this.groups = values.groups.filter((group) => Object.hasOwn(GROUPS, group));
    this.runs = new Map(values.lines.map((line) => [line.number, line.runs]));
    this.changes = new Map();
    for (const change of values.compactions) {
      if (change.call === null) continue;
      if (!this.changes.has(change.call)) this.changes.set(change.call, []);
      this.changes.get(change.call).push(change);
    }
    this.changedCalls = [...this.changes.keys()].sort((one, other) => one - other);
    this.errors = byCall(values.errors);
    this.missing = byCall(values.missing);
    this.copies = new Map(values.recalled.map((row) => [row.message, namedRun(row.of)]));
    this.kept = [];
    this.costs = this.calls.map((call) => this.#costs(call));
  }

  // How many messages were said when a call was made.
  said(call) {
    const { answer } = this.calls[call];
    return answer === null ? this.messages.length : Math.min(answer, this.messages.length);
  }

  // Whether a message is on a line.
  isOn(line, message) {
    const runs = this.runs.get(line);
    if (!runs) return true;
    let low = 0, high = runs.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (message < runs[middle][0]) high = middle - 1;
      else if (message > runs[middle][1]) low = middle + 1;
      else return true;
    }
    return false;
  }

  // The numbers of the parts of a call, in order.
  partsOf(call) {
    if (call < 0 || call >= this.calls.length) return [];
    let from = Math.min(Math.floor(call / KEEP_EVERY), this.kept.length - 1);
    let stack = from >= 0 ? [...this.kept[from]] : [];
    for (let at = from >= 0 ? from * KEEP_EVERY + 1 : 0; at <= call; at += 1) {
      stack.length = Math.min(stack.length, this.calls[at].keep);
      for (const part of this.calls[at].add) stack.push(part);
      if (at % KEEP_EVERY === 0 && at / KEEP_EVERY === this.kept.length) this.kept.push([...stack]);
    }
    return stack;
  }

  // What a call has that the one before had not, what it no longer has, and what it has again behind a change.
  difference(call) {
    const before = this.partsOf(call - 1), now = this.partsOf(call), { keep } = this.calls[call];
    const had = new Set(before.slice(keep)), has = new Set(now.slice(keep));
    return {
      gone: before.slice(keep).filter((part) => !has.has(part)),
      come: now.slice(keep).filter((part) => !had.has(part)),
      again: now.slice(keep).filter((part) => had.has(part)),
      kept: keep,
    };
  }

  // How large a call was: by the provider, where only a part of what was sent is recorded.
  sizeOf(call) { return (this.isRecording ? call.reported?.input_tokens : null) ?? call.tokens; }

  // The largest call: of those that the provider reported, if any.
  get largest() {
    const told = this.calls.filter((call) => call.reported);
    return (told.length ? told : this.calls).reduce((best, call) => (this.sizeOf(call) > this.sizeOf(best) ? call : best));
  }

  tokens(parts) { return parts.reduce((sum, part) => sum + this.parts[part].tokens, 0); }

  // What a call cost, in uncached input tokens.
  #costs(call) {
    const cached = Math.min(call.price, this.values.prices.read * call.cached), rest = call.price - cached;
    const fresh = call.new + call.rewritten, rewritten = fresh > 0 ? (rest * call.rewritten) / fresh : 0;
    return { cached, new: rest - rewritten, rewritten, output: call.output_price };
  }

  // What a part is, in words.
  nameOf(part) {
    const { how, level, first, last, name, kind, summary } = part;
    if (how === "note") return `${summary?.startsWith("note ") ? "" : "note "}${summary ?? span(first, last)} (${level ?? "summary"})`;
    if (how === "absent") return "the line for what is left out";
    if (how === "made") return name ? `${kind} ${name}` : kind;
    return `m${first}`;
  }

  // The groups that any call has.
  get seenGroups() { return this.savedGroups ??= this.groups.filter((group) => this.calls.some((call) => call.by[group])); }

  // How each message stood at each call; `ready` says when that is worked out.
  get states() { return this.savedStates ??= new States(this); }
  ready() { return this.savedReady ??= workOut(this.states); }

  // Which message called the tool of a result, by their order, and the results of a message that calls tools.
  pairs() { return this.savedPairs ??= findPairs(this.messages); }

  // The results of tools that a request had without their calls.
  halves() { return this.savedHalves ??= findHalves(this, this.pairs().asker); }
}

function byCall(rows) {
  const found = new Map();
  for (const row of rows) {
    const call = row.next ?? row.call;
    if (!found.has(call)) found.set(call, []);
    found.get(call).push(row);
  }
  return found;
}

// "m17-m40" -> [17, 40]; a search brings back found pieces of several, which are not named.
function namedRun(of) {
  const found = /^m(\d+)(?:-m(\d+))?$/.exec(of ?? "");
  return found ? [Number(found[1]), Number(found[2] ?? found[1])] : null;
}

const OWN = new Set(["raw", "truncated", "slimmed", "forgotten", "recalled"]);
function isOwn(part) { return part.first !== null && part.first === part.last && OWN.has(part.how); }
function stateOfCover(part) { return part.how === "absent" ? STATE.absent : STATE[part.level] ?? STATE.summary; }

// What became of some messages, call by call, as runs of the same state. It is worked out in slices.
class States {
  constructor(session, first = 0, last = session.messages.length - 1, byPart = false) {
    const count = Math.max(0, last - first + 1);
    Object.assign(this, { session, first, last, byPart, done: 0, said: first, line: null, stack: [], touched: [] });
    this.own = new Int32Array(count).fill(-1);
    this.cover = new Int32Array(count).fill(-1);
    this.pin = new Int32Array(count).fill(-1);
    this.copy = new Int32Array(count).fill(-1);
    this.marks = new Uint8Array(count);
    this.from = Array.from({ length: count }, () => []);
    this.codes = Array.from({ length: count }, () => []);
    this.by = byPart ? Array.from({ length: count }, () => []) : null;
    this.isRare = new Uint8Array(count);
    this.seen = new Uint8Array(STATES.length);
  }

  get isFinished() { return this.done >= this.session.calls.length; }

  advance(milliseconds = Infinity) {
    const until = performance.now() + milliseconds;
    while (!this.isFinished) {
      this.#call(this.done);
      this.done += 1;
      if ((this.done & 7) === 0 && performance.now() > until) break;
    }
    return this;
  }

  // The state of a message at a call.
  at(message, call) {
    if (this.session.calls[call]?.problem && message < this.session.said(call)) return STATE.unknown;
    const place = this.#place(message, call);
    return place < 0 ? STATE.blank : this.codes[message - this.first][place];
  }

  #place(message, call) {
    const from = this.from[message - this.first];
    let low = 0, high = from.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (from[middle] <= call) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  // The runs of a message: from which call to which, its state, and the part that stands for it.
  runs(message) {
    const at = message - this.first, from = this.from[at], end = this.done - 1;
    return from.map((call, place) => ({
      from: call, to: place + 1 < from.length ? from[place + 1] - 1 : end, state: this.codes[at][place],
      part: this.by ? this.by[at][place] : -1,
    }));
  }

  #call(number) {
    const call = this.session.calls[number];
    for (const part of this.stack.splice(call.keep)) this.#set(part, true);
    for (const part of call.add) { this.stack.push(part); this.#set(part, false); }
    if (call.problem) return;
    const said = Math.min(this.session.said(number), this.last + 1);
    if (call.line !== this.line && this.session.runs.size > 1) this.#touch(this.first, said - 1);
    else this.#touch(this.said, said - 1);
    this.said = Math.max(this.said, said);
    this.line = call.line;
    for (const message of this.touched) this.#note(message, number, call.line, said);
    this.touched.length = 0;
  }

  #touch(first, last) {
    for (let message = Math.max(first, this.first); message <= Math.min(last, this.last); message += 1) {
      if (this.marks[message - this.first]) continue;
      this.marks[message - this.first] = 1;
      this.touched.push(message);
    }
  }

  #set(number, isGone) {
    const part = this.session.parts[number];
    if (part.first === null) return;
    if (isOwn(part)) {
      this.#mark(this.own, part.first, part.first, number, isGone);
      const copied = part.how === "recalled" ? this.session.copies.get(part.first) : null;
      if (copied) this.#mark(this.copy, copied[0], copied[1], number, isGone);
    } else if (part.how === "note" || part.how === "absent") this.#mark(this.cover, part.first, part.last, number, isGone);
    else if (part.kind === "pin") this.#mark(this.pin, part.first, part.last, number, isGone);
  }

  #mark(list, first, last, number, isGone) {
    const end = Math.min(last, this.last);
    for (let message = Math.max(first, this.first); message <= end; message += 1) {
      const at = message - this.first;
      if (!isGone) list[at] = number; else if (list[at] === number) list[at] = -1; else continue;
      if (!this.marks[at]) { this.marks[at] = 1; this.touched.push(message); }
    }
  }

  #note(message, call, line, said) {
    const at = message - this.first;
    this.marks[at] = 0;
    if (message >= said) return;
    const [state, part] = this.#now(message, at, line), codes = this.codes[at];
    const isSame = codes.length > 0 && codes[codes.length - 1] === state;
    if (isSame && !(this.byPart && this.by[at][codes.length - 1] !== part)) return;
    this.from[at].push(call);
    codes.push(state);
    this.seen[state] = 1;
    if (this.by) this.by[at].push(part);
    if (state === STATE.recalled || state === STATE.forgotten) this.isRare[at] = 1;
  }

  #now(message, at, line) {
    const { parts, messages } = this.session;
    if (this.own[at] >= 0) return [STATE[parts[this.own[at]].how], this.own[at]];
    if (!this.session.isOn(line, message)) return [STATE.hidden, -1];
    if (this.pin[at] >= 0) return [STATE.raw, this.pin[at]];
    if (this.copy[at] >= 0) return [STATE.recalled, this.copy[at]];
    if (messages[message].flags.includes("forgotten")) return [STATE.forgotten, -1];
    return this.cover[at] >= 0 ? [stateOfCover(parts[this.cover[at]]), this.cover[at]] : [STATE.absent, -1];
  }
}

function findPairs(messages) {
  const asker = new Int32Array(messages.length).fill(-1), results = new Map(), newest = new Map();
  for (const { id, role, line, tools } of messages) {
    if (role !== "tool") { newest.set(line, role === "assistant" && tools.length ? id : -1); continue; }
    asker[id] = newest.get(line) ?? -1;
    if (asker[id] >= 0) results.set(asker[id], [...(results.get(asker[id]) ?? []), id]);
  }
  return { asker, results };
}

async function workOut(states) {
  // Newer data make it useless.
  while (!states.advance(SLICE_MS).isFinished && app.session === states.session) await pause();
  return states;
}

// Parts are looked at once, when they come into a request: what stands before them can't leave before them.
function findHalves({ messages, calls, parts }, asker) {
  const found = [], inView = new Uint8Array(messages.length);
  let stack = [];
  calls.forEach((call, number) => {
    for (const part of stack.splice(call.keep)) if (isOwn(parts[part])) inView[parts[part].first] = 0;
    for (const part of call.add) { stack.push(part); if (isOwn(parts[part])) inView[parts[part].first] = 1; }
    for (const part of call.add) {
      const { first, role } = parts[part];
      if (role === "tool" && isOwn(parts[part]) && asker[first] >= 0 && !inView[asker[first]]) found.push({ call: number, message: first });
    }
  });
  return found;
}

// The tokens' worth of calls, summed; null where a policy has no request.
function sums(prices) {
  let sum = 0;
  return Float64Array.from(prices, (price) => { sum += price ?? 0; return sum; });
}
