"""What a session says in front of the host's system text in its mode, and how much room the answers get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from squidbot.core.budget import ENGLISH, Reserve, left_reserve_tokens
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.last_request import REQUEST, LastRequest, Mode
from squidbot.core.prompts import MANDATES, MODES, OFF, OWN, PARAGRAPH, SANITY, PromptTemplate, build_prompt
from squidbot.core.text import stamp
from squidbot.core.view.marks import own_tool, tool_names
from squidbot.core.view.steps import speaks
from squidbot.wiring.extensions import HookResultError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.config import Loaded
    from squidbot.core.compaction.turn import Inputs, Room
    from squidbot.core.messages import ContextWindow, Message
    from squidbot.core.ports import Codec, TokenCounter, TranscriptStore
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.session import CoreSession
    from squidbot.wiring.extensions import Hooks


SUFFIX: Final = ".md"
# Files that are no modes: what stands in front of each.
FRONT: Final = ("mandates", "sanity")
# How a paragraph of a file begins that says what summaries keep.
KEEP: Final = "keep:"
Paragraphs = tuple[str, ...]
KEPT_ANYHOW: Final = "decisions, results, and open points"


class PromptLibrary:
    """The system texts that an engine knows, ours and the user's, and how its settings allot room for answers."""

    def __init__(self, loaded: Loaded, hooks: Hooks) -> None:
        """Read the user's own texts; `hooks` are what extensions say of scores and room.

        Raises:
            ConfigError: the folder or a text can't be read, or `prompt.mode` names no mode.
        """
        self.loaded = loaded
        self.hooks = hooks
        self.templates = templates_of(loaded)
        self.template(loaded.settings.prompt.mode, f" @ {loaded.source}.prompt.mode")
        lists = {name: words.lists for name, words in loaded.settings.allocation.words.items()}
        self.languages = tuple({"english": ENGLISH, **lists}.values())

    def template(self, mode: str, place: str = "") -> PromptTemplate | None:
        """Return what is said in a mode; None for "off".

        Raises:
            ConfigError: there is no such mode; the text lists those there are, and names `place`.
        """
        if mode != OFF and mode not in self.templates:
            raise ConfigError(f"unknown mode {mode!r:.60}, known: {', '.join((OFF, *self.templates))}{place}")
        return self.templates.get(mode)

    def prompt(self, mode: str, window_tokens: int, counter: TokenCounter) -> SystemPrompt | None:
        """Return the system text of a mode in a window; None for "off".

        Raises:
            ConfigError: there is no such mode, or not in a window of that size.
            BudgetError: its text does not fit.
        """
        template = self.template(mode)
        return build_prompt(template, window_tokens, counter) if template else None

    @property
    def keeps(self) -> dict[str, str]:
        """What summaries keep, by mode."""
        return {mode: template.keeps for mode, template in self.templates.items()}

    def reserved_tokens(self, window_tokens: int, most_tokens: int | None) -> int | None:
        """Return the reserve that a window is opened with; None for the default.

        Where answers get room by their questions it is the most that any gets; the model's answers have `most_tokens`.
        Where the parts of a request have shares by tier, and nothing is set, it is what .85 of the window leave.

        Raises:
            ConfigError: the window is too small to be shared out.
        """
        settings = self.loaded.settings
        if not settings.allocation.adaptive:
            said = settings.budget.reserved_output_tokens
            by_tier = said is None and settings.allocation.layout == "tiers"
            return left_reserve_tokens(window_tokens) if by_tier else said
        from squidbot.core.budget import most_reserved_tokens  # noqa: PLC0415  # exact shares are a tenth of it all

        return most_reserved_tokens(window_tokens, settings.allocation.verbosity, self.most_tokens(most_tokens))

    def most_tokens(self, model_tokens: int | None) -> int | None:
        """Return the most that an answer may have: what the model and `budget.reserved_output_tokens` say."""
        said = [one for one in (model_tokens, self.loaded.settings.budget.reserved_output_tokens) if one is not None]
        return min(said, default=None)


def score_complexity(prompts: PromptLibrary, session_id: str, text: str, *, tools_mode: bool) -> float:
    """Return how much the words that open a turn ask for, 0 to 1: what an extension says, else our own score."""
    given = {"session_id": session_id, "text": text, "tools_mode": tools_mode}
    for _, score in prompts.hooks.each("score_complexity", _share, **given):
        return score
    from squidbot.core.budget import score_of  # noqa: PLC0415  # as above

    return score_of(text, tools_mode=tools_mode, languages=prompts.languages)


def allocate(
    prompts: PromptLibrary, session_id: str, score: float, window: ContextWindow, *, tools_mode: bool
) -> Reserve:
    """Return the room for the answers of a turn that opens: what an extension says, else our own share of the window.

    It is never more than the window was opened with.
    """
    from squidbot.core.budget import reserve_for  # noqa: PLC0415  # as above

    settings = prompts.loaded.settings
    own = reserve_for(
        score,
        window_tokens=window.window_tokens,
        tools_mode=tools_mode,
        verbosity=settings.allocation.verbosity,
        most_tokens=prompts.most_tokens(settings.model(window.model).max_tokens),
    )
    given = {"session_id": session_id, "score": score, "window_tokens": window.window_tokens, "tools_mode": tools_mode}
    for _, tokens in prompts.hooks.each("allocate", _room, **given, reserved_tokens=own.tokens):
        return own._replace(tokens=min(tokens, window.reserved_output_tokens))
    return own


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise HookResultError(f"{value!a:.40} is not a score from 0 to 1")
    return round(float(value), 3)


def _room(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise HookResultError(f"{value!a:.40} is not a number of tokens")
    return int(value)


class SessionPrompt:
    """The same for one session."""

    def __init__(
        self,
        prompts: PromptLibrary,
        window: ContextWindow,
        counter: TokenCounter,
        codecs: Mapping[str, Codec],
        mode: str | None,
    ) -> None:
        """Take what a session has; `mode` is the one that is chosen for it, None for none.

        Raises:
            ConfigError: there is no such mode, or not in a window of that size.
            BudgetError: its text does not fit.
        """
        self._prompts = prompts
        self._window = window
        self._counter = counter
        self._codecs = codecs
        # None: nobody chose one. Whether a choice that was made before is still to be looked for.
        self._chosen = mode
        self._looks = mode is None
        # What the newest request has in front; None for nothing.
        self.newest: SystemPrompt | None = None
        self._made: dict[str, SystemPrompt | None] = {}
        self._prompt(self.mode)

    @property
    def mode(self) -> str:
        """The mode of the next turn; "off" for none."""
        return self._prompts.loaded.settings.prompt.mode if self._chosen is None else self._chosen

    @property
    def chosen(self) -> str | None:
        """The mode that somebody chose for the session, as far as it was looked for; None for none."""
        return self._chosen

    @property
    def looks(self) -> bool:
        """Whether a mode that was chosen for the session before is still to be looked for."""
        return self._looks

    def look(self, newest: LastRequest) -> None:
        """Go on in the mode that was chosen for the session before, by whatever process, if it can be had here."""
        if self._looks and newest.mode_chosen and self._has(newest.mode or OFF):
            self._chosen = newest.mode or OFF
        self._looks = False

    def choose(self, mode: str) -> None:
        """Have the turns from the next one on in that mode.

        Raises:
            ConfigError: there is no such mode, or not in a window of that size.
            BudgetError: its text does not fit.
        """
        self._prompt(mode)
        self._chosen, self._looks = mode, False

    def inputs(
        self, given: Inputs, tools: Iterable[Mapping[str, object]], incoming: Sequence[Message], core: CoreSession
    ) -> Inputs:
        """Return what a call is given, with the text of its mode behind the host's own, and the room for its answer.

        Both change only where a turn opens: inside of one they are as in its first request. With `prompt.clock` date
        and time are said behind the user's newest message, if the host says nothing there.

        Raises:
            StoreError: the store failed.
        """
        if self._prompts.loaded.settings.prompt.clock and given.notice is None and any(map(speaks, incoming)):
            given = replace(given, notice=f"[{stamp(given.now)} UTC]")
        if not self._adds_something():
            return given
        room = core.room()
        self.look(room.newest)
        opens = speaks(incoming[-1]) if incoming else room.standing.at_turn
        tools_mode = has_host_tools(tools)
        question = self._question(room, incoming) if opens else None
        self.newest = self._prompt(self._mode_of(room.newest, opens=opens))
        return replace(
            given,
            system=self.joined(given.system, self.newest),
            mode=self._told(tools_mode=tools_mode),
            reserve=self._reserve(core.session_id, room, question, tools_mode=tools_mode),
        )

    def _adds_something(self) -> bool:
        """Return whether a call has to be looked at: else it is given what the host gave."""
        is_on = self._looks or self._chosen is not None or self.newest is not None or self.mode != OFF
        return is_on or self._prompts.loaded.settings.allocation.adaptive

    def _mode_of(self, newest: LastRequest, *, opens: bool) -> str:
        """Return the mode of a call: inside of a turn that of its first request, if it can still be had."""
        held = newest.mode or OFF
        return self.mode if opens or not newest.known or not self._has(held) else held

    def _told(self, *, tools_mode: bool) -> Mode:
        chosen = self._chosen is not None
        if self.newest is None:
            return Mode(chosen=chosen)
        return Mode(self.newest.mode, chosen, f"mode {self.newest.mode}{'' if tools_mode else ', without tools'}")

    @staticmethod
    def joined(system: str, prompt: SystemPrompt | None) -> str:
        """Return a host's system text with ours behind it: what changes least stands in front."""
        return PARAGRAPH.join(filter(None, (system, prompt.text if prompt else "")))

    def system_of(self, transcripts: TranscriptStore, session_id: str, number: int | None, system: str) -> str:
        """Return the system text that a recorded request had, by its number (None: the newest), with the host's own.

        Raises:
            StoreError: the store failed.
        """
        if number is None:
            last = transcripts.last_record(session_id, REQUEST)
            found = [last] if last else []
        else:
            found = [one for one in transcripts.records(session_id, REQUEST, number)[:1] if one.number == number]
        mode = LastRequest.of(found[0]).mode if found else ""
        return self.joined(system, self._prompt(mode)) if mode and self._has(mode) else system

    def _has(self, mode: str) -> bool:
        """Return whether a mode can be had here: not in another window, or without its text."""
        try:
            self._prompt(mode)
        except (ConfigError, BudgetError):
            return False
        return True

    def _prompt(self, mode: str) -> SystemPrompt | None:
        if mode not in self._made:
            self._made[mode] = self._prompts.prompt(mode, self._window.window_tokens, self._counter)
        return self._made[mode]

    def _reserve(self, session_id: str, room: Room, question: str | None, *, tools_mode: bool) -> Reserve | None:
        """Return the room for the answers of a turn; `question` opens it, None: it goes on with what it was given."""
        prompts, window = self._prompts, self._window
        if not prompts.loaded.settings.allocation.adaptive:
            return None
        if question is None:
            # Of a turn that this window did not open nothing is known: it gets all.
            return room.newest.reserve_under(window) or Reserve(window.reserved_output_tokens, 1.0)
        score = score_complexity(prompts, session_id, question, tools_mode=tools_mode)
        return allocate(prompts, session_id, score, window, tools_mode=tools_mode)

    def _question(self, room: Room, incoming: Sequence[Message]) -> str:
        """Return what opens the turn: the user's words at the end."""
        said: list[str] = []
        for message in reversed(incoming):
            if not speaks(message):
                return "\n".join(reversed(said))
            said.append(message.text)
        for step in reversed(room.standing.tail.steps):
            if not step.is_user:
                break
            said += [self._codecs[row.codec].decode(row.payload).text for row in reversed(step.messages)]
        return "\n".join(reversed(said))


def has_host_tools(tools: Iterable[Mapping[str, object]]) -> bool:
    """Return whether any tool is the host's: with ours alone a conversation is chat."""
    return not all(map(own_tool, tool_names(tools)))


def templates_of(loaded: Loaded) -> Mapping[str, PromptTemplate]:
    """Return what is said in each mode: ours, and the user's own texts.

    Raises:
        ConfigError: the folder or a text can't be read, says nothing, or has a name that is taken.
    """
    folder = loaded.settings.prompt.folder
    if not folder:
        return OWN
    return _templates(Path(loaded.absolute(folder)), f"{loaded.source}.prompt.folder")


def _templates(folder: Path, place: str) -> dict[str, PromptTemplate]:
    """Return our modes and the user's, each with what the user puts in place of our words.

    Raises:
        ConfigError: the folder or a text can't be read, says nothing, or has a name that is taken.
    """
    read = _read(folder, place)
    if OFF in read:
        raise ConfigError(f"{OFF} is not allowed as a mode name: rename {OFF}{SUFFIX} @ {place}")
    empty = [name for name, paragraphs in read.items() if not paragraphs and name not in FRONT]
    if empty:
        raise ConfigError(f"{empty[0]}{SUFFIX} is empty @ {place}")
    front = read.pop(FRONT[0], MANDATES), read.pop(FRONT[1], SANITY)
    own = {mode: replace(template, mandates=front[0], sanity=front[1]) for mode, template in OWN.items()}
    return {**own, **{mode: _template(mode, paragraphs, front) for mode, paragraphs in read.items()}}


def _read(folder: Path, place: str) -> dict[str, Paragraphs]:
    """Return the paragraphs of each file; raises as `_templates`."""
    try:
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*{SUFFIX}"))}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read it: {error} @ {place}") from error
    if not texts:
        raise ConfigError(f"no *{SUFFIX} files in {folder} @ {place}")
    return {name: tuple(filter(None, map(str.strip, text.split("\n\n")))) for name, text in texts.items()}


def _template(mode: str, paragraphs: Paragraphs, front: tuple[Paragraphs, Paragraphs]) -> PromptTemplate:
    kept = next((one for one in paragraphs if one.lower().startswith(KEEP)), "")
    keeps = " ".join(kept[len(KEEP) :].split()).rstrip(".") or MODES.get(mode, KEPT_ANYHOW)
    return PromptTemplate(mode, paragraphs, keeps, *front)
