// The texts that lie in the page: packed in chunks, unpacked when one is asked for, the newest few kept.

const KEPT_CHUNKS = 6;

async function unpacked(element) {
  const packed = atob(element.textContent.trim());
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function embeddedTexts() {
  const chunks = [...document.querySelectorAll("script[data-first]")].map((element) => ({ element, first: Number(element.dataset.first) }));
  chunks.sort((one, other) => one.first - other.first);
  const kept = new Map();
  return async (number) => {
    const place = chunks.findLastIndex((chunk) => chunk.first <= number);
    if (place < 0) return "";
    const texts = kept.get(place) ?? unpacked(chunks[place].element);
    kept.delete(place);
    kept.set(place, texts);
    if (kept.size > KEPT_CHUNKS) kept.delete(kept.keys().next().value);
    return (await texts)[number - chunks[place].first] ?? "";
  };
}

// Give the browser a moment for its own work: it draws, scrolls and takes keys between two slices of ours.
const SLICE_MS = 12;
function pause() { return new Promise((go) => { setTimeout(go, 0); }); }

// Show a text, in steps: a very long one would hold up the page.
const FIRST_CHARACTERS = 2500, MORE_CHARACTERS = 50000;
function textBlock(number, first = FIRST_CHARACTERS, wanted = "") {
  if (number === null || number === undefined) return make("p", { class: "dim" }, LEFT_OUT);
  const block = make("pre", { class: "text", tabindex: 0 }, "\u2026");
  const box = make("div", {}, block);
  app.texts(number).then((text) => {
    let length = Math.max(first, wanted ? text.toLowerCase().indexOf(wanted.toLowerCase()) + first : 0);
    const more = make("button", { type: "button", class: "more", click: () => { length += MORE_CHARACTERS; fill(); } });
    const fill = () => {
      block.replaceChildren(...marked(text.slice(0, length), wanted));
      more.textContent = `Show more of ${figure(text.length)} characters`;
      if (text.length > length) box.append(more); else more.remove();
    };
    fill();
  }, () => block.replaceChildren("This text can't be read."));
  return box;
}

function marked(text, wanted) {
  if (!wanted) return [asNode(text)];
  const low = text.toLowerCase(), sought = wanted.toLowerCase(), pieces = [];
  // A letter whose lower case is longer would shift the places: then nothing is marked.
  if (low.length !== text.length) return [asNode(text)];
  let at = 0;
  for (let found = low.indexOf(sought); found >= 0 && pieces.length < 400; found = low.indexOf(sought, at)) {
    pieces.push(asNode(text.slice(at, found)), make("mark", {}, text.slice(found, found + sought.length)));
    at = found + sought.length;
  }
  return [...pieces, asNode(text.slice(at))];
}
