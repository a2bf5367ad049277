"""Makes the pictures of README and docs, each for light and for dark pages, from reports.

`uv run --group browser python docs/pictures.py` needs Chromium. The page's own script draws them: what you see in
docs/pictures is what `squidbot replay examples/session.jsonl --window 8k --compare --html report.html` shows, what
`squidbot report` shows of the program in docs/start.md, and, for a coding agent, of an imported session.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from squidbot.cli import main
from squidbot.testing.claude_code import ClaudeTranscript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

FOLDER: Final = Path(__file__).with_name("pictures")
START: Final = Path(__file__).with_name("start.md")
EXAMPLE: Final = FOLDER.parents[1] / "examples" / "session.jsonl"
COLUMNS: Final = 960
# Name of a picture, the view that has it, and which of the charts there it is.
PICTURES: Final = (("tokens", "overview", 0), ("cost", "overview", 1), ("sums", "overview", 2), ("map", "map", 0))
RECORDED: Final = (("agents", "overview", 0),)
STARTED: Final = (("start", "overview", 0),)
# The recorded hour of a coding agent: what it has in each request beside messages, when it compacts, and roughly how
# many characters are a token. All made up.
SYSTEM_TOKENS: Final = 17_500
FULL_TOKENS: Final = 160_000
CHARS_PER_TOKEN: Final = 2.4
AGENT_CALLS: Final = 88
ASKS_SUB_AGENT: Final = 20
# Tools in the order in which they come back, each with the lines that it reads or writes.
TOOLS: Final = (("Read", 260), ("Grep", 60), ("Read", 420), ("Write", 240), ("Bash", 150), ("Read", 180), ("Bash", 320))
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


class AgentHour:
    """An hour with Claude Code: somebody has an importer rewritten; the agent compacts twice, and asks a sub-agent."""

    def __init__(self, folder: Path) -> None:
        """Begin its transcript in a folder."""
        self.talk = ClaudeTranscript(folder / "-work-app")
        self._chars = self._sent_tokens = 0

    def record(self) -> Path:
        """Write the transcript, and return its file."""
        self._say("The nightly import drops rows whose date has a time zone. Find out why, mend it, and add tests.")
        for number in range(AGENT_CALLS):
            if SYSTEM_TOKENS + self._chars / CHARS_PER_TOKEN > FULL_TOKENS:
                self._compact(number)
            if number % 17 == 16:
                seen = "\n".join(f"row {at}: the zone +0{at % 10}:00 is gone" for at in range(150))
                self._say(f"Good. Now the reader of form {number // 17}: the log of last night says\n{seen}")
            self._step(number)
        self._reports("All readers keep the zone now; 42 tests pass.")
        self.talk.answer("All readers keep the zone now; 42 tests pass.")
        return self.talk.path

    def _say(self, text: str) -> None:
        self._chars += len(text)
        self.talk.say(text)

    def _step(self, number: int) -> None:
        """Call a tool: what it is given, or its result, has more or fewer lines."""
        tool, most = TOOLS[number % len(TOOLS)]
        lines = range(most // 3 + most * (number * 37 % 100) // 100)
        code = "\n".join(f"{at:5}  row_{at} = parse(line[{at}], zone=zone_{number}_{at % 7})" for at in lines)
        given, result = {"file_path": f"readers/part_{number % 9}.py"}, code
        if tool == "Write":
            given, result = {**given, "content": code}, "The file was written."
        text = f"Step {number}: I look at what the reader of part {number % 9} does to the zone. " * (1 + number % 5)
        self._reports(text + code if tool == "Write" else text)
        if number == ASKS_SUB_AGENT:
            self._ask_sub_agent()
        else:
            self.talk.call(tool, dict(given), result, text=text)
            self._chars += len(text) + len(code)

    def _reports(self, answer: str) -> None:
        """Set the usage of the next answer: of a call that sends all that was said since the newest summary."""
        tokens, output = SYSTEM_TOKENS + round(self._chars / CHARS_PER_TOKEN), round(len(answer) / CHARS_PER_TOKEN)
        cached, self._sent_tokens = self._sent_tokens, tokens
        self.talk.usage = {"input_tokens": 4, "cache_read_input_tokens": cached}
        self.talk.usage |= {"cache_creation_input_tokens": tokens - cached, "output_tokens": output}

    def _ask_sub_agent(self) -> None:
        """Have a sub-agent look through the tests, in a thread of its own."""
        asked = "Which tests read dates with a zone?"
        self.talk.call("Task", {"prompt": asked, "subagent_type": "Explore"}, "Only test_zones.py does.")
        before, self.talk.tip = self.talk.tip, None
        own: dict[str, object] = {"isSidechain": True, "agentId": "a1b2c3"}
        self.talk.say(asked, **own)
        said = {"id": "msg_sub", "role": "assistant", "model": "claude-haiku-5", "usage": self.talk.usage}
        self.talk.add("assistant", {**said, "content": [{"type": "text", "text": "Only test_zones.py does."}]}, **own)
        self.talk.tip = before

    def _compact(self, number: int) -> None:
        summary = "\n".join(
            f"{at}. Part {at} of the readers was looked at, and its dates keep their zone." for at in range(180)
        )
        self._chars, self._sent_tokens = len(summary), SYSTEM_TOKENS
        self.talk.compact(f"Up to step {number}:\n{summary}")


def draw(page: Page, scheme: str, pictures: Sequence[tuple[str, str, int]]) -> None:
    """Write some pictures for one colour scheme."""
    for name, view, place in pictures:
        page.evaluate("view => { location.hash = `#view=${view}`; }", view)
        page.wait_for_selector(f"#{view} .plot")
        page.wait_for_timeout(500)  # the map is drawn in slices
        (FOLDER / f"{name}-{scheme}.svg").write_text(page.evaluate(AS_SVG, [view, place]) + "\n", encoding="utf-8")


def made(*arguments: str) -> None:
    """Run a command line.

    Raises:
        SystemExit: it failed; the text says why.
    """
    done = CliRunner().invoke(main, arguments)
    if done.exit_code:
        raise SystemExit(done.output)


def run_first_page(store: str) -> None:
    """Run the program of docs/start.md with another store."""
    page = START.read_text(encoding="utf-8")
    program = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    exec(program.replace("mem.db", store), {})  # noqa: S102  # a page of ours


def draw_all() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        names = ("report.html", "agent.html", "start.html", "agents.db", "start.db")
        replayed, recorded, started, store, logs = (str(Path(folder, name)) for name in names)
        run_first_page(logs)
        made("report", "logs", "--store", logs, "--out", started)
        made("replay", str(EXAMPLE), "--window", "8k", "--compare", "--html", replayed)
        hour = AgentHour(Path(folder, "projects"))
        made("import", str(hour.record()), "--store", store)
        made("report", f"claude-code/{hour.talk.session}", "--store", store, "--out", recorded)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for report, pictures in ((replayed, PICTURES), (recorded, RECORDED), (started, STARTED)):
                page = browser.new_page(viewport={"width": COLUMNS, "height": 900}, color_scheme=scheme)
                page.goto(Path(report).as_uri())
                draw(page, scheme, pictures)
        browser.close()


if __name__ == "__main__":
    draw_all()
