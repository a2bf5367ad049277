"""A host whose user does more than talk: undo, compact, snapshots, pins, recall, another model, a process that ends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from squidbot.core.compaction.undo import RAW
from squidbot.core.errors import BudgetError, InvalidRequestError, NotFoundError, RecallError
from squidbot.core.notes.notebook import FRAGMENT, LEDGER, Ledger, Notebook
from squidbot.core.plan import PlanRecord
from squidbot.core.recall.history import History
from squidbot.core.transcript.pins import PIN, Pins

from ..rows import RENDERER
from .driver import CODEC, Host, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

    from .driver import Call

NAMES = ("one", "two")


class Act(NamedTuple):
    """Something done between two calls: what, and to what."""

    what: str
    number: int = 0


@cache
def acts() -> st.SearchStrategy[dict[int, list[Act]]]:
    """Return what is done behind which reply."""
    whats = ["undo", "compact", "snapshot", "restore", "pin", "unpin", "text", "recall", "crash"]
    numbered = st.builds(Act, st.sampled_from(whats), st.integers(0, 12))
    other = st.builds(Act, st.just("lease"), st.integers(0, 1))
    often = st.sampled_from([Act("undo"), Act("undo"), Act("snapshot"), Act("restore")])
    one = st.one_of(often, often, numbered, numbered, other)
    found = st.dictionaries(st.integers(6, 40), st.lists(one, min_size=1, max_size=3), min_size=2, max_size=10)
    first = st.dictionaries(st.integers(8, 20), st.just([Act("snapshot")]), max_size=1)
    return st.builds(lambda early, others: {**early, **others}, first, found)


@dataclass
class Done:
    """An act that brought a plan back: the plan that stood then, by its id, the one made of it, the notes behind it."""

    act: Act
    target: int
    plan: PlanRecord
    notes: tuple[str, ...]


@dataclass
class Acting(Host):
    """A host that does `acts` behind the replies of these numbers; `windows` are those of its two models, in tokens.

    With `restless` its process ends behind every call and every act. A "crash" ends it behind the next request, before
    that is recorded: the next process makes the same one.
    """

    acts: Mapping[int, Sequence[Act]] = field(default_factory=dict)
    windows: tuple[int, int] = (4096, 8192)
    restless: bool = False
    said: list[Message] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    sent: list[CoreAssembly] = field(default_factory=list)
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    pins: dict[str, Pins] = field(default_factory=dict)
    crashes: bool = False

    def call(self) -> Call:
        """Ask for a request; keep what the notes are behind it."""
        made = super().call()
        self._keep_notes()
        if self.crashes:
            self.crashes = False
            self.restart()
            again = super().call()
            assert str(again.error) == str(made.error)
            assert again.assembly is None or again.request.payloads == made.request.payloads
            assert again.assembly is None or again.request.event is None
            self.calls.pop()
        if self.restless:
            self._waiting_aside()
        return made

    def reply(self, message: Message) -> None:
        """Record a reply, then do what is to be done behind it."""
        count = len(self.store.records(self.session_id, "request"))
        self.said += [*self.pending, message]
        super().reply(message)
        made = self.calls[-1].assembly
        if made is not None and len(self.store.records(self.session_id, "request")) > count:
            self.sent.append(made)
        for act in self.acts.get(self.replies, ()):
            if self.restless:
                self.restart()
            self._do(act)
        if self.restless:
            self.restart()

    def _waiting_aside(self) -> None:
        """Do what another process may do between a request and its record: look, and write nothing."""
        other = opened(self.store, self.setup, self.session_id)
        before = self.store.head(self.session_id)
        with suppress(BudgetError, InvalidRequestError):
            other.preview()
        assert self.store.head(self.session_id) == before

    def _do(self, act: Act) -> None:
        before = self.store.head(self.session_id)
        try:
            self._did(act)
        except (BudgetError, InvalidRequestError, NotFoundError, RecallError) as error:
            self.tried.append(f"{act.what}: {error}")
            assert self.store.head(self.session_id) == before
        self._keep_notes()

    def _did(self, act: Act) -> None:
        name = NAMES[act.number % len(NAMES)]
        if act.what == "undo":
            plan = self.session.undo()
            assert plan.repeats is not None
            self._back(act, plan.repeats, plan)
        elif act.what == "restore":
            target = next((snapshot.plan_id for snapshot in self.session.snapshots() if snapshot.name == name), RAW)
            self._back(act, target, self.session.restore(name))
            assert self._pinned() == self.pins[name]
        elif act.what == "compact":
            self.session.compact()
        elif act.what == "snapshot":
            self.session.snapshot(name)
            self.pins[name] = self._pinned()
        elif act.what == "text":
            self.session.pin_text(name, f"goal {act.number}" if act.number % 3 else "")
        elif act.what == "recall":
            self._recall(act.number)
        elif act.what == "crash":
            self.crashes = True
        elif act.what == "lease":
            self.setup = replace(self.setup, window_tokens=self.windows[act.number])
            self.restart()
        else:
            self.session.pin(act.number, on=act.what == "pin")

    def _recall(self, seq: int) -> None:
        """Bring a message back: a record of it is said behind the others."""
        page = History(self.session, self.session._state.context, None, lambda *_: iter(())).recall(f"m{seq}")
        (row,) = self.store.pick(self.session_id, [page.recorded or 0])
        self.said.append(CODEC.decode(row.payload))

    def _pinned(self) -> Pins:
        return replace(PIN.state(self.store, self.session_id), count=0)

    def _back(self, act: Act, target: int, plan: PlanRecord) -> None:
        self.done.append(Done(act, target, plan, self.notes_now(plan)))

    def _keep_notes(self) -> None:
        """Keep what the notes are behind the newest plan."""
        plan = self.store.last_record(self.session_id, "plan")
        if plan is not None and plan.number not in self.notes:
            self.notes[plan.number] = self.notes_now(PlanRecord.from_json(plan.body))

    def notes_now(self, plan: PlanRecord) -> tuple[str, ...]:
        """Return what notes are made from in a new process: the ledger of what a plan merged, and what came behind."""
        book = Notebook(self.session_id, RENDERER, self.store, self.store, self.setup.settings)
        book.counts()
        ledger = book.ledger or Ledger()
        chain = []
        for one in book.pending:
            if ledger.last_seq < one.last_seq <= plan.merged_through:
                ledger = book.taking(ledger, one)
            else:
                chain.append(FRAGMENT.record(0, one).body)
        return (LEDGER.record(0, replace(ledger, fragments=0)).body, *chain)

    @property
    def no_notes(self) -> tuple[str, ...]:
        """What the notes are where nothing has been noted."""
        return (LEDGER.record(0, Ledger()).body,)

    def former(self, plan_id: int) -> CoreAssembly | None:
        """Return the newest recorded request that was made under a plan; None where there is none."""
        made = [one for one in self.sent if (one.plan.plan_id if one.plan else RAW) == plan_id]
        return made[-1] if made else None
