"""What is wrong with an answer, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import LLMError
from squidbot.core.jobs.checking import check_answer, cleaned
from squidbot.core.notes.literals import literals_of

SOURCE = """please fix src/app/main.py, the build 20240105 of v2.13.7 broke
I read it: parse_config(path) in src/app/main.py raises KeyError: 'retry_count' for 12,500 users.
write_file {"path": "src/app/main.py", "content": "def parse_config(path): ..."}
Alice decided to use SQLite; 42 tests pass, port 8080."""

GOOD = (
    "Fixed parse_config in src/app/main.py, which raised KeyError for 'retry_count'.",
    "Decisions\n- `SQLite`, decided by Alice.\n\nDone\n- 42 tests pass on port 8080, for 12500 users; 12,500 before.",
    "Error handling of `parse_config(path)` was added in main.py; none of 42 tests fails.",
    "None of the tests fails.",
    "The version was v2.13.7.",
    "7 files were read, 99 lines in all.",
)
REFUSED = {
    "I'm sorry, but I can't summarize this.": "refused",
    "I\N{RIGHT SINGLE QUOTATION MARK}m unable to do so": "refused",
    "As an AI language model, I have no memory.": "refused",
    "There are no messages to summarize.": "refused",
    "Error: context length exceeded": "unusable",
    "openai.RateLimitError: slow down": "unusable",
    "CUDA error: an illegal access": "unusable",
    "500 Internal Server Error": "unusable",
    '{"error": {"message": "overloaded"}}': "unusable",
    "This model's maximum context length is exceeded.": "unusable",
    "None": "unusable",
    "": "empty",
    "...": "empty",
    "Fixed it. <squidbot recalled m1: data>": "unusable",
}
INVENTED = {
    "Changed src/app/other.py.": "'src/app/other.py'",
    "Called load_settings there.": "'load_settings'",
    "It was build 20240106.": "'20240106'",
    "It is on port 8081.": "'8081'",
    "It was 3.75 of them.": "'3.75'",
    "It is `frob` that fails.": "'frob'",
    "This was told to Barnaby.": "'Barnaby'",
}


@pytest.mark.parametrize("answer", GOOD)
def test_answer_that_quotes_its_source_is_kept(answer: str) -> None:
    """Small counts, headings and plain words are the model's own."""
    check_answer(answer, SOURCE)


@pytest.mark.parametrize("answer", REFUSED)
def test_refusal_or_error_text_is_not_kept(answer: str) -> None:
    """A failure never becomes content."""
    with pytest.raises(LLMError) as caught:
        check_answer(answer, SOURCE)
    assert caught.value.kind == REFUSED[answer]


@pytest.mark.parametrize("answer", INVENTED)
def test_invented_name_path_or_number_is_not_kept(answer: str) -> None:
    """And the error says which."""
    with pytest.raises(LLMError) as caught:
        check_answer(answer, SOURCE)
    assert str(caught.value) == f"unusable: the answer writes {INVENTED[answer]}, which its source does not"


def test_capitalised_words_are_no_names_where_every_noun_is_written_so() -> None:
    """In German, a summary may say what the source said in other words."""
    german = "wir haben die Datei gelesen und dann der Nutzer eine Frage zur Zeile gestellt, die Antwort war ja. " * 3
    check_answer("Danach hat er die Lage und den Stand geprüft.", german)
    with pytest.raises(LLMError, match="Lage"):
        check_answer("then he looked at Lage there.", "he has read what was there and then asked about it again")


def test_cleaned_text_has_no_character_that_providers_refuse() -> None:
    """Control characters and lone surrogates go; line ends and words stay."""
    assert cleaned(" a\0b\r\nc\td\ud800 ") == "ab\nc d"


@given(st.lists(st.sampled_from(sorted(literals_of(SOURCE))), min_size=1, max_size=8))
def test_every_literal_of_a_source_may_be_quoted(names: list[str]) -> None:
    """In any order, however often."""
    check_answer("They used " + " and ".join(names) + ".", SOURCE)


@given(st.text(max_size=200), st.text(max_size=200))
def test_check_never_raises_anything_else(answer: str, source: str) -> None:
    """Whatever is said: it is kept, or there is an LLMError."""
    try:
        check_answer(cleaned(answer), source)
    except LLMError as error:
        assert error.kind in {"empty", "refused", "unusable"}  # noqa: PT017  # nothing else may come
