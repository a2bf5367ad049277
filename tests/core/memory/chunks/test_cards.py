"""Cards of files, and what an exchange does with their pieces."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memories import CARDS, Scope, refuse_misfit
from squidbot.core.memory.chunks import FILES, Chunk, DocumentCard, exchange, ids_of, memories_of, removal

ANN = Scope(user="ann", bot="squid")
CARD = DocumentCard("notes/a.md", "d1", "stamp", 5.0)
TEXT = st.text(max_size=3)
CARDS_OF = st.builds(
    DocumentCard,
    TEXT,
    TEXT,
    TEXT,
    st.floats(0, 1e10),
    TEXT,
    st.tuples(TEXT, TEXT),
    st.lists(TEXT, max_size=3).map(tuple),
)


@given(CARDS_OF)
def test_card_comes_back_as_it_was_when_it_is_kept_as_a_memory(card: DocumentCard) -> None:
    """On a shelf of its own, and as what every store keeps."""
    memory = card.memory(ANN)
    refuse_misfit(memory)
    assert DocumentCard.of(memory) == card
    assert memory.scope == ANN._replace(collection=CARDS)


def test_card_has_another_id_when_the_file_says_something_else() -> None:
    """So of two programs that replace the same card the second is refused; a stamp changes nothing."""
    same = {CARD.memory(ANN).memory_id, replace(CARD, stamp="later", asked="notes").memory(ANN).memory_id}
    others = {replace(CARD, digest="d2").memory(ANN).memory_id, CARD.memory(Scope()).memory_id}
    assert len(same) == 1
    assert len(same | others) == 3


def test_id_of_a_piece_follows_from_its_words_and_where_they_stand() -> None:
    """Not from its place: the same words twice are two; under other headings, in another file they differ."""
    pieces = [Chunk("Rain.", ("May",)), Chunk("Rain.", ("May",)), Chunk("Rain.", ("June",)), Chunk("Rain.", (), "talk")]
    ids = ids_of(pieces, "a.md", ANN)
    assert len({*ids, *ids_of(pieces, "b.md", ANN), *ids_of(pieces, "a.md", Scope())}) == 12
    assert ids_of([Chunk("Sun."), *pieces], "a.md", ANN)[1:] == ids
    memories = memories_of(pieces, CARD, ANN)
    assert [(memory.text, memory.sources[0].first_seq, memory.scope.collection) for memory in memories] == [
        ("May\nRain.", 0, FILES), ("May\nRain.", 1, FILES), ("June\nRain.", 2, FILES), ("Rain.", 3, FILES),
    ]  # fmt: skip


def test_change_takes_what_is_not_said_any_more_and_leaves_what_is() -> None:
    """What moved is written anew and as old as it was; what has not moved is not touched."""
    old = memories_of([Chunk("One."), Chunk("Two."), Chunk("Three.")], CARD, ANN)
    card = replace(CARD, chunks=tuple(one.memory_id for one in old)).memory(ANN)
    later = replace(CARD, digest="d2", time=9.0)
    new = memories_of([Chunk("One."), Chunk("Three."), Chunk("Four.", time=7.0)], later, ANN)
    done = exchange(later, ANN, new, [card], old)
    assert done.gone == (old[1].memory_id, old[2].memory_id, card.memory_id)
    assert [(memory.text, memory.time) for memory in done.memories[:-1]] == [("Three.", 5.0), ("Four.", 7.0)]
    assert done.memories[-1] == later.memory(ANN)
    assert (done.new_chunks, done.old_chunks) == (1, 1)
    assert removal([card], old[:2]).gone == (old[0].memory_id, old[1].memory_id, card.memory_id)
