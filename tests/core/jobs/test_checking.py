# ruff: noqa: RUF001  # other languages stand in their own letters
"""What is wrong with an answer, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import LLMError
from squidbot.core.literals import literals_of
from squidbot.core.summaries import check_answer, cleaned

SOURCE = """please fix src/app/main.py, the build 20240105 of v2.13.7 broke
I read it: parse_config(path) in src/app/main.py raises KeyError: 'retry_count' for 12,500 users.
write_file {"path": "src/app/main.py", "content": "def parse_config(path): ..."}
Alice decided to use SQLite; 42 tests pass, port 8080."""

GOOD = (
    "Fixed parse_config in src/app/main.py, which raised KeyError for 'retry_count'.",
    "Decisions\n- `SQLite`, decided by Alice.\n\nDone\n- 42 tests pass on port 8080, for 12500 users; 12,500 before.",
    "Error handling of `parse_config(path)` was added in main.py; none of 42 tests fails.",
    "None of the 42 tests of main.py fails.",
    "The version was v2.13.7.",
    "7 files were read beside main.py, 99 lines in all.",
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
# Refusals, errors and empty phrases as models and their servers write them between the marks of a summary.
FAILURES = {
    "en": (
        "I'm sorry, but I can't help with that.", "Insufficient quota. Please check your plan and billing details.",
        "[content filtered]", "The request timed out.", "Sure! Please provide the text you would like me to summarize.",
        "Of course! Could you share the conversation you'd like summarized?", "I cannot assist with this request.",
        "Rate limit reached for requests", "No content available.", "This content was blocked by our safety system.",
        "Here is the summary you asked for:", "The model is currently overloaded, try again later.",
        "Upstream connect error or disconnect before headers", "<no summary>", "Done.", "Understood, how can I help?",
    ),
    "de": (
        "Tut mir leid, dabei kann ich nicht helfen.", "Es tut mir leid, aber das ist nicht möglich.",
        "Leider kann ich diese Anfrage nicht bearbeiten.", "Bitte geben Sie den Text ein, den ich zusammenfassen soll.",
        "Zeitüberschreitung der Anforderung.", "Als KI-Sprachmodell darf ich das nicht.",
    ),
    "fr": (
        "Désolé, je ne peux pas vous aider.", "Je ne suis pas en mesure de traiter cette demande.",
        "Veuillez fournir le texte à résumer.", "Délai d'attente dépassé.",
    ),
    "es": (
        "Lo siento, no puedo ayudar con eso.", "Por favor, proporciona el texto que quieres resumir.",
        "Se ha agotado el tiempo de espera.", "Como modelo de lenguaje, no tengo acceso a ello.",
    ),
    "pt": (
        "Desculpe, não posso ajudar com isso.", "Por favor, forneça o texto para resumir.",
        "Infelizmente, não consigo fazer isso.", "Cota insuficiente.",
    ),
    "ru": (
        "Извините, я не могу с этим помочь.",
        "К сожалению, я не могу выполнить этот запрос.",
        "Превышено время ожидания.",
        "Пожалуйста, предоставьте текст.",
    ),
    "zh": (
        "抱歉，我无法协助。", "对不起，我不能回答这个问题。",
        "请提供您要总结的文本。", "请求超时，请稍后再试。",
    ),
    "ja": (
        "申し訳ございませんが、お手伝いできません。",
        "要約するテキストを提供してください。",
        "エラー：時間切れです。",
        "残念ながら、それはできません。",
    ),
}  # fmt: skip
# A talk that names nothing, and what may stand for it.
TALKS = {
    "en": (
        (
            "please look at the garden with me, i do not know what to plant. it can be tulips or herbs. i would "
            "help you with the herbs first, they need little water and grow in the shade."
        ),
        "They talked about the garden: herbs first, since these need little water, and tulips later.",
    ),
    "de": (
        (
            "ich weiß nicht, was ich im Garten pflanzen kann. Mir ist das nicht so wichtig. Dann nimm Kräuter, sie "
            "brauchen wenig Wasser und wachsen auch im Schatten. Rosen kann man später pflanzen."
        ),
        "Es ging um den Garten: erst Kräuter, die wenig Wasser brauchen, Rosen später.",
    ),
    "fr": (
        (
            "je ne sais pas quoi planter dans le jardin. commence par des herbes, elles demandent peu d'eau. les roses "
            "viendront plus tard."
        ),
        "Pour le jardin : des herbes, qui demandent peu d'eau, puis des roses.",
    ),
    "es": (
        "no sé qué plantar en el jardín. empieza con hierbas, que piden poca agua. las rosas pueden esperar.",
        "En el jardín se plantan hierbas, que piden poca agua; las rosas esperan.",
    ),
    "pt": (
        "não sei o que plantar no jardim. comece com ervas, que pedem pouca água. as rosas podem esperar.",
        "No jardim: ervas primeiro, pedem pouca água; as rosas depois.",
    ),
    "ru": (
        "я не знаю, что посадить в саду. начни с трав, им нужно мало воды. розы подождут.",
        "В саду начать с трав: им нужно мало воды, розы подождут.",
    ),
    "zh": (
        "我不知道花园里种什么。先种香草，它们需要的水很少。玫瑰可以以后再种。",
        "花园里先种香草，需要的水少；玫瑰以后再种。",
    ),
    "ja": (
        "庭に何を植えるか分からない。まずハーブを植え、水は少なくていい。バラは後でいい。",
        "庭にはまずハーブを植える。水は少ない。バラは後で。",
    ),
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


@pytest.mark.parametrize("source", [SOURCE, *(talk for talk, _ in TALKS.values())], ids=["names", *TALKS])
def test_failure_of_a_model_stands_for_nothing(source: str) -> None:
    """46 of them in eight languages, between the right marks: whether a source names files, or nothing at all."""
    failures = [one for some in FAILURES.values() for one in some]
    assert len(failures) == len(set(failures)) == 46
    assert [failure for failure in failures if is_kept(failure, source)] == []


def is_kept(answer: str, source: str) -> bool:
    """Return whether an answer may stand for a source."""
    try:
        check_answer(answer, source)
    except LLMError:
        return False
    return True


@pytest.mark.parametrize("language", TALKS)
def test_words_that_carry_content_decide_where_a_source_names_nothing(language: str) -> None:
    """In any language; what is said of another talk is refused."""
    talk, told = TALKS[language]
    assert [name for name, (other, _) in TALKS.items() if is_kept(told, other)] == [language]
    assert not is_kept(told, SOURCE)
    assert is_kept(f"{told} main.py", f"{talk} main.py")


def test_source_that_names_one_file_has_it_named() -> None:
    """However well the words fit."""
    talk, told = TALKS["en"]
    assert is_kept(told, talk)
    assert not is_kept(told, f"{talk} see main.py")


def names(first: int, count: int) -> str:
    """Return so many names of files in words."""
    return " and ".join(f"src/part_{number:03}.py" for number in range(first, first + count))


def test_long_text_may_write_one_name_in_ten_that_its_source_does_not() -> None:
    """And forms that it put together of what stands there; a short one may not, and neither one of another source."""
    source = f"They read {names(100, 60)}, and could save and load."
    check_answer(f"They can save/load {names(100, 40)}.", source)
    check_answer(f"Changed {names(100, 40)}, then {names(700, 4)}.", source)
    with pytest.raises(LLMError, match=r"src/part_70\d\.py"):
        check_answer(f"Changed {names(100, 40)}, then {names(700, 5)}.", source)
    with pytest.raises(LLMError, match=r"src/part_700\.py"):
        check_answer(f"Changed {names(100, 20)}, then {names(700, 1)}.", source)


def test_text_that_goes_on_an_older_one_is_kept_where_it_names_what_its_source_says_often() -> None:
    """The host's own summary stands before its source begins: a quarter of the names are from there."""
    often, once = f"{names(100, 30)} " * 3, names(200, 60)
    older = f"Before that {names(700, 13)}. Then {names(100, 27)}."
    check_answer(older, f"{often}{once}")
    with pytest.raises(LLMError, match="which its source does not"):
        check_answer(older, f"{names(100, 60)} {names(800, 30) * 3}")


def test_more_names_ask_for_more_names() -> None:
    """A source full of names has one of them in any sentence."""
    assert not is_kept("It was about src/part_100.py.", names(100, 40))
    assert is_kept("It was about src/part_100.py, then part_101.py.", names(100, 40))


COMPACTIONS = Path(__file__).resolve().parents[4] / "shared" / "data" / "compactions"


@pytest.mark.parametrize("others", [1, pytest.param(23, marks=pytest.mark.slow)])
def test_what_models_really_wrote_is_kept_for_its_own_source_alone(others: int) -> None:
    """24 sessions of a coding agent that were compacted by its own model, most of them on one repository."""
    files = sorted(COMPACTIONS.glob("c-*.json"))
    if not files:
        pytest.skip("needs ../shared/data/compactions")
    cases = [json.loads(file.read_text(encoding="utf-8")) for file in files][: None if others > 1 else 2]
    sources = ["\n".join(map(said, case["before"])) for case in cases]
    for number, case in enumerate(cases):
        carried = cleaned("\n".join(map(said, case["carried"])))
        check_answer(carried, sources[number])
        for step in range(1, min(others, len(cases) - 1) + 1):
            assert not is_kept(carried, sources[(number + step) % len(cases)]), (number, step)


def said(message: str | dict[str, Any]) -> str:
    """Return what a recorded message says and calls."""
    if isinstance(message, str):
        return message
    calls = (f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or ())
    return "\n".join([str(message.get("content") or ""), *calls])


@pytest.mark.parametrize("answer", INVENTED)
def test_invented_name_path_or_number_is_not_kept(answer: str) -> None:
    """And the error says which."""
    with pytest.raises(LLMError) as caught:
        check_answer(answer, SOURCE)
    assert str(caught.value) == f"unusable: the answer has {INVENTED[answer]}, which its source does not"


def test_capitalised_words_are_no_names_where_every_noun_is_written_so() -> None:
    """In German, a summary may say what the source said in other words."""
    german = "wir haben die Datei gelesen und dann der Nutzer eine Frage zur Zeile gestellt, die Antwort war ja. " * 3
    check_answer("Danach hat der Nutzer die Lage und den Stand der Datei geprüft.", german)
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
