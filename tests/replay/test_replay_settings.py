"""What a replay is told: prices, profiles, modes, counters and stores."""

from __future__ import annotations

import base64
import json
import math
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from squidbot.cli import main
from squidbot.codecs.transcripts import read_transcripts
from squidbot.config.presets import profiles, shipped
from squidbot.core.budget import PolicyCaps
from squidbot.core.errors import BudgetError, ConfigError, DamagedStoreError
from squidbot.core.plan import Prices
from squidbot.core.settings import STRATEGIES, HistorySettings, strategy
from squidbot.replay.metrics import Tally
from squidbot.replay.recording import CODECS, with_system_text
from squidbot.replay.results import on_front
from squidbot.replay.rivals import RIVALS
from squidbot.replay.runner import Places, conversations_of, run
from squidbot.replay.terms import (
    SCORING,
    Charges,
    Terms,
    charges_of,
    open_counter,
    open_replay_store,
    profile_terms,
    prompt_of,
    terms_for,
)
from squidbot.testing import made_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.replay.runner import ReplayOutcome, Results


# -- a replay billed by other prices: what a request costs, what is planned, what is said of it -----------------------

SESSION = Path(__file__).parents[2] / "examples" / "session.jsonl"


@cache
def replayed(*options: str) -> Result:
    """Return what a replay of a short conversation, the same in every test, printed."""
    return CliRunner().invoke(main, ["replay", "talk.jsonl", "--window", "3k", *options])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the beginning of the sample, and no settings."""
    monkeypatch.chdir(tmp_path)
    lines = SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("talk.jsonl").write_text("".join(lines[:60]), encoding="utf-8")


# -- what is charged --------------------------------------------------------------------------------------------------


def test_scoring_is_what_the_scorer_of_dumps_bills() -> None:
    """0.1, 1.25 and 5, for 300 seconds, from the first token; the shipped entry of that name is the same."""
    assert SCORING.prices == Prices(0.1, 1.25, 5.0, 0)
    assert SCORING.ttl_seconds == 300.0
    named = charges_of("default")
    assert (named.prices, named.ttl_seconds) == (SCORING.prices, SCORING.ttl_seconds)
    assert terms_for(8_000, None, "balanced", open_counter("classes"), "tokens").charges is SCORING
    assert SCORING.planned(HistorySettings()) == HistorySettings()


def test_request_below_the_least_that_is_cached_costs_its_tokens() -> None:
    """Nothing of it is read or written; a longer one reads nothing of a part that is shorter."""
    charges = Charges("x", "", Prices(0.1, 1.25, 5.0, 1024), 300.0)
    assert charges.request(1023, 0) == 1023.0
    assert charges.request(2000, 1500) == pytest.approx(150 + 625)
    assert (charges.cached(1023), charges.cached(1024)) == (0, 1024)


@given(tokens=st.integers(0, 10**6), share=st.floats(0, 1), name=st.sampled_from(sorted(shipped())))
def test_cached_tokens_never_make_a_request_dearer(tokens: int, share: float, name: str) -> None:
    """And no request is paid for being sent."""
    charges = charges_of(name)
    cached = charges.cached(int(share * tokens))
    assert 0 <= charges.request(tokens, cached) <= charges.request(tokens, 0)


def test_entries_of_squidbot_toml_are_known(tmp_path: Path) -> None:
    """Those of the current folder, beside the shipped ones."""
    (tmp_path / "squidbot.toml").write_text("[price_table.mine]\nread = 0.2\nttl_seconds = inf\n", encoding="utf-8")
    assert charges_of("mine") == Charges("mine", "", Prices(0.2, 1.25, 5.0, 0), math.inf)
    with pytest.raises(ConfigError, match=r"^--prices: unknown 'your', known: default, .*, mine$"):
        charges_of("your")


# -- what comes of it -------------------------------------------------------------------------------------------------


def terms_of(*options: str) -> dict[str, Any]:
    """Return what a replay says as JSON."""
    found: dict[str, Any] = json.loads(replayed("--json", *options).output)
    return found


def test_replay_plans_and_bills_by_the_entry_that_is_named() -> None:
    """Free reads cost less, and pay for no event; the default stays what it is."""
    plain, named, free = terms_of(), terms_of("--prices", "default"), terms_of("--prices", "llama.cpp")
    assert plain["bite"] == named["bite"]
    assert [event["price"] for event in plain["events"]] == [event["price"] for event in named["events"]]
    assert free["bite"] < plain["bite"]
    assert all(event["price"]["break_even_requests"] is None for event in free["events"] if event["price"])
    assert plain["prices"] == {
        "name": "default",
        "as_of": None,
        "read": 0.1,
        "write": 1.25,
        "output": 5.0,
        "least_tokens": 0,
        "ttl_seconds": 300.0,
        "per_million": None,
    }
    assert free["prices"]["ttl_seconds"] is None
    assert free["prices"]["as_of"] == shipped()["llama.cpp"].as_of


def test_small_requests_gain_nothing_from_a_cache_that_takes_only_large_ones() -> None:
    """A window of 3,000 tokens under Gemini's 4,096: every token costs 1."""
    found = terms_of("--prices", "gemini")
    assert found["reuse"] == 0.0
    assert found["bite"] == pytest.approx(found["mean_tokens"])


def test_text_names_the_prices_where_they_are_not_the_usual_ones() -> None:
    """With their day; and the cost of the columns follows them."""
    assert "prices" not in replayed().output
    result = replayed("--prices", "openai", "--compare")
    assert result.exit_code == 0, result.output
    assert "prices openai of 2026-11-05" in " ".join(result.output.split())
    assert "cached 0.1, new 1; summaries in 1, out 8" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_unknown_prices_are_a_usage_error_that_lists_the_known_ones() -> None:
    """Before anything is read."""
    result = replayed("--prices", "antropic")
    assert result.exit_code == 2
    assert "--prices: unknown 'antropic', known: default, anthropic, " in result.output


# -- the front --------------------------------------------------------------------------------------------------------


def row(cost: float, recall: float, *, calls: int = 10, over: int = 0, pairs: int = 0) -> Tally:
    """Return a policy with this cost and recall."""
    needed, held = Counter({0: 1000}), Counter({0: round(1000 * recall)})
    return Tally(calls=calls, over=over, pairs_broken=pairs, billed=cost * calls, needed=needed, held=held)


def test_front_is_what_no_sound_policy_beats_in_both() -> None:
    """Cheap and forgetful, dear and complete, and what lies between on the edge."""
    rows = [row(100, 0.5), row(200, 0.9), row(200, 0.8), row(250, 0.9), row(300, 0.95)]
    assert on_front(rows) == (True, True, False, False, True)


def test_policies_that_do_not_fit_or_fail_are_on_no_front_and_beat_nobody() -> None:
    """Over the window, with parted pairs, or with calls for which there was no request."""
    rows = [row(10, 1.0, over=1), row(10, 1.0, pairs=1), row(10, 1.0, calls=9), row(500, 0.1)]
    assert on_front(rows) == (False, False, False, True)
    assert on_front([]) == ()


def test_equal_policies_are_on_the_front_together() -> None:
    """Neither is better in anything."""
    assert on_front([row(100, 0.5), row(100, 0.5)]) == (True, True)


def test_front_without_any_literal_is_the_cheapest() -> None:
    """Nothing was needed: all recall the same."""
    bare = [
        Tally(calls=1, billed=2.0),
        Tally(calls=1, billed=1.0),
    ]
    assert on_front(bare) == (False, True)


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.booleans()), max_size=9))
def test_every_sound_policy_is_on_the_front_or_beaten_by_one_that_is(points: list[tuple[int, int, bool]]) -> None:
    """And nobody on the front beats another one there."""
    rows = [row(cost, recall / 20, over=int(unsound)) for cost, recall, unsound in points]
    front = [point for point, on in zip(points, on_front(rows), strict=True) if on]
    assert all(not unsound for _, _, unsound in front)
    for cost, recall, unsound in points:
        assert unsound or any(other[0] <= cost and other[1] >= recall for other in front)
    assert not any(
        one[:2] != other[:2] and one[0] <= other[0] and one[1] >= other[1] for one in front for other in front
    )


def test_comparison_marks_the_front_in_text_and_in_json() -> None:
    """The same policies in both."""
    text, found = replayed("--compare").output, terms_of("--compare")
    marked = {line.split("  ")[0].rsplit(" ", 1)[0] for line in text.splitlines() if line.split("  ")[0].endswith("+")}
    assert marked == {one["policy"] for one in found["compare"] if one["front"]} != set()
    assert any(one["front"] and one["squidbot"] for one in found["compare"])
    assert "+ best trade-off: no policy that fits" in text


# -- a recording replayed in a mode: its system text is in each request, and no message of the recording --------------


def replayed_in_mode(*options: str) -> Result:
    """Return what a replay of a short conversation printed."""
    return CliRunner().invoke(main, ["replay", "talk.jsonl", "--window", "16k", *options])


def answer(*options: str) -> dict[str, Any]:
    """Return the same as JSON."""
    done = replayed_in_mode("--json", *options)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_each_request_has_the_text_of_the_mode_behind_the_systems_own() -> None:
    """It is told, counted, and stands where it stays: the cache reads it."""
    plain, planned = answer("--dump", "plain.jsonl"), answer("--mode", "planning", "--dump", "planned.jsonl")
    assert (plain["mode"], planned["mode"]) == ("off", "planning")
    assert "; mode planning" in replayed_in_mode("--mode", "planning").stdout.replace("\n", " ")
    requests = [json.loads(line) for line in Path("planned.jsonl").read_text(encoding="utf-8").splitlines()]
    before = [json.loads(line) for line in Path("plain.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(requests) == len(before) > 5
    prompt = prompt_of("planning", terms_for(16_000, None, "balanced", open_counter("classes"), "tokens"))
    assert prompt is not None
    for one, other in zip(requests, before, strict=True):
        assert json.dumps(prompt.text)[1:-1] in json.dumps(one)
        assert json.dumps(prompt.text)[1:-1] not in json.dumps(other)


def test_text_stands_behind_the_first_system_texts_and_is_no_message_of_the_recording() -> None:
    """Open calls, lines, places and usages stay with their messages."""
    (talk,) = read_transcripts("talk.jsonl")
    prompt = prompt_of("developer", terms_for(16_000, None, "balanced", open_counter("classes"), "tokens"))
    assert prompt is not None
    made = with_system_text(talk, prompt.text)
    at = next(place for place, message in enumerate(talk.messages) if message.role != "system")
    assert (made.messages[at].role, made.messages[at].text, made.sources[at]) == ("system", prompt.text, -1)
    for name in ("messages", "lines", "sources", "usages"):
        given, found = getattr(talk, name), getattr(made, name)
        assert (*found[:at], *found[at + 1 :]) == given
    assert [call for _, call in made.unanswered] == [call for _, call in talk.unanswered]


def test_modes_of_ones_own_are_known_and_others_are_named() -> None:
    """From `prompt.folder` of the settings; one that is not there is an error with those there are."""
    said = replayed_in_mode("--mode", "nope")
    assert said.exit_code == 2
    assert "--mode: unknown mode 'nope', known: off, developer, planning, assistant, debugger" in said.stderr
    Path("texts").mkdir()
    Path("texts/review.md").write_text("You review what others wrote.\n\nKeep: findings.\n", encoding="utf-8")
    Path("squidbot.toml").write_text('[prompt]\nfolder = "texts"\n', encoding="utf-8")
    assert answer("--mode", "review")["mode"] == "review"


# -- `squidbot replay --profile`: sessions are those of a program, and in each profile every request is whole ---------

# Lines of it: what shows events in each profile and the smallest window, and all.
PART, WHOLE = 80, 430


def under(profile: str, window: int, **given: object) -> Terms:
    """Return the terms of a profile."""
    return profile_terms(profile, window, open_counter("classes"), SCORING, **given)


def begun(folder: Path, lines: int) -> str:
    """Write the beginning of the example session into a folder, and return its path."""
    path = folder / f"{lines}.jsonl"
    path.write_text("".join(SESSION.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]), encoding="utf-8")
    return str(path)


def replayed_under(terms: Terms, session: str, dump: Path | None = None) -> Results:
    """Replay a session."""
    places = Places((session,), dump=str(dump) if dump else None)
    return run(conversations_of(places), terms, places, tick=lambda: None)


@pytest.fixture(scope="module")
def outcome_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int, int], ReplayOutcome]:
    """What came of a profile in a window, by how many lines of the example session: made once."""
    folder = tmp_path_factory.mktemp("sessions")

    @cache
    def replay_once(profile: str, window: int, lines: int) -> ReplayOutcome:
        return replayed_under(under(profile, window), begun(folder, lines)).outcomes[0]

    return replay_once


@pytest.mark.parametrize(
    ("window", "lines"),
    [(2_048, PART), *(pytest.param(size, WHOLE, marks=pytest.mark.slow) for size in (2_048, 4_096, 8_192))],
)
@pytest.mark.parametrize("profile", profiles())
def test_every_request_is_within_its_window_and_whole(
    outcome_of: Callable[[str, int, int], ReplayOutcome], profile: str, window: int, lines: int
) -> None:
    """B-14 to B-17, C28: in each profile, however small the window; none is missing, none breaks a prefix unasked."""
    outcome = outcome_of(profile, window, lines)
    assert outcome.calls > 20
    assert outcome.events
    assert not outcome.failures
    assert (outcome.tally.over, outcome.tally.pairs_broken) == (0, 0)
    assert outcome.unexplained == []
    assert outcome.largest_bound_tokens <= outcome.limit_tokens < window


@pytest.mark.parametrize("lines", [PART, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_the_default_profile_sends_what_the_engine_alone_sends(tmp_path: Path, lines: int) -> None:
    """A session of a program has nothing that the engine's own lacks, where its settings say nothing."""
    session = begun(tmp_path, lines)
    plain = terms_for(4_096, None, "balanced", open_counter("classes"), "tokens")
    one = replayed_under(plain, session, tmp_path / "a.dump")
    other = replayed_under(under("ladder", 4_096), session, tmp_path / "b.dump")
    assert (tmp_path / "a.dump").read_bytes() == (tmp_path / "b.dump").read_bytes()
    assert one.outcomes[0].tally == other.outcomes[0].tally
    assert one.outcomes[0].events


def test_profiles_are_not_all_alike(outcome_of: Callable[[str, int, int], ReplayOutcome]) -> None:
    """In a window that all of it does not fit: what a request has differs, where the documents differ."""
    said = {name: outcome_of(name, 2_048, PART).tally for name in profiles()}
    assert len({(one.billed, one.tokens) for one in said.values()}) >= 4


def test_what_is_asked_for_goes_before_the_profile() -> None:
    """Reserve, strategy and unit."""
    terms = under("llm-bawt", 8_192, budget__reserved_output_tokens=1_000, pressure__strategy="speed")
    assert (terms.window.reserved_output_tokens, terms.strategy, terms.unit) == (1_000, "speed", "tokens")
    assert under("squidbot-v2", 8_192).unit == "words"
    assert under("squidbot-v2", 8_192, budget__policy=False).unit == "tokens"


def test_a_profile_is_told_in_the_report_and_set_beside_the_others(tmp_path: Path) -> None:
    """The table names it, JSON has it, and --compare has a row for each."""
    session = begun(tmp_path, 30)
    said = CliRunner().invoke(main, ["replay", session, "--window", "4k", "--profile", "manual"])
    assert said.exit_code == 0, said.output
    assert "profile manual, strategy balanced" in " ".join(said.output.split())
    asked = ["replay", session, "--window", "4k", "--profile", "manual", "--compare", "--json"]
    made = json.loads(CliRunner().invoke(main, asked).output)
    assert made["profile"] == "manual"
    names = [row["policy"] for row in made["compare"]]
    assert names == [kind.name for kind in RIVALS] + [f"profile {name}" for name in profiles()]


def test_an_unknown_profile_is_refused_before_anything_is_read() -> None:
    """With those there are."""
    said = CliRunner().invoke(main, ["replay", "nowhere.jsonl", "--window", "4k", "--profile", "pinguin"])
    assert said.exit_code != 0
    assert "unknown profile 'pinguin', known: ladder, llm-bawt" in said.output


# -- from what the user wrote to what a replay runs on ----------------------------------------------------------------


def ranks(path: Path) -> str:
    """Write token ranks of single bytes and return the file's path."""
    path.write_bytes(b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)))
    return str(path)


def test_codecs_are_known_by_their_tags() -> None:
    """As the reader of transcripts names them."""
    assert set(CODECS) == {"openai.chat", "openai.responses", "anthropic.messages", "pydantic_ai/2", "lc/1"}
    assert all(codec.tag == tag for tag, codec in CODECS.items())


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes", "classes"])
def test_open_counter_knows_the_built_in_ones(name: str) -> None:
    """By their names."""
    assert open_counter(name).name == name


def test_open_counter_reads_ranks_from_a_local_file(tmp_path: Path) -> None:
    """A file that ends in .tiktoken is the model's own tokenizer: its counts are exact."""
    pytest.importorskip("tiktoken")
    counter = open_counter(ranks(tmp_path / "cl100k_small.tiktoken"))
    assert counter.certificate == "exact"
    assert counter.count("four") == counter.upper_bound("four") == 4


def test_open_counter_names_the_extra_where_the_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install is said; nothing is fetched."""
    monkeypatch.setitem(sys.modules, "squidbot.adapters.tiktoken", None)
    with pytest.raises(ConfigError, match=r"needs the package tiktoken; the extra tiktoken is missing: "):
        open_counter(ranks(tmp_path / "cl100k_small.tiktoken"))


@pytest.mark.parametrize("given", ["", "tokens", "Classes", "o200k"])
def test_open_counter_lists_what_there_is_for_any_other_name(given: str) -> None:
    """Names are exact."""
    with pytest.raises(ConfigError, match=r"known: bytes, .*words, or the path of a \*\.tiktoken file"):
        open_counter(given)


def test_open_store_without_a_path_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is gone with it, whatever happened inside."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def used() -> None:
        with open_replay_store(None) as store:
            store.append("s", 0, [made_message(0)])
            assert len(list(folder.iterdir())) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        used()
    assert list(folder.iterdir()) == []


def test_open_store_with_a_path_keeps_the_file(tmp_path: Path) -> None:
    """What was stored is there the next time."""
    for expected in (0, 1):
        with open_replay_store(tmp_path / "s.db") as store:
            assert store.head("s") == (expected, 0)
            store.append("s", expected, [made_message(expected)])


def test_open_store_tells_a_wrong_path_from_a_file_that_is_no_store(tmp_path: Path) -> None:
    """The first is the user's to correct, the second may be damage."""
    (tmp_path / "text").write_text("no database, but text " * 400)
    with pytest.raises(ConfigError, match="missing"), open_replay_store(tmp_path / "missing" / "s.db"):
        pytest.fail("its folder is missing")
    with pytest.raises(DamagedStoreError), open_replay_store(tmp_path / "text"):
        pytest.fail("it is no store")


def test_terms_take_the_default_reserve_and_the_strategy_for_the_room() -> None:
    """C12: min(4096, a quarter of the window)."""
    terms = terms_for(8_000, None, "speed", open_counter("bytes"), "tokens")
    assert (terms.window.window_tokens, terms.window.reserved_output_tokens, terms.limit_tokens) == (
        8_000,
        2_000,
        6_000,
    )
    assert terms.settings == strategy("speed", 6_000)
    assert terms.settings.policy_limit is None
    large = terms_for(128_000, None, "speed", open_counter("bytes"), "tokens")
    assert large.limit_tokens == 128_000 - 4_096


def test_terms_in_words_keep_the_policy_cap_beside_the_window() -> None:
    """Estimates are words then, bounds stay tokens; another strategy keeps the cap."""
    terms = terms_for(32_000, 0, "balanced", open_counter("bytes"), "words")
    assert terms.settings.policy_limit == PolicyCaps().total
    assert terms.meter.text("two words") == (2, 9)
    for name in STRATEGIES:
        assert terms.with_strategy(name).settings.policy_limit == PolicyCaps().total
    assert terms.with_strategy("speed").strategy == "speed"
    assert terms.with_strategy("speed").window == terms.window


def test_terms_refuse_what_can_not_be() -> None:
    """No room for input, and an unknown strategy, each by its own error."""
    counter = open_counter("bytes")
    with pytest.raises(BudgetError):
        terms_for(4_096, 4_096, "balanced", counter, "tokens")
    with pytest.raises(ConfigError, match="known: coherence, balanced, speed"):
        terms_for(4_096, 512, "best", counter, "tokens")
