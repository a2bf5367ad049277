"""Makes the pictures of README and docs, each for light and for dark pages, from a report of the example session.

`uv run --group browser python docs/pictures.py` needs Chromium. The page's own script draws them: what you see in
docs/pictures is what `squidbot replay examples/session.jsonl --window 8k --compare --html report.html` shows.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from squidbot.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER: Final = Path(__file__).with_name("pictures")
EXAMPLE: Final = FOLDER.parents[1] / "examples" / "session.jsonl"
COLUMNS: Final = 960
# Name of a picture, the view that has it, and which of the charts there it is.
PICTURES: Final = (("tokens", "overview", 0), ("cost", "overview", 1), ("sums", "overview", 2), ("map", "map", 0))
# Returns a chart as an SVG of its own: styles as attributes, what stands in a canvas as an image, the legend below.
AS_SVG: Final = r"""
([view, place]) => {
  const plot = document.querySelectorAll(`#${view} .plot`)[place], figure = plot.parentElement;
  const title = figure.querySelector("figcaption, h2").textContent, box = plot.getBoundingClientRect();
  const NS = "http://www.w3.org/2000/svg", KEPT = { fill: "rgb(0, 0, 0)", "fill-opacity": "1", stroke: "none",
    "stroke-width": "1px", opacity: "1", "stroke-dasharray": "none", "stroke-opacity": "1", "text-anchor": "start",
    "paint-order": "normal" };
  // Computed styles become attributes; those that are as usual are left out.
  const dress = (one, other) => {
    const style = getComputedStyle(one);
    for (const name of ["class", "id", "tabindex", "role", "aria-label", "style"]) other.removeAttribute(name);
    for (const [name, usual] of Object.entries(KEPT)) {
      const value = style.getPropertyValue(name).replaceAll('"', "");
      if (value !== usual) other.setAttribute(name, value);
    }
    if (one.tagName === "text") other.setAttribute("font-size", style.fontSize);
    if (one.tagName === "pattern") other.id = one.id;
    [...one.children].forEach((child, at) => dress(child, other.children[at]));
    return other;
  };
  const root = document.createElementNS(NS, "svg"), add = (tag, given, text = "") => {
    const made = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    made.textContent = text;
    root.append(made);
  };
  const body = getComputedStyle(document.body), page = getComputedStyle(document.documentElement);
  const top = 30, width = Math.round(box.width);
  for (const one of document.querySelectorAll("pattern")) root.append(dress(one, one.cloneNode(true)));
  add("rect", { width: "100%", height: "100%", rx: 6, fill: page.backgroundColor });
  add("text", { x: 4, y: 19, "font-size": 15, "font-weight": 600, fill: body.color }, title);
  for (const one of plot.querySelectorAll("canvas, svg")) {
    const at = one.getBoundingClientRect();
    const given = { x: at.x - box.x, y: at.y - box.y + top, width: at.width, height: at.height };
    if (one.tagName === "CANVAS") add("image", { ...given, href: one.toDataURL("image/png") });
    else {
      const drawn = dress(one, one.cloneNode(true));
      for (const [name, value] of Object.entries(given)) drawn.setAttribute(name, value);
      root.append(drawn);
    }
  }
  let x = 4, y = top + Math.round(box.height) + 20;
  for (const entry of figure.querySelectorAll(".legend li")) {
    const words = entry.textContent.trim(), long = words.length * 7 + 34;
    if (x + long > width) { x = 4; y += 20; }
    const paint = getComputedStyle(entry.querySelector(".swatch *")).fill.replaceAll('"', "");
    add("rect", { x, y: y - 10, width: 12, height: 12, fill: paint });
    add("text", { x: x + 18, y, "font-size": 12.5, fill: body.color }, words);
    x += long;
  }
  const given = { xmlns: NS, viewBox: `0 0 ${width} ${y + 14}`, "font-family": "system-ui, sans-serif", role: "img",
    "aria-label": title };
  for (const [name, value] of Object.entries(given)) root.setAttribute(name, value);
  return new XMLSerializer().serializeToString(root);
}
"""


def draw(page: Page, scheme: str) -> None:
    """Write each picture for one colour scheme."""
    for name, view, place in PICTURES:
        page.evaluate("view => { location.hash = `#view=${view}`; }", view)
        page.wait_for_selector(f"#{view} .plot")
        page.wait_for_timeout(500)  # the map is drawn in slices
        (FOLDER / f"{name}-{scheme}.svg").write_text(page.evaluate(AS_SVG, [view, place]) + "\n", encoding="utf-8")


def draw_all() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        report = Path(folder) / "report.html"
        arguments = ["replay", str(EXAMPLE), "--window", "8k", "--compare", "--html", str(report)]
        done = CliRunner().invoke(main, arguments)
        if done.exit_code:
            raise SystemExit(done.output)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": COLUMNS, "height": 900}, color_scheme=scheme)
            page.goto(report.as_uri())
            draw(page, scheme)
        browser.close()


if __name__ == "__main__":
    draw_all()
