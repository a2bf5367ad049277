"""Labels in front of messages: where and by whom each was said, in what is sent and nowhere else (Q-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.errors import ConfigError
from squidbot.core.memories import Scope
from squidbot.core.messages import Cost, Kind, Labels, Message, Part

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.messages import Role
    from squidbot.core.ports import Codec

HERE = Scope(user="4711", channel="telegram")
ALIASES = {"telegram": ["4711"], "*": ["anna"]}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def settings(path: Path, **more: object) -> dict[str, object]:
    """Return settings under which messages are labelled."""
    return {"store": {"path": str(path / "s.db")}, "history": {"labels": True, "owner_aliases": ALIASES, **more}}


def contents(said: list[dict[str, Any]]) -> list[object]:
    """Return what is sent as the messages' contents."""
    return [one["content"] for one in said]


def test_session_labels_its_messages_by_channel_and_speaker(tmp_path: Path) -> None:
    """The owner, others by id or name, the assistant, nobody known; tools and system texts have none (Q-03)."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    given = settings(tmp_path)
    with squidbot.load(given) as engine:
        session = engine.session("s", scope=HERE)
        session.record({"role": "user", "content": "Mine."}, {"role": "assistant", "content": "", "tool_calls": [call]})
        session.record({"role": "tool", "tool_call_id": "c1", "content": "Seen."}, "So it is.")
        session.record({"role": "user", "content": "Hers."}, "Yes.", sender="berta")
        named = session.assemble({"role": "user", "content": ["Named.", IMAGE], "name": "carl"}, system="Be brief.")
        labelled = [
            "Be brief.",
            "[telegram / owner]\nMine.",
            "",
            "Seen.",
            "[telegram / assistant]\nSo it is.",
            "[telegram / berta]\nHers.",
            "[telegram / assistant]\nYes.",
            ["[telegram / carl]\nNamed.", IMAGE],
        ]
        assert contents(named.messages) == labelled
        session.record(named.incoming, "Done.")
    with squidbot.load(given) as engine:
        stored = engine.wired.store.read("s", 0, 9)
        assert [row.sender for row in stored] == ["", "", "", "", "berta", "", "carl", ""]
        assert "telegram" not in "".join(row.payload for row in stored)
        again = engine.session("s").assemble("Who?", system="Be brief.", sender="anna").messages
        assert contents(again) == [*labelled, "[telegram / assistant]\nDone.", "[unknown / owner]\nWho?"]


def test_labels_once_frozen_stay_whatever_is_set_later(tmp_path: Path) -> None:
    """And without the setting nothing is labelled; who spoke is kept all the same (Q-03)."""
    with squidbot.load(settings(tmp_path)) as engine:
        engine.session("s", scope=HERE).record({"role": "user", "content": "One."}, "Two.")
    with squidbot.load(settings(tmp_path, labels=False)) as engine:
        session = engine.session("s", scope=HERE)
        session.record({"role": "user", "content": "Three."}, "Four.", sender="berta")
        sent = contents(session.assemble("Five.").messages)
        assert sent[:2] == ["[telegram / owner]\nOne.", "[telegram / assistant]\nTwo."]
        assert sent[2:] == ["Three.", "Four.", "Five."]
        assert engine.wired.store.read("s", 2, 2)[0].sender == "berta"


def test_owner_is_looked_up_by_channel_first() -> None:
    """Another channel's alias is nobody's here; those of any channel hold in all (Q-03)."""
    aliases = {"mail": ["a"], "*": ["b"]}
    said = [Message("user", "x", "{}", "openai.chat", sender=sender) for sender in "ab"]
    assert [Labels.of("mail", "", aliases).label(one) for one in said] == ["[mail / owner]", "[mail / owner]"]
    assert [Labels.of("chat", "", aliases).label(one) for one in said] == ["[chat / a]", "[chat / owner]"]


@given(st.text(max_size=90), st.text(max_size=20))
def test_no_id_makes_another_label(sender: str, channel: str) -> None:
    """Whatever it is: one line, one pair of brackets, one stroke, and never the owner, the assistant or nobody."""
    label = Labels.of(channel, "", {}).label(Message("user", "x", "{}", "openai.chat", sender=sender))
    assert (label.splitlines(), label.count("["), label.count("]"), label.count("/")) == ([label], 1, 1, 1)
    assert label.isprintable() or not sender.isprintable() or not channel.isprintable()
    assert not label.endswith(("/ owner]", "/ assistant]"))


@pytest.mark.parametrize("sender", ["owner", "OWNER", " owner ", "[owner]", "assistant", "unknown"])
def test_names_of_roles_are_told_as_ids(sender: str) -> None:
    """Who calls himself the owner is not."""
    label = Labels("mail").label(Message("user", "x", "{}", "openai.chat", sender=sender))
    assert label.startswith("[mail / id ")


FORMS = [AnthropicMessages(), LangChain(), LLMMessages(), OpenAIChat(), OpenAIResponses(), PydanticAI()]


@pytest.mark.parametrize("codec", FORMS, ids=lambda codec: codec.tag)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_each_form_puts_the_label_in_front_of_the_text(codec: Codec, role: Role) -> None:
    """And of a cut one; it reads back as one text, and a notice stays behind (Q-03)."""
    said = codec.to_message({"role": role, "content": "Hello."})
    part = Part(Kind.MESSAGE, role, Cost(1, 1), 0, 0, said.payload, codec.tag, label="[a / b]")
    assert codec.text(codec.encode(part)) == "[a / b]\nHello."
    cut = codec.encode(part._replace(kind=Kind.SLIMMED, text="He..."))
    assert codec.text(cut) == "[a / b]\nHe..."
    if role == "user":
        noticed = codec.text(codec.encode(part._replace(notice="12:00")))
        assert noticed.startswith("[a / b]\nHello.")
        assert "12:00" in noticed
    assert codec.portable(said.payload).labelled("[a / b]").pieces[0] == ("[a / b]\nHello.",)


def test_aliases_that_are_none_are_refused_with_their_place() -> None:
    """A list for each channel."""
    with pytest.raises(ConfigError, match=r"owner_aliases"):
        squidbot.load({"history": {"owner_aliases": {"mail": 7}}})
