"""The system text of a session's mode, behind the host's own, and the room for answers."""

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
# Files that are not modes: texts that precede every mode.
FRONT: Final = ("mandates", "sanity")
# The beginning of a file's paragraph that says what summaries keep.
KEEP: Final = "keep:"
Paragraphs = tuple[str, ...]
KEPT_ANYHOW: Final = "decisions, results, and open points"


class PromptLibrary:
    """An engine's system texts, ours and the user's, and its settings for the room of answers."""

    def __init__(self, loaded: Loaded, hooks: Hooks) -> None:
        """Read the user's own texts; extensions give scores and room by `hooks`.

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
        """Return the template of a mode; None for "off".

        Raises:
            ConfigError: there is no such mode; the text lists the modes, and names `place`.
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
        """The things that summaries keep, by mode."""
        return {mode: template.keeps for mode, template in self.templates.items()}

    def reserved_tokens(self, window_tokens: int, most_tokens: int | None) -> int | None:
        """Return the reserve of a new window; None for the default.

        If room depends on the question, this is the largest room; the model's answers have at most `most_tokens`. If
        the parts of a request have shares by tier, and nothing is set, it is .15 of the window.

        Raises:
            ConfigError: the window is too small for shares.
        """
        settings = self.loaded.settings
        if not settings.allocation.adaptive:
            said = settings.budget.reserved_output_tokens
            by_tier = said is None and settings.allocation.layout == "tiers"
            return left_reserve_tokens(window_tokens) if by_tier else said
        from squidbot.core.budget import most_reserved_tokens  # noqa: PLC0415  # exact shares are a tenth of it all

        return most_reserved_tokens(window_tokens, settings.allocation.verbosity, self.most_tokens(most_tokens))

    def most_tokens(self, model_tokens: int | None) -> int | None:
        """Return the limit of an answer, by the model and `budget.reserved_output_tokens`."""
        said = [one for one in (model_tokens, self.loaded.settings.budget.reserved_output_tokens) if one is not None]
        return min(said, default=None)


def score_complexity(prompts: PromptLibrary, session_id: str, text: str, *, tools_mode: bool) -> float:
    """Return the complexity of the words that open a turn, 0 to 1: an extension's score, else our own."""
    given = {"session_id": session_id, "text": text, "tools_mode": tools_mode}
    for _, score in prompts.hooks.each("score_complexity", _share, **given):
        return score
    from squidbot.core.budget import score_of  # noqa: PLC0415  # as above

    return score_of(text, tools_mode=tools_mode, languages=prompts.languages)


def allocate(
    prompts: PromptLibrary, session_id: str, score: float, window: ContextWindow, *, tools_mode: bool
) -> Reserve:
    """Return the room for the answers of a new turn: an extension's choice, else our own share of the window.

    It never exceeds the window's reserve.
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
    """The system text and the room for answers of one session."""

    def __init__(
        self,
        prompts: PromptLibrary,
        window: ContextWindow,
        counter: TokenCounter,
        codecs: Mapping[str, Codec],
        mode: str | None,
    ) -> None:
        """Take the session's parts; `mode` is its chosen mode, None for none.

        Raises:
            ConfigError: there is no such mode, or not in a window of that size.
            BudgetError: its text does not fit.
        """
        self._prompts = prompts
        self._window = window
        self._counter = counter
        self._codecs = codecs
        # None: no mode was chosen. The flag says whether to search for an earlier choice.
        self._chosen = mode
        self._looks = mode is None
        # The system text of the newest request; None for none.
        self.newest: SystemPrompt | None = None
        self._made: dict[str, SystemPrompt | None] = {}
        self._prompt(self.mode)

    @property
    def mode(self) -> str:
        """The mode of the next turn; "off" for none."""
        return self._prompts.loaded.settings.prompt.mode if self._chosen is None else self._chosen

    @property
    def chosen(self) -> str | None:
        """The mode chosen for the session, as far as known; None for none."""
        return self._chosen

    @property
    def looks(self) -> bool:
        """Whether to search for a mode chosen earlier."""
        return self._looks

    def look(self, newest: LastRequest) -> None:
        """Continue in the mode that any process chose for the session earlier, if it is possible here."""
        if self._looks and newest.mode_chosen and self._has(newest.mode or OFF):
            self._chosen = newest.mode or OFF
        self._looks = False

    def choose(self, mode: str) -> None:
        """Use that mode from the next turn on.

        Raises:
            ConfigError: there is no such mode, or not in a window of that size.
            BudgetError: its text does not fit.
        """
        self._prompt(mode)
        self._chosen, self._looks = mode, False

    def inputs(
        self, given: Inputs, tools: Iterable[Mapping[str, object]], incoming: Sequence[Message], core: CoreSession
    ) -> Inputs:
        """Return a call's inputs, with the text of its mode behind the host's own, and the room for its answer.

        Both change only between turns: all requests of a turn have those of the first. With `prompt.clock`, the user's
        newest message is followed by date and time, unless the host has a notice there.

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
        """Return whether a call's inputs may change: else it gets the host's own."""
        is_on = self._looks or self._chosen is not None or self.newest is not None or self.mode != OFF
        return is_on or self._prompts.loaded.settings.allocation.adaptive

    def _mode_of(self, newest: LastRequest, *, opens: bool) -> str:
        """Return the mode of a call: within a turn that of its first request, if it is still possible."""
        held = newest.mode or OFF
        return self.mode if opens or not newest.known or not self._has(held) else held

    def _told(self, *, tools_mode: bool) -> Mode:
        chosen = self._chosen is not None
        if self.newest is None:
            return Mode(chosen=chosen)
        return Mode(self.newest.mode, chosen, f"mode {self.newest.mode}{'' if tools_mode else ', without tools'}")

    @staticmethod
    def joined(system: str, prompt: SystemPrompt | None) -> str:
        """Return a host's system text with ours behind it: the text that changes least comes first."""
        return PARAGRAPH.join(filter(None, (system, prompt.text if prompt else "")))

    def system_of(self, transcripts: TranscriptStore, session_id: str, number: int | None, system: str) -> str:
        """Return the system text of a recorded request, by its number (None: the newest), with the host's own.

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
        """Return whether a mode is possible here: it needs its text and a large enough window."""
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
        """Return the room for the answers of a turn; `question` opens it, None continues with its room."""
        prompts, window = self._prompts, self._window
        if not prompts.loaded.settings.allocation.adaptive:
            return None
        if question is None:
            # A turn that began in another window is unknown here: it gets all the room.
            return room.newest.reserve_under(window) or Reserve(window.reserved_output_tokens, 1.0)
        score = score_complexity(prompts, session_id, question, tools_mode=tools_mode)
        return allocate(prompts, session_id, score, window, tools_mode=tools_mode)

    def _question(self, room: Room, incoming: Sequence[Message]) -> str:
        """Return the text that opens the turn: the user's messages at the end."""
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
    """Return whether the host has tools: with only ours, a conversation is chat."""
    return not all(map(own_tool, tool_names(tools)))


def templates_of(loaded: Loaded) -> Mapping[str, PromptTemplate]:
    """Return the templates of all modes, ours and the user's own.

    Raises:
        ConfigError: the folder or a text can't be read, a text is empty, or its name is reserved.
    """
    folder = loaded.settings.prompt.folder
    if not folder:
        return OWN
    return _templates(Path(loaded.absolute(folder)), f"{loaded.source}.prompt.folder")


def _templates(folder: Path, place: str) -> dict[str, PromptTemplate]:
    """Return our modes and the user's, with the user's replacements of our texts.

    Raises:
        ConfigError: the folder or a text can't be read, a text is empty, or its name is reserved.
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
