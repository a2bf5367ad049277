"""Makes docs/benchmarks.md and its pictures from measured figures: `python -m benchmarks.page [FIGURES.json ...]`.

Files that `python -m benchmarks --json FILE` wrote replace what is known of their parts in `figures.json`; without
any, page and pictures are made again from what is known. Of the page only the places between marks change.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.fetch import catalogue
from benchmarks.fronts import SCHEMES, Group, Point, bars, front

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["FIGURES", "PAGE", "main", "merged", "pictures", "with_figures"]

FIGURES: Final = Path(__file__).with_name("figures.json")
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
_MARK: Final = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PARTS: Final = ("corpus", "carry", "recall", "hosts", "turn")
OURS: Final = ("coherence", "balanced", "speed")
# Which names count, by how long ago they stood in the conversation: those of the longest age that a group has.
AGES: Final = {"> 8K": "8,000", "> 2K": "2,000"}
KINDS: Final = {"literals": "exact names", "words": "rare words", "users": "the user's words"}
VIEWS: Final = {
    "V": "Claude's own summary",
    "N1": "squidbot, same size",
    "N2": "squidbot, twice the size",
    "M1": "squidbot with a model, same size",
    "V+": "squidbot's hook added to the summary",
}
# Of the requests that exceed the window where everything is sent.
MOST_FAILED_FRACTION: Final = 0.01
EVERYTHING: Final = "send everything"
SEARCH: Final = "squidbot, no model"
_BY_SIZE: Final = "% with all evidence in so many tokens"
_ADDRESS: Final = "https://github.com"

Runs = dict[str, dict[str, Any]]


def merged(known: Runs, measured: Mapping[str, Any]) -> Runs:
    """Return what is known of parts with what was measured now; of the corpus, windows that were not stay."""
    runs = dict(known)
    head = {key: measured[key] for key in ("date", "commit", "machine", "versions")}
    for part in measured["parts"]:
        name = part["part"]
        if name not in PARTS or not part["tables"]:
            continue
        tables = part["tables"]
        windows = {table.get("about", {}).get("window") for table in tables}
        stay = [
            each for each in runs.get(name, {}).get("tables", ()) if each.get("about", {}).get("window") not in windows
        ]
        if name == "corpus":
            tables = [*stay, *tables]
        elif name == "recall":
            tables = [each for each in tables if each["title"].endswith(_BY_SIZE)]
        missed = [bar for bar in measured["bars"] if bar["part"] == name and not bar["met"]]
        runs[name] = {**head, "tables": tables, "remarks": part["remarks"], "missed": missed}
    return runs


def with_figures(page: str, runs: Runs) -> str:
    """Return a page with its figures between the marks."""
    return _MARK.sub(lambda found: found[1] + "\n".join(BLOCKS[found[2]](runs)) + "\n" + found[3], page)


def pictures(runs: Runs) -> Iterator[tuple[str, str]]:
    """Yield each picture with the name of its file."""
    for scheme in SCHEMES:
        for window in _windows(runs):
            yield f"front-{window}-{scheme}.svg", front(_front_title(window), _groups(runs, window), scheme)
        if "carry" in runs:
            yield f"carry-{scheme}.svg", bars(CARRY_TITLE, _carry_bars(runs), "squidbot", scheme)
        if "recall" in runs:
            yield f"recall-{scheme}.svg", bars(RECALL_TITLE, _recall_bars(runs), "squidbot", scheme)


CARRY_TITLE: Final = "What stays over a compaction: median (bar) and worst tenth (tick)"
RECALL_TITLE: Final = "Questions whose whole evidence is found within 1,000 tokens (share)"


def _front_title(window: int) -> str:
    return f"A window of {window:,} tokens: cost of a call (right) and names kept (up)"


# -- corpus ------------------------------------------------------------------------------------------------------------


def _tables(runs: Runs, window: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the groups of a window: name, conversations, rows by policy. All sessions come first."""
    for table in runs.get("corpus", {}).get("tables", ()):
        about = table["about"]
        if about["window"] == window:
            yield about["group"], about["sessions"], table["rows"]


def _windows(runs: Runs) -> list[int]:
    return sorted({table["about"]["window"] for table in runs.get("corpus", {}).get("tables", ())})


def _age(rows: Mapping[str, Mapping[str, float | None]]) -> str:
    return next((age for age in AGES if rows["balanced"][age] is not None), "")


def _groups(runs: Runs, window: int) -> list[Group]:
    made = []
    for name, talks, rows in _tables(runs, window):
        if (age := _age(rows)) and rows[EVERYTHING]["over"]:
            head = f"{name.partition(' (')[0] or 'all'}, {talks}" + ("" if age == "> 8K" else " (names > 2K)")
            made.append(Group(head, [_point(policy, rows, age) for policy in rows]))
    return made


def _point(policy: str, rows: Mapping[str, Mapping[str, float]], age: str) -> Point:
    row = rows[policy]
    return Point(_named(policy), row["cost"], row[age], policy in OURS, not _is_within(policy, rows))


def _is_within(policy: str, rows: Mapping[str, Mapping[str, float | None]]) -> bool:
    """Whether nearly all requests would have been answered: none is too long, or has parted calls and results."""
    failed = (rows[policy]["over"] or 0) + (rows[policy]["parted"] or 0)
    return failed <= MOST_FAILED_FRACTION * (rows[EVERYTHING]["over"] or 0)


def _named(policy: str) -> str:
    return f"squidbot {policy}" if policy in OURS else policy


def corpus(runs: Runs) -> Iterator[str]:
    """Yield a picture and a table for each window, then a table by agents."""
    for window in _windows(runs):
        yield from (f"### {window:,} tokens", "")
        yield from _picture(f"front-{window}", _front_title(window))
        yield ""
        _, talks, rows = next(_tables(runs, window))
        yield f"{talks} recordings of {_recordings()}."
        yield '"Kept" is the share of needed names that were last seen more than 8,000 tokens ago.'
        yield ""
        words = "user's words: median | worst tenth"
        yield f"| manager | cost | kept: median | worst tenth | {words} | over | parted | refused |"
        yield "|---|" + "---:|" * 8
        for policy, row in sorted(rows.items(), key=lambda item: item[1]["cost"]):
            kept = [row[key] for key in ("> 8K", "> 8K tenth", "own words", "own words tenth")]
            name = f"**{_named(policy)}**" if policy in OURS else policy
            cells = [name, _cost(row["cost"]), *map(_share, kept)]
            cells += [_cost(row[each]) for each in ("over", "parted", "refused")]
            yield f"| {' | '.join(cells)} |"
        yield ""
    yield from _by_agent(runs)
    yield from _remarks(runs, "corpus")


def _recordings() -> int:
    return sum(each.to.startswith("sessions/") for each in catalogue())


def _by_agent(runs: Runs) -> Iterator[str]:
    yield from ("### By agent and domain", "")
    yield "squidbot's `balanced` strategy beside another manager: of those that stay within the window, the one that"
    yield "keeps the most names."
    yield ""
    ours = "squidbot: cost | kept | worst tenth"
    yield f"| window | agent (domain) | conversations | {ours} | the other | its cost | kept | worst tenth |"
    yield "|---:|---|---:|---:|---:|---:|---|---:|---:|---:|"
    for window in _windows(runs):
        for name, talks, rows in _tables(runs, window):
            age = _age(rows)
            if not name or not age:
                continue
            if not rows[EVERYTHING]["over"]:
                continue
            within = {
                each: row
                for each, row in rows.items()
                if each not in OURS and _is_within(each, rows) and row[age] is not None
            }
            best = max(within, key=lambda each: within[each][age], default="")
            own = rows["balanced"]
            theirs = [best, _cost(within[best]["cost"]), *_pair(within[best], age)] if best else ["none"] + ["-"] * 3
            cells = [f"{window:,}", name, str(talks), _cost(own["cost"]), *_pair(own, age), *theirs]
            yield f"| {' | '.join(cells)} |"
    yield from (
        "",
        "Conversations that fit into the window whole are left out.",
        "Where conversations are too short for 8,000 tokens, names last seen more than 2,000 tokens ago count.",
    )


def _pair(row: Mapping[str, float | None], age: str) -> list[str]:
    return [_share(row[age]), _share(row[f"{age} tenth"])]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _cost(value: float) -> str:
    return f"{value:,.0f}"


# -- carry -------------------------------------------------------------------------------------------------------------


def _carry_rows(runs: Runs) -> dict[str, dict[str, float | None]]:
    rows: dict[str, dict[str, float | None]] = runs["carry"]["tables"][0]["rows"]
    return rows


def _carry_bars(runs: Runs) -> dict[str, dict[str, tuple[float, float | None]]]:
    rows = _carry_rows(runs)
    return {
        text: {VIEWS[name]: (row[kind] or 0.0, row[f"{kind} tenth"]) for name, row in rows.items()}
        for kind, text in KINDS.items()
    }


def carry(runs: Runs) -> Iterator[str]:
    """Yield the picture and the table."""
    if "carry" not in runs:
        return
    yield from _picture("carry", CARRY_TITLE)
    yield ""
    yield f"| after the compaction | {' | '.join(f'{text}: median | worst tenth' for text in KINDS.values())} |"
    yield "|---|" + "---:|" * (2 * len(KINDS))
    for name, row in _carry_rows(runs).items():
        cells = [_share(row[key]) for kind in KINDS for key in (kind, f"{kind} tenth")]
        yield f"| {VIEWS[name]} | {' | '.join(cells)} |"
    yield from _remarks(runs, "carry")


# -- recall ------------------------------------------------------------------------------------------------------------


def _recall_tables(runs: Runs) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for table in runs["recall"]["tables"]:
        if table["title"].endswith(_BY_SIZE):
            yield table["title"].partition(":")[0], table["rows"]


def _recall_bars(runs: Runs) -> dict[str, dict[str, tuple[float, float | None]]]:
    made: dict[str, dict[str, tuple[float, float | None]]] = {}
    for title, rows in _recall_tables(runs):
        values = {name: row["1,000"]["value"] / 100 for name, row in rows.items() if row.get("1,000")}
        made[title] = {name: (value, None) for name, value in values.items()}
    return made


def recall(runs: Runs) -> Iterator[str]:
    """Yield the picture, and a table for each set."""
    if "recall" not in runs:
        return
    yield from _picture("recall", RECALL_TITLE)
    for title, rows in _recall_tables(runs):
        sizes = list(next(iter(rows.values())))
        yield from ("", f"{title}: percent, with 95 % intervals over conversations", "")
        yield f"| search | {' | '.join(f'{size} tokens' for size in sizes)} |"
        yield "|---|" + "---:|" * len(sizes)
        for name, row in rows.items():
            cells = [_interval(row[size]) for size in sizes]
            yield f"| {name} | {' | '.join(cells)} |"
    yield from _remarks(runs, "recall")


def _interval(value: Mapping[str, float] | None) -> str:
    return "-" if value is None else f"{value['value']:.0f} ({value['low']:.0f} to {value['high']:.0f})"


# -- hosts and turns ---------------------------------------------------------------------------------------------------


def hosts(runs: Runs) -> Iterator[str]:
    """Yield what each host's call takes longer."""
    if "hosts" not in runs:
        return
    yield "| host | messages before | more CPU milliseconds a call, median |"
    yield "|---|---:|---:|"
    for table in runs["hosts"]["tables"]:
        name = table["title"].removeprefix("A turn in ").partition(",")[0]
        for size in next(iter(table["rows"].values())):
            yield f"| {name} | {size} | {table['rows'][MORE][size]:.1f} |"


MORE: Final = "more, CPU ms, p50"
TURNS: Final = {
    "fresh: open, assemble, encode, CPU ms": "open a session and make a request",
    "  floor, new connection, CPU ms": "plain SQLite: open, read the same rows",
    "warm: assemble, CPU ms": "make the next request",
    "  floor, CPU ms": "plain SQLite: read the same rows",
    "record an exchange, CPU ms": "store a question and its answer",
    "  bare insert, CPU ms": "plain SQLite: insert the same bytes",
    "event (assemble with a new plan), CPU ms": "make a request that compacts",
}


def turn(runs: Runs) -> Iterator[str]:
    """Yield CPU times by window and stored messages."""
    for table in runs.get("turn", {}).get("tables", ()):
        sizes = list(next(iter(table["rows"].values())))
        yield from (f"{table['title']}: CPU milliseconds, medians", "")
        yield f"| | {' | '.join(f'{size} messages' for size in sizes)} |"
        yield "|---|" + "---:|" * len(sizes)
        for key, text in TURNS.items():
            if key in table["rows"]:
                cells = [_milliseconds(table["rows"][key][size]) for size in sizes]
                yield f"| {text} | {' | '.join(cells)} |"
        yield ""


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


# -- where squidbot loses ----------------------------------------------------------------------------------------------


def loses(runs: Runs) -> Iterator[str]:
    """Yield all places where another one is better, by the figures."""
    yield from _cheaper(runs)
    yield from _worst(runs)
    yield from _refused(runs)
    yield from _carry_loses(runs)
    yield from _recall_loses(runs)
    yield from _slower(runs)
    yield from _missed(runs)


def _cheaper(runs: Runs) -> Iterator[str]:
    """Yield the managers within the window that no strategy of ours outdoes both in cost and in names kept."""
    lines = []
    for window in _windows(runs):
        groups = list(_tables(runs, window))
        found = [(name or "all", policy) for name, _, rows in groups for policy in _unbeaten(rows)]
        for policy in dict.fromkeys(each for _, each in found):
            agents = [name for name, each in found if each == policy]
            _, _, rows = next(each for each in groups if (each[0] or "all") == agents[0])
            cells = [f"{window:,}", policy, "; ".join(agents), *_brief(rows, policy), *_brief(rows, "speed")]
            lines.append(f"| {' | '.join(cells)} |")
    if lines:
        yield "**Cheaper, or more complete.** No strategy of squidbot costs as little and keeps as much as these."
        yield "They stay within the window. The figures are of the first group named."
        yield ""
        yield "| window | manager | where | its cost | kept | squidbot `speed`: cost | kept |"
        yield "|---:|---|---|---:|---:|---:|---:|"
        yield from (*lines, "")


def _unbeaten(rows: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    age = _age(rows)
    for policy, row in rows.items() if age else ():
        if policy in OURS or not _is_within(policy, rows) or row[age] is None:
            continue
        if not any(rows[each]["cost"] <= row["cost"] and rows[each][age] >= row[age] for each in OURS):
            yield policy


def _brief(rows: Mapping[str, Mapping[str, float]], policy: str) -> list[str]:
    return [_cost(rows[policy]["cost"]), _share(rows[policy][_age(rows)])]


def _worst(runs: Runs) -> Iterator[str]:
    """Yield where the worst tenth of another manager within the window is above that of each strategy of ours."""
    for window in _windows(runs):
        for name, _, rows in _tables(runs, window):
            key = f"{_age(rows)} tenth"
            known = {each: row[key] for each, row in rows.items() if _age(rows) and row[key] is not None}
            others = {each: known[each] for each in known if each not in OURS and _is_within(each, rows)}
            best, ours = max(others, key=lambda each: others[each], default=""), [known[each] for each in OURS if known]
            if best and others[best] > max(ours):
                head = f"- **Worst tenth, {name or 'all'}, {window:,} tokens.**"
                yield f"{head} squidbot: {max(ours):.2f}; {best}: {others[best]:.2f}."


def _refused(runs: Runs) -> Iterator[str]:
    """Yield where a text that opens every request leaves no room, so that squidbot sends none."""
    for window in _windows(runs):
        for name, _, rows in _tables(runs, window):
            if name and (count := rows["balanced"]["refused"]):
                yield (
                    f"- **Refused, {name}, {window:,} tokens.** squidbot refuses {count:,.0f} calls with an error: the "
                    "agent's own instructions leave too little room."
                )


def _carry_loses(runs: Runs) -> Iterator[str]:
    if "carry" not in runs:
        return
    rows = _carry_rows(runs)
    for name in VIEWS:
        for kind, text in KINDS.items():
            for key, which in ((kind, "median"), (f"{kind} tenth", "worst tenth")):
                ours, theirs = rows.get(name, {}).get(key), rows["V"][key]
                if name != "V" and ours is not None and theirs is not None and ours < theirs:
                    yield (
                        f"- **Compaction, {text}, {which}.** {VIEWS[name]}: {ours:.2f}; "
                        f"Claude's own summary: {theirs:.2f}."
                    )


def _recall_loses(runs: Runs) -> Iterator[str]:
    if "recall" not in runs:
        return
    for title, rows in _recall_tables(runs):
        ours = rows[SEARCH]
        for name, row in rows.items():
            if name.startswith(("squidbot", "perfect")):
                continue
            for size, value in row.items():
                if value and ours[size] and value["value"] > ours[size]["value"]:
                    head = f"- **Search, {title.rpartition(', ')[0]}, {size} tokens.**"
                    yield f"{head} squidbot: {ours[size]['value']:.0f} %; {name}: {value['value']:.0f} %."


def _missed(runs: Runs) -> Iterator[str]:
    """Yield our own aims that were missed, of parts that do not depend on who else uses the machine."""
    for part in ("carry", "recall"):
        for bar in runs.get(part, {}).get("missed", ()):
            least = f"at least {bar['at_least']:g}" if bar["at_least"] is not None else f"at most {bar['at_most']:g}"
            yield f"- **Missed aim.** {bar['name']}: {bar['value']:.3g}, and should be {least}."


def _slower(runs: Runs) -> Iterator[str]:
    more = [
        (value, table["title"].removeprefix("A turn in ").partition(",")[0], size)
        for table in runs.get("hosts", {}).get("tables", ())
        for size, value in table["rows"][MORE].items()
    ]
    if more:
        most, host, size = max(more)
        yield f"- **Time.** squidbot takes up to {most:.1f} ms of CPU time more a call ({host}, {size} messages)."


# -- the page ----------------------------------------------------------------------------------------------------------


def machine(runs: Runs) -> Iterator[str]:
    """Yield where and when each part was measured."""
    yield "| part | date | commit | machine | Python, SQLite |"
    yield "|---|---|---|---|---|"
    for part in PARTS:
        if part in runs:
            run, one = runs[part], runs[part]["machine"]
            what = (
                f"{one['processor'] or one['system']}, {one['processors']} processors, {one['memory'] / 2**30:.0f} GiB"
            )
            yield f"| {part} | {run['date']} | `{run['commit'][:12]}` | {what} | {one['python']}, {one['sqlite']} |"
    packages: dict[str, list[str]] = {}
    for part in (each for each in PARTS if each in runs):
        named = ", ".join(f"{name} {version}" for name, version in sorted(runs[part]["versions"].items()))
        packages.setdefault(named, []).append(part)
    yield from ("", *(f"- {', '.join(parts)}: {named}" for named, parts in packages.items()))


def data(_runs: Runs) -> Iterator[str]:
    """Yield where the data is from."""
    yield "| repository | commit | licence | what | files |"
    yield "|---|---|---|---|---:|"
    made = catalogue()
    for source in dict.fromkeys(each.source for each in made):
        files = {name for each in made if each.source == source for name, _ in each.files}
        link = f"[{source.repository}]({_ADDRESS}/{source.repository})"
        yield f"| {link} | `{source.commit[:12]}` | {source.licence} | {source.what} | {len(files)} |"


BLOCKS: Final[Mapping[str, Callable[[Runs], Iterable[str]]]] = {
    "corpus": corpus,
    "carry": carry,
    "recall": recall,
    "hosts": hosts,
    "turn": turn,
    "loses": loses,
    "machine": machine,
    "data": data,
}


def _remarks(runs: Runs, part: str) -> Iterator[str]:
    if remarks := runs.get(part, {}).get("remarks"):
        yield from ("", *(f"{remark.rstrip('.')}." for remark in remarks))


def _picture(name: str, words: str) -> Iterator[str]:
    yield "<picture>"
    yield f'  <source media="(prefers-color-scheme: dark)" srcset="pictures/{name}-dark.svg">'
    yield f'  <img alt="{words}" src="pictures/{name}-light.svg">'
    yield "</picture>"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make page and pictures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description="Make docs/benchmarks.md again.")
    parser.add_argument("figures", nargs="*", type=Path, metavar="FIGURES", help="files of python -m benchmarks --json")
    args = parser.parse_args(arguments)
    runs: Runs = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    for path in args.figures:
        runs = merged(runs, json.loads(path.read_text(encoding="utf-8")))
    FIGURES.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    folder = PAGE.with_name("pictures")
    for name, drawn in pictures(runs):
        (folder / name).write_text(drawn, encoding="utf-8")
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
