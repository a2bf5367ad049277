"""Every kind of record in one table: read by `doctor`, gone through by `forget`."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import DamagedStoreError
from squidbot.core.kinds import KINDS, unreadable
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from squidbot.core.transcript.records import RecordKind

PACKAGE = Path(squidbot.__file__).parent
# Bodies that no kind has: no JSON, JSON of another form, a name that is no field's, a value of another type.
WRONG = ["no JSON", "", "[]", "1", "null", '"x"', '{"boat": "red"}', '{"seq": "x", "name": 1, "dropped": 7, "cost": 1}']


@pytest.mark.parametrize("body", WRONG)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_record_that_holds_no_value_of_its_kind_is_damage(kind: RecordKind[object, object], body: str) -> None:
    """Named by its kind and number; `doctor` finds it, and reads on."""
    with pytest.raises(DamagedStoreError, match=r"(can't be|cannot) read") as caught:
        kind.read(Record(kind.name, 4, body))
    assert kind.name == "plan" or f"{kind.title or kind.name} 4 can't be read: " in str(caught.value)
    store = InMemoryStore()
    store.append("s", 0, (), [Record(one.name, 0, body) for one in KINDS])
    assert len(list(unreadable(store, "s"))) == len(KINDS)


def test_each_kind_stands_in_the_table_once() -> None:
    """Under a name of its own; each that the package defines."""
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names)
    defined = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RecordKind":
                name = node.args[0]
                defined.add(name.value if isinstance(name, ast.Constant) else "request")
    assert defined == set(names)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("window", '{"window_id": "a"}'),
        ("learned-window", '{"learned_for": "a", "window_tokens": "x"}'),
        ("model", '{"first_seq": -1, "model": "a"}'),
        ("model", '{"first_seq": 0, "model": null}'),
        ("pin", '{"seq": "x", "on": true}'),
        ("pin", '{"name": 1}'),
        ("pin", "{}"),
        ("pin", '{"name": "goal"}'),
        ("request", "{}"),
        ("request", '{"cost": 1}'),
        ("goal", '{"action": "dance", "text": "", "done": false, "seq": 0}'),
        ("marked", '["x", []]'),
        ("marked", "[1, 2]"),
        ("document", '{"name": 1, "text": ""}'),
        ("document", '{"name": "a", "text": 1}'),
        ("snapshot", '{"dropped": 7}'),
        ("snapshot", '{"dropped": [], "name": "x"}'),
        ("lineage", '{"other": "a"}'),
        ("lineage", '{"other": "a", "way": "b", "messages": 1, "more": 2}'),
        ("lineage", '{"other": "a", "way": "b", "messages": true}'),
        ("key", '{"digest": "a", "first_seq": 0, "last_seq": 0.5}'),
        ("journaled", '{"until_seq": 1}'),
        ("told", '{"rows": ["x"], "plans": []}'),
    ],
)
def test_value_with_a_field_of_another_type_is_damage(name: str, body: str) -> None:
    """Or with a field too many, or too few."""
    (kind,) = [one for one in KINDS if one.name == name]
    with pytest.raises(DamagedStoreError, match=" 0 can't be read: "):
        kind.read(Record(name, 0, body))


def test_bodies_are_json_without_spaces_and_words_as_they_are() -> None:
    """So that a store finds sessions by what stands in them."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        engine.session("s").pin_text("Gr\u00f6\u00dfe", "\u5bf9\u8bdd \ud800")
        (record,) = engine.wired.store.records("s", "pin")
    assert record.body == '{"name":"Gr\u00f6\u00dfe","text":"\u5bf9\u8bdd \ud800"}'
    assert json.loads(record.body)["name"] == "Gr\u00f6\u00dfe"
