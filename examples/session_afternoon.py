"""The afternoon of the recorded day: the HTTP face, keys, speed, a review, and a station whose clock is wrong."""
# ruff: noqa: E501, RUF001 - what people and machines say in the story is not wrapped, nor is it always English

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from session_recorder import Failure
from session_world import hours_of_stations, load_test, stations

if TYPE_CHECKING:
    from session_recorder import Session

__all__ = ["tell_afternoon"]

TRACE = """Mar 04 11:02:51 weir-prod python[1190]: ERROR api GET /v1/stations/ST-5302/latest
Mar 04 11:02:51 weir-prod python[1190]: Traceback (most recent call last):
  File "/opt/gaugepost/app/gaugepost/server.py", line 61, in handle
    status, headers, body = function(self.app, request, **groups)
  File "/opt/gaugepost/app/gaugepost/api.py", line 41, in get_latest
    reading = app.store.latest(id)
  File "/opt/gaugepost/app/gaugepost/store.py", line 45, in latest
    return Reading(*row)
TypeError: gaugepost.models.Reading() argument after * must be an iterable, not NoneType"""


def tell_afternoon(s: Session) -> None:
    """Tell what happens between lunch and billing."""
    _after_lunch(s)
    _no_readings(s)
    _sheet_for_the_call(s)
    _keys(s)
    _speed(s)
    _review(s)
    _rejected(s)


def _after_lunch(s: Session) -> None:
    s.user(
        "Back. Where are we? Only: decisions so far, what is committed, what is NOT yet in production.",
        after=5_300,
    )
    s.do(None, s.run("git log --oneline -n 6", _log(s)), s.read("docs/decisions.md"))
    s.say(
        "Decided: D-1 UTC epoch seconds; D-2 first reading stays, duplicates moved or counted; D-3 raw stays raw, offsets on "
        "reading; D-4 suspects flagged, never repaired; D-5 5 cm hysteresis and quiet hours.\n"
        f"Committed: {', '.join(digest for digest, _ in s.commits)}.\n"
        "Not in production: everything. Migrations 002 to 004 ran on /tmp/try.db only, and the offset of ST-4417 has to be "
        "inserted there by hand. Open: api.py, billing, version 0.9.0."
    )


def _log(s: Session) -> str:
    known = [
        "a41f0c7 Bump to 0.8.3",
        "77d20be Send the station's name with an alert",
        "0c9e5d2 Read settings from TOML",
    ]
    return "\n".join([f"{digest} {message}" for digest, message in reversed(s.commits)] + known)


def _no_readings(s: Session) -> None:
    s.user(
        "api.py then. A subscriber complained that /latest answers 500 for the new station ST-5302. Make the test first, "
        'it should be a 404 with {"error": "no_readings"}.'
    )
    s.do(None, s.run("ssh weir-prod journalctl -u gaugepost --since 11:00 -p err -o short", TRACE))
    s.do(None, s.read("tests/test_api.py"))
    s.do(
        None,
        s.edit(
            "tests/test_api.py",
            "def test_hours_are_means():",
            "def test_a_station_without_readings_is_not_found():\n"
            '    status, _, body = api.get_latest(app(), None, "ST-5302")\n'
            '    assert (status, json.loads(body)) == (404, {"error": "no_readings"})\n\n\ndef test_hours_are_means():',
        ),
    )
    says = "TypeError: gaugepost.models.Reading() argument after * must be an iterable, not NoneType"
    fails = Failure(
        'api.get_latest(app(), None, "ST-5302")',
        (says,),
        "TypeError",
        (
            ("gaugepost/api.py", "reading = app.store.latest(id)"),
            ("gaugepost/store.py", "return calibration.corrected(Reading(*row)"),
        ),
    )
    s.do(
        None,
        s.pytest({"tests/test_api.py::test_a_station_without_readings_is_not_found": fails}, only="tests/test_api.py"),
    )
    s.do(
        "Red for the right reason. Now the fix, in the store and in the route.",
        s.edit(
            "gaugepost/store.py",
            "        ).fetchone()\n        return calibration",
            "        ).fetchone()\n        if row is None:\n            return None\n        return calibration",
        ),
        s.edit(
            "gaugepost/api.py",
            "    reading = app.store.latest(id)\n",
            "    reading = app.store.latest(id)\n    if reading is None:\n"
            '        return answer(HTTPStatus.NOT_FOUND, {"error": "no_readings"})\n',
        ),
    )
    s.do(None, s.pytest(only="tests/test_api.py"))
    s.say(
        'Green: /latest answers 404 {"error": "no_readings"}. I noticed that an unknown X-Key-Id is a KeyError, so a 500 as well.'
    )
    s.user('Then fix that too: 401, {"error": "unknown_key"}. And a missing signature header must be a 400, not a 500.')
    s.do(
        None,
        s.edit(
            "gaugepost/api.py",
            '    key = app.keys[request.headers["X-Key-Id"]]\n    try:\n'
            '        reading = ingest.accept(app.store, request.body, request.headers["X-Signature"], key)\n',
            '    key = app.keys.get(request.headers.get("X-Key-Id"))\n    if key is None:\n'
            '        return answer(HTTPStatus.UNAUTHORIZED, {"error": "unknown_key"})\n    try:\n'
            '        reading = ingest.accept(app.store, request.body, request.headers.get("X-Signature", ""), key)\n',
        ),
        s.edit(
            "tests/test_api.py",
            "def test_a_station_without_readings_is_not_found():",
            "def posted(headers):\n"
            '    status, _, body = api.post_reading(app(), SimpleNamespace(headers=headers, body=b"{}"))\n'
            "    return status, json.loads(body)\n\n\n"
            "def test_an_unknown_key_is_unauthorized():\n"
            '    assert posted({"X-Key-Id": "k1", "X-Signature": "0"}) == (401, {"error": "unknown_key"})\n'
            '    assert posted({}) == (401, {"error": "unknown_key"})\n\n\n'
            "def test_a_missing_signature_is_a_bad_request():\n"
            '    assert posted({"X-Key-Id": "k6"}) == (400, {"error": "signature"})\n\n\n'
            "def test_a_station_without_readings_is_not_found():",
        ),
    )
    s.do(None, s.pytest(only="tests/test_api.py"))
    s.do(None, s.commit("Answer 404, 401 and 400 where the service answered 500"))
    s.say(f"Done and committed ({s.commits[-1][0]}).")


def _sheet_for_the_call(s: Session) -> None:
    s.user(
        "下午一点海龙的陈工会打电话来问 ST-5120 的事，先把资料准备好 🌧️ — sorry, that was for Lin. In English: at one Chen from "
        "Hailong calls about ST-5120 (Seeausfluss). Get me one sheet: serial, last reading, duplicates, and whether its clock is right.",
        after=400,
    )
    s.do(None, s.read("fixtures/stations.json"))
    entry = next(entry for entry in stations() if entry["id"] == "ST-5120")
    s.do(
        None,
        s.run(
            'sqlite3 -readonly /tmp/try.db "SELECT taken_at, pressure_hpa, temperature_c, level_cm, flag FROM readings WHERE '
            "station_id = 'ST-5120' ORDER BY taken_at DESC LIMIT 5; SELECT count(*) FROM readings_duplicates WHERE station_id = 'ST-5120'\"",
            "1741050000|1013.2|6.9|88|ok\n1741049400|1013.2|6.9|88|ok\n1741048800|1013.3|7.0|89|ok\n1741048200|1013.3|7.0|88|ok\n1741047600|1013.4|7.1|88|ok\n0",
        ),
        s.run("stat -c %Y /home/mira/copies/readings-2025-03-03.db", "1741046412"),
    )
    s.do(
        "Its newest reading is from the future: 1741050000, while the copy was made at 1741046412. I compare arrival and "
        "measurement over the last days.",
        s.run(
            'ssh weir-prod "grep station=ST-5120 /var/log/gaugepost/service.log* | /opt/gaugepost/bin/drift --by-day"',
            "day         readings  median(taken_at - received)\n2025-02-24       144      -2 s\n2025-02-25       144      -2 s\n"
            "2025-02-26       144      -3 s\n2025-02-27        97   +3598 s\n2025-02-28       144   +3598 s\n2025-03-01       144   +3597 s\n"
            "2025-03-02       144   +3598 s\n2025-03-03       144   +3598 s",
        ),
    )
    s.say(
        f"ST-5120, Seeausfluss, serial {entry['serial']}, {entry['altitude_m']} m:\n"
        "- Last reading in the copy: 1013.2 hPa, 6.9 °C, 88 cm, stamped 1741050000.\n- Duplicates: none.\n"
        "- Clock: one hour fast (+3598 s) since the afternoon of 2025-02-27; 2 to 3 s slow before. It looks as if someone set it to "
        "summer time by hand.\nQuestion for Chen: who was at the logger on 27 February?"
    )
    s.user(
        "Chen says their technician was there, he will reset it on Thursday at 10:00. We come back to that. Next: keys."
    )
    s.say("Noted: ST-5120's clock will be reset on Thursday, 2025-03-06, at 10:00. Keys: what do you need?")


def _keys(s: Session) -> None:
    s.user(
        "We rotate from key k6 to k7. Both have to work until 2025-03-31 23:59 UTC, then k6 is dead. keys.toml gets an "
        "optional valid_until (epoch seconds) for each key. Never print a key, not even a part of one, not in logs, not here."
    )
    s.do(
        "I only look at the names in the file, not at the values.",
        s.run("ssh weir-prod \"sudo grep -o '^\\[k[0-9]*\\]' /etc/gaugepost/keys.toml\"", "[k5]\n[k6]"),
        s.search(r"app\.keys|keys="),
    )
    s.do(
        None,
        s.write(
            "gaugepost/keys.py",
            '"""The keys that stations sign with. Nothing here ever shows a key."""\n\nimport tomllib\nfrom dataclasses import dataclass, field\nfrom pathlib import Path\n\n\n'
            "@dataclass(frozen=True)\nclass Key:\n    id: str\n    secret: bytes = field(repr=False)\n    valid_until: int | None = None  # seconds since 1970, UTC; the last second counts\n\n\n"
            "class Keys:\n    def __init__(self, keys):\n        self._keys = {key.id: key for key in keys}\n\n"
            '    @classmethod\n    def load(cls, path: Path):\n        with path.open("rb") as file:\n            tables = tomllib.load(file)\n'
            '        return cls(Key(name, bytes.fromhex(table["secret"]), table.get("valid_until")) for name, table in tables.items())\n\n'
            '    def secret(self, key_id, now):\n        """Return the secret of a key that is valid at `now`, or None."""\n'
            "        key = self._keys.get(key_id)\n        if key is None or (key.valid_until is not None and now > key.valid_until):\n            return None\n        return key.secret\n\n"
            "    def __repr__(self):\n        return f\"Keys({', '.join(sorted(self._keys))})\"\n",
        ),
        s.write(
            "tests/test_keys.py",
            'from gaugepost.keys import Key, Keys\n\nEND = 1_743_465_599  # 2025-03-31 23:59:59 UTC\nKEYS = Keys([Key("k6", b"old", END), Key("k7", b"new")])\n\n\n'
            'def test_both_keys_work_until_the_last_second():\n    assert KEYS.secret("k6", END) == b"old"\n    assert KEYS.secret("k7", END) == b"new"\n\n\n'
            'def test_the_old_key_is_dead_after_it():\n    assert KEYS.secret("k6", END + 1) is None\n    assert KEYS.secret("k7", END + 1) == b"new"\n\n\n'
            'def test_an_unknown_key_has_no_secret():\n    assert KEYS.secret("k5", 0) is None\n    assert KEYS.secret(None, 0) is None\n\n\n'
            'def test_nothing_shows_a_secret():\n    assert repr(KEYS) == "Keys(k6, k7)"\n    assert "old" not in repr(Key("k6", b"old"))\n\n\n'
            'def test_keys_come_from_a_file(tmp_path):\n    path = tmp_path / "keys.toml"\n'
            '    path.write_text(\'[k6]\\nsecret = "6f6c64"\\nvalid_until = 1743465599\\n\\n[k7]\\nsecret = "6e6577"\\n\')\n'
            '    assert Keys.load(path).secret("k6", END) == b"old"\n',
        ),
    )
    s.do(None, s.pytest(only="tests/test_keys.py"))
    s.do(
        "Now the route asks for the secret at the time of the request.",
        s.edit(
            "gaugepost/api.py",
            '    key = app.keys.get(request.headers.get("X-Key-Id"))\n',
            '    key = app.keys.secret(request.headers.get("X-Key-Id"), app.now())\n',
        ),
        s.edit(
            "tests/test_api.py",
            'keys={"k6": b"not a real key"})',
            'keys=Keys([Key("k6", b"not a real key")]), now=lambda: 1_741_078_800)',
        ),
        s.edit(
            "tests/test_api.py",
            "from gaugepost import api\n",
            "from gaugepost import api\nfrom gaugepost.keys import Key, Keys\n",
        ),
    )
    s.do(None, s.pytest())
    s.do(None, s.commit("Let a station key end at a given second"))
    s.say(
        f"Committed ({s.commits[-1][0]}). gaugepost/keys.py holds it; k6 needs `valid_until = 1743465599` in /etc/gaugepost/keys.toml, "
        "which I did not touch. No secret is shown by repr, tests pin that."
    )
    s.user(
        "k5 is still in that file? It was meant to be gone in January. I take it out myself. Don't forget it in the handover."
    )
    s.say("Will do: k5 goes out of /etc/gaugepost/keys.toml (you), k6 gets its end, k7 comes in.")


def _speed(s: Session) -> None:
    s.user(
        "Speed. The district's dashboard asks /hours for 16 stations at once and it takes seconds. Run the load test against "
        "weir-dev with yesterday's copy as it is, then with our migrations, and show me the numbers.",
        after=420,
    )
    text, slow = load_test(s.dice, "http://weir-dev:8473", 640, 905)
    s.do(
        "First the copy as it is in production today, without our index.",
        s.run(
            "./bench/load.py --port 8473 --db /home/mira/copies/readings-2025-03-03.db --stations 16 --seconds 40", text
        ),
    )
    s.do(
        None,
        s.run(
            "sqlite3 -readonly /home/mira/copies/readings-2025-03-03.db \"EXPLAIN QUERY PLAN SELECT * FROM readings WHERE station_id = 'ST-4417' AND taken_at >= 0 AND taken_at < 9\"",
            "QUERY PLAN\n`--SCAN readings",
        ),
        s.run(
            "sqlite3 -readonly /tmp/try.db \"EXPLAIN QUERY PLAN SELECT * FROM readings WHERE station_id = 'ST-4417' AND taken_at >= 0 AND taken_at < 9\"",
            "QUERY PLAN\n`--SEARCH readings USING INDEX readings_once (station_id=? AND taken_at>? AND taken_at<?)",
        ),
    )
    text, fast = load_test(s.dice, "http://weir-dev:8473", 6, 15)
    s.do(
        "A scan without, a search with the unique index. The same load with it:",
        s.run("./bench/load.py --port 8473 --db /tmp/try.db --stations 16 --seconds 40", text),
    )
    s.do(
        "And that the dashboard gets the same numbers as before:",
        s.run(
            "./bench/hours.py --port 8473 --stations all --day 2025-03-03 | tee /tmp/hours.new; cmp /tmp/hours.new /tmp/hours.old && echo same",
            hours_of_stations(s.dice, 1_740_956_400) + "\nsame",
        ),
    )
    s.say(
        f"p99 falls from {slow} ms to {fast} ms, by readings_once alone, which came with D-2. No new index needed. What remains: a "
        "caller may ask for any range; ten years would be 525,600 rows a station."
    )
    s.user(
        'Nice, free lunch. D-6: /hours answers at most 31 days per request, more is a 400 with {"error": "range_too_long", "max_days": 31}. A `to` before `from` is a 400 as well.'
    )
    s.do(
        None,
        s.edit(
            "gaugepost/api.py",
            '    start, end = int(request.query["from"]), int(request.query["to"])\n',
            '    try:\n        start, end = int(request.query["from"]), int(request.query["to"])\n    except (KeyError, ValueError):\n'
            '        return answer(HTTPStatus.BAD_REQUEST, {"error": "from_and_to_are_seconds"})\n'
            '    if end < start:\n        return answer(HTTPStatus.BAD_REQUEST, {"error": "to_before_from"})\n'
            '    if end - start > MAX_DAYS * 86400:\n        return answer(HTTPStatus.BAD_REQUEST, {"error": "range_too_long", "max_days": MAX_DAYS})\n',
        ),
        s.edit("gaugepost/api.py", "ROUTES = {}\n", "ROUTES = {}\nMAX_DAYS = 31  # of one request for hours (D-6)\n"),
    )
    s.do(
        None,
        s.edit(
            "tests/test_api.py",
            "def test_hours_are_means():",
            'def hours(start, end):\n    status, _, body = api.get_hours(app(), SimpleNamespace(query={"from": start, "to": end}), "ST-4417")\n'
            '    return status, json.loads(body).get("error")\n\n\n'
            'def test_a_request_for_hours_has_limits():\n    assert hours("0", str(31 * 86400)) == (200, None)\n'
            '    assert hours("0", str(31 * 86400 + 1)) == (400, "range_too_long")\n    assert hours("600", "0") == (400, "to_before_from")\n'
            '    assert hours("noon", "0") == (400, "from_and_to_are_seconds")\n\n\ndef test_hours_are_means():',
        ),
        s.edit(
            "docs/decisions.md",
            "An all-clear follows level 2 or 3 only.\n",
            "An all-clear follows level 2 or 3 only.\n- **D-6** /hours answers at most 31 days per request (400 range_too_long).\n",
        ),
    )
    s.do(None, s.pytest(only="tests/test_api.py"))
    s.do(None, s.commit("Limit a request for hours to 31 days"))
    s.say(f"D-6 is in, {s.commits[-1][0]}.")


def _review(s: Session) -> None:
    s.user(
        "Jonas looked over the branch. His comments:\n"
        "(1) api.py shadows the builtin `id` in two functions.\n(2) There is an import inside get_hours.\n"
        "(3) store.py: `commit()` after each insert, is that on purpose?\n(4) alerts.py: `step` has too many conditions on one line.\n"
        "(5) He'd like type hints in store.py.\n"
        "Do 1, 2 and 5. 3 is on purpose: a reading that we answered 201 for must be on disk. 4 I like as it is."
    )
    s.do(None, s.read("gaugepost/api.py"))
    s.do(None, s.read("gaugepost/store.py"))
    s.do(
        "1 and 2 first. The routes' patterns name the group, so they change with it.",
        s.edit(
            "gaugepost/api.py",
            '@route("GET", "/v1/stations/{id}/latest")\ndef get_latest(app, request, id):\n    reading = app.store.latest(id)\n',
            '@route("GET", "/v1/stations/{station_id}/latest")\ndef get_latest(app, request, station_id):\n    reading = app.store.latest(station_id)\n',
        ),
        s.edit(
            "gaugepost/api.py",
            '{"station": id, "t": reading.taken_at, "p": reading.pressure_hpa}',
            '{"station": station_id, "t": reading.taken_at, "p": reading.pressure_hpa}',
        ),
        s.edit(
            "gaugepost/api.py",
            '@route("GET", "/v1/stations/{id}/hours")\ndef get_hours(app, request, id):\n',
            '@route("GET", "/v1/stations/{station_id}/hours")\ndef get_hours(app, request, station_id):\n',
        ),
        s.edit(
            "gaugepost/api.py",
            '    readings = app.store.between(id, start, end)\n    from gaugepost.aggregate import hourly_mean\n\n    return answer(HTTPStatus.OK, {"station": id, "hours": hourly_mean(readings)})',
            '    readings = app.store.between(station_id, start, end)\n    return answer(HTTPStatus.OK, {"station": station_id, "hours": hourly_mean(readings)})',
        ),
        s.edit(
            "gaugepost/api.py",
            "from gaugepost import ingest\n",
            "from gaugepost import ingest\nfrom gaugepost.aggregate import hourly_mean\n",
        ),
    )
    s.do(None, s.pytest(only="tests/test_api.py"))
    s.do(
        "Now the hints, signature by signature.",
        s.edit(
            "gaugepost/store.py", "    def __init__(self, path):", "    def __init__(self, path: Path | str) -> None:"
        ),
        s.edit(
            "gaugepost/store.py",
            "    def add(self, reading):\n",
            '    def add(self, reading: Reading) -> bool:\n        """Store a reading, durable on return; False where it came before."""\n',
        ),
        s.edit(
            "gaugepost/store.py",
            "    def between(self, station_id, start, end):",
            "    def between(self, station_id: str, start: int, end: int) -> list[Reading]:",
        ),
        s.edit(
            "gaugepost/store.py",
            "    def latest(self, station_id):",
            "    def latest(self, station_id: str) -> Reading | None:",
        ),
        s.edit(
            "gaugepost/store.py",
            "    def flag_suspect(self, station_id):",
            "    def flag_suspect(self, station_id: str) -> None:",
        ),
        s.edit(
            "gaugepost/store.py",
            "    def duplicates(self, station_id):",
            "    def duplicates(self, station_id: str) -> int:",
        ),
        s.edit(
            "gaugepost/store.py", "    def count(self, station_id):", "    def count(self, station_id: str) -> int:"
        ),
    )
    s.do(None, s.pytest())
    s.do(None, s.diff())
    s.do(None, s.commit("Name station ids as such and annotate the store"))
    s.say(
        f"1, 2 and 5 are done ({s.commits[-1][0]}). `add` now says in its docstring that it is durable on return, which answers 3."
    )


def _rejected(s: Session) -> None:
    s.user(
        "Before billing, the clock thing, because of Chen. D-7: a reading stamped more than 300 s in the future is refused. "
        "There is already future_tolerance_seconds in config.py with 0, nobody uses it.",
        after=130,
    )
    s.do(None, s.search(r"future_tolerance|def accept|ingest\.accept"))
    s.say(
        "Wait: ST-5120 runs 3598 s fast until Thursday 10:00. With D-7 as you say it we refuse everything it sends until then, about "
        "270 readings, and the lake outlet has no level for two days. Shall I keep what is refused somewhere?"
    )
    s.user(
        'Good catch. Yes: refused readings go to a table readings_rejected with the raw body, the reason and the time of arrival. Chen can tell us the exact shift later. Answer 422 {"error": "future"}.'
    )
    s.do(None, s.read("tests/test_ingest.py"))
    s.do(
        None,
        s.write(
            "migrations/005_rejected.sql",
            "CREATE TABLE IF NOT EXISTS readings_rejected (\n    received_at INTEGER NOT NULL,  -- seconds since 1970, UTC\n    reason      TEXT NOT NULL,\n    body        BLOB NOT NULL\n);\n",
        ),
        s.edit("gaugepost/config.py", "future_tolerance_seconds: int = 0", "future_tolerance_seconds: int = 300"),
        s.edit(
            "gaugepost/ingest.py",
            "def accept(store, body: bytes, signature: str, key: bytes) -> Reading:\n    verify(body, signature, key)\n    reading = parse(body)\n",
            'class FromTheFuture(Rejected):\n    """The station\'s clock is fast."""\n\n\n'
            "def accept(store, body: bytes, signature: str, key: bytes, now: int, tolerance_seconds: int = 300) -> Reading:\n"
            "    verify(body, signature, key)\n    reading = parse(body)\n    if reading.taken_at > now + tolerance_seconds:\n"
            '        store.reject(now, "future", body)\n        raise FromTheFuture("future")\n',
        ),
        s.edit(
            "gaugepost/store.py",
            "    def duplicates(self, station_id: str) -> int:",
            "    def reject(self, received_at: int, reason: str, body: bytes) -> None:\n"
            '        self.db.execute("INSERT INTO readings_rejected VALUES (?, ?, ?)", (received_at, reason, body))\n        self.db.commit()\n\n'
            "    def duplicates(self, station_id: str) -> int:",
        ),
        s.edit(
            "gaugepost/api.py",
            '        reading = ingest.accept(app.store, request.body, request.headers.get("X-Signature", ""), key)\n',
            '        reading = ingest.accept(app.store, request.body, request.headers.get("X-Signature", ""), key, app.now())\n'
            '    except ingest.FromTheFuture:\n        return answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "future"})\n',
        ),
    )
    missing = "TypeError: accept() missing 1 required positional argument: 'now'"
    s.do(
        None,
        s.pytest(
            {
                "tests/test_ingest.py::test_a_signed_reading_is_stored": Failure(
                    "ingest.accept(store, body, signature, KEY).level_cm", (missing,), "TypeError"
                ),
                "tests/test_ingest.py::test_a_wrong_signature_is_refused": Failure(
                    'ingest.accept(Store(":memory:")', (missing,), "TypeError"
                ),
            },
            only="tests/test_ingest.py",
        ),
    )
    s.do(
        "The tests call it without a time. I give them one, and the new case.",
        s.edit(
            "tests/test_ingest.py",
            "ingest.accept(store, body, signature, KEY).level_cm == 142",
            "ingest.accept(store, body, signature, KEY, now=700).level_cm == 142",
        ),
        s.edit("tests/test_ingest.py", 'body, "0" * 64, KEY)', 'body, "0" * 64, KEY, now=700)'),
        s.edit(
            "tests/test_ingest.py",
            "def test_a_wrong_signature_is_refused():",
            'def test_a_reading_from_the_future_is_refused_but_kept():\n    store = Store(":memory:")\n    body, signature = signed(station="ST-5120", t=1301, p=1013.2, level=88)\n'
            '    with pytest.raises(ingest.FromTheFuture):\n        ingest.accept(store, body, signature, KEY, now=1000)\n    assert store.count("ST-5120") == 0\n'
            '    assert store.db.execute("SELECT * FROM readings_rejected").fetchall() == [(1000, "future", body)]\n\n\n'
            'def test_a_clock_may_be_300_seconds_fast():\n    store = Store(":memory:")\n    body, signature = signed(station="ST-5120", t=1300, p=1013.2, level=88)\n'
            "    assert ingest.accept(store, body, signature, KEY, now=1000).taken_at == 1300\n\n\n"
            "def test_a_wrong_signature_is_refused():",
        ),
    )
    s.do(None, s.pytest(only="tests/test_ingest.py"))
    s.do(
        None,
        s.edit(
            "docs/decisions.md",
            "(400 range_too_long).\n",
            "(400 range_too_long).\n- **D-7** A reading stamped more than 300 s in the future is refused (422 future) and kept raw in readings_rejected.\n",
        ),
        s.pytest(),
    )
    s.do(None, s.commit("Refuse readings from the future, and keep them"))
    s.say(
        f"D-7 is in ({s.commits[-1][0]}): 422, kept in readings_rejected (migrations/005_rejected.sql). Until Thursday ST-5120 will fill it; "
        "afterwards its rows can be shifted by the 3598 s, if you decide so. `tolerance_seconds` has the same default as the setting, "
        "but the server does not pass the setting yet."
    )
    s.user(
        "Leave that, one more for the list: pass future_tolerance_seconds from the settings. "
        + json.dumps({"todo": ["k5", "tolerance", "old suspects"]})
    )
    s.say(
        "On the list: k5 out of keys.toml, pass future_tolerance_seconds, flag old suspects (only if you want it after all)."
    )
