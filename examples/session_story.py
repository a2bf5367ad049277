"""What happens in the recorded day, told call by call: the morning. The rest is in two other files."""
# ruff: noqa: E501 - what people and machines say in the story is not wrapped

from __future__ import annotations

import json

from session_afternoon import tell_afternoon
from session_evening import tell_evening
from session_recorder import Failure, Session
from session_world import alert_log, day_of_readings, modem_days, service_log

__all__ = ["tell"]

ROWS, DUPLICATES, OF_BRIDGE = 61_930, 1_284, 1_102

FLAPS = Failure(
    "assert run([178",
    (
        "assert [1, 0, 1, 0, 1, 0] == [1]",
        "",
        "  Left contains 5 more items, first extra item: 0",
        "  Use -v to get more diff",
    ),
)
ZERO = Failure(
    "assert hourly_mean(readings) == {0: 1010.0}",
    (
        "assert {0: 505.0} == {0: 1010.0}",
        "",
        "  Differing items:",
        "  {0: 505.0} != {0: 1010.0}",
        "  Use -v to get more diff",
    ),
)
TWICE = Failure(
    'assert store.count("ST-4417") == 1',
    (
        "AssertionError: assert 2 == 1",
        " +  where 2 = count('ST-4417')",
        " +    where count = <gaugepost.store.Store object at 0x7f3e5c1d2a90>.count",
    ),
)


def tell(s: Session) -> None:
    """Tell the whole day."""
    s.system(
        "You are a careful software engineer working in the repository /home/mira/gaugepost on the machine weir-dev. "
        "You have the tools read_file, edit_file, write_file, run and search. Look before you change anything, run the "
        "tests after each change, and say plainly what you did not do. Answer in English."
    )
    _orientation(s)
    _duplicates(s)
    _migration(s)
    _calibration(s)
    _means(s)
    _outlier(s)
    _flapping(s)
    tell_afternoon(s)
    tell_evening(s)


def _orientation(s: Session) -> None:
    s.user(
        "Morning. We have a long day: the district wants gaugepost 0.9.0 on Thursday. Before you touch anything, read the "
        "code and tell me in ten lines how it hangs together.\n\nHouse rules for today, and I mean them:\n"
        "1. Never use floats for money. Integer Rappen, always.\n"
        "2. Times are stored as UTC epoch seconds. Local time only where people read it (Europe/Zurich).\n"
        "3. No new dependencies.\n"
        "4. Small commits, message in the imperative, no emoji in commit messages.\n"
        "5. Short answers. I read diffs, not essays.\n\n"
        "The station everybody complains about is ST-4417 (Brückenwehr), device serial BW-77120-C. Its pressure sensor "
        "reads 0.37 hPa too high according to the calibration sheet of 2025-02-11, so its offset is -0.37 hPa."
    )
    s.do(
        "I'll start with the layout.",
        s.run("find . -type f -not -path './.git/*' -printf '%7s  %P\\n' | sort -k2", s.tree()),
    )
    s.do(
        None,
        s.read("gaugepost/config.py"),
        s.read("gaugepost/models.py"),
        s.read("gaugepost/store.py"),
        s.read("gaugepost/ingest.py"),
    )
    s.do(None, s.read("gaugepost/aggregate.py"), s.read("gaugepost/alerts.py"), s.read("gaugepost/api.py"))
    s.do(None, s.read("gaugepost/billing.py"), s.read("migrations/001_init.sql"), s.read("README.md"))
    s.say(
        "How it hangs together:\n"
        "- Stations POST signed JSON to `/v1/readings` (gaugepost/api.py); gaugepost/ingest.py checks the HMAC and parses.\n"
        "- gaugepost/store.py writes to SQLite, one table `readings`, no key, no index.\n"
        "- gaugepost/aggregate.py makes hourly means and daily ranges, gaugepost/alerts.py turns levels into SMS "
        "(180, 240, 310 cm), gaugepost/billing.py makes invoices.\n"
        "- Settings come from /etc/gaugepost/gaugepost.toml, port 8471, database /var/lib/gaugepost/readings.db, keys in "
        "/etc/gaugepost/keys.toml.\n\n"
        "What worries me at first sight: nothing stops duplicate rows; `latest` breaks on a station without readings; "
        "`hourly_mean` counts a missing value as 0.0; `day_bounds` ignores its timezone and assumes 24 hours; billing is "
        "all floats and rounds VAT per line. I have changed nothing."
    )
    s.user("Good list. Run the tests and tell me which fail. Don't fix anything yet.")
    s.do(
        None,
        s.pytest(
            {
                "tests/test_aggregate.py::test_a_missing_value_is_not_zero": ZERO,
                "tests/test_alerts.py::test_a_level_around_a_threshold_does_not_flap": FLAPS,
                "tests/test_store.py::test_a_reading_sent_twice_is_stored_once": TWICE,
            }
        ),
    )
    s.say(
        "Three fail, each for a reason I had on the list:\n"
        "1. tests/test_store.py::test_a_reading_sent_twice_is_stored_once: 2 rows instead of 1.\n"
        "2. tests/test_aggregate.py::test_a_missing_value_is_not_zero: 505.0 instead of 1010.0.\n"
        "3. tests/test_alerts.py::test_a_level_around_a_threshold_does_not_flap: six messages instead of one."
    )


def _duplicates(s: Session) -> None:
    s.user(
        "Take the duplicates first. They are real: look at this morning's log on weir-prod, ST-4417 loses its modem and "
        "sends everything again."
    )
    s.do(
        "First the log, then how often it happened.",
        s.run("ssh weir-prod tail -n 95 /var/log/gaugepost/service.log", service_log(s.dice, 95)),
        s.run(
            'sqlite3 -readonly /home/mira/copies/readings-2025-03-03.db "SELECT station_id, count(*) - count(DISTINCT '
            'taken_at) AS twice FROM readings GROUP BY station_id HAVING twice > 0 ORDER BY twice DESC"',
            f"ST-4417|{OF_BRIDGE}\nST-5206|97\nST-4703|61\nST-4611|24",
        ),
    )
    s.do(None, s.read("tests/test_store.py"))
    s.do(
        f"{DUPLICATES:,} duplicates, {OF_BRIDGE:,} of them from ST-4417, always after a reconnect. A unique index and an "
        "insert that ignores the second one will do.",
        s.write(
            "migrations/002_unique_readings.sql",
            "DELETE FROM readings WHERE rowid NOT IN (SELECT min(rowid) FROM readings GROUP BY station_id, taken_at);\n"
            "CREATE UNIQUE INDEX IF NOT EXISTS readings_once ON readings (station_id, taken_at);\n",
        ),
        s.edit(
            "gaugepost/store.py",
            'SCHEMA = Path(__file__).parent.parent / "migrations" / "001_init.sql"',
            'MIGRATIONS = Path(__file__).parent.parent / "migrations"',
        ),
        s.edit(
            "gaugepost/store.py",
            "        self.db.executescript(SCHEMA.read_text())",
            '        for script in sorted(MIGRATIONS.glob("*.sql")):\n            self.db.executescript(script.read_text())',
        ),
        s.edit(
            "gaugepost/store.py", 'f"INSERT INTO readings ({COLUMNS})', 'f"INSERT OR IGNORE INTO readings ({COLUMNS})'
        ),
    )
    s.do(None, s.pytest(only="tests/test_store.py"))
    s.say(
        "Duplicates are gone: migrations/002_unique_readings.sql removes the old ones and adds a unique index on "
        "(station_id, taken_at); `add` ignores a second one. tests/test_store.py passes. Not committed."
    )
    s.user(
        "No. Two things wrong with that. You DELETE rows on a customer's database: we never delete measurements, move them "
        "to a table readings_duplicates. And `INSERT OR IGNORE` hides it from us; I want to know per station and day how "
        "many came twice, so that I can send Vogt the numbers for the modem. First one stays, later ones are counted in "
        "ingest_stats. Rewrite 002, it was never applied anywhere."
    )
    s.do(
        "Understood: move, don't delete; count, don't hide.",
        s.write(
            "migrations/002_unique_readings.sql",
            "-- The first of readings that came twice stays; the others are moved, never deleted.\n"
            "CREATE TABLE IF NOT EXISTS readings_duplicates AS SELECT * FROM readings WHERE 0;\n"
            "INSERT INTO readings_duplicates SELECT * FROM readings\n"
            "    WHERE rowid NOT IN (SELECT min(rowid) FROM readings GROUP BY station_id, taken_at);\n"
            "DELETE FROM readings WHERE rowid NOT IN (SELECT min(rowid) FROM readings GROUP BY station_id, taken_at);\n"
            "CREATE UNIQUE INDEX IF NOT EXISTS readings_once ON readings (station_id, taken_at);\n",
        ),
        s.write(
            "migrations/003_ingest_stats.sql",
            "CREATE TABLE IF NOT EXISTS ingest_stats (\n"
            "    station_id TEXT NOT NULL,\n"
            "    day        INTEGER NOT NULL,  -- days since 1970, UTC\n"
            "    duplicates INTEGER NOT NULL DEFAULT 0,\n"
            "    PRIMARY KEY (station_id, day)\n"
            ");\n",
        ),
        s.edit(
            "gaugepost/store.py",
            '        self.db.execute(\n            f"INSERT',
            '        cursor = self.db.execute(\n            f"INSERT',
        ),
        s.edit(
            "gaugepost/store.py",
            "        )\n        self.db.commit()\n",
            "        )\n        new = cursor.rowcount == 1\n        if not new:\n"
            "            self.db.execute(\n"
            '                "INSERT INTO ingest_stats VALUES (?, ?, 1)"\n'
            '                " ON CONFLICT (station_id, day) DO UPDATE SET duplicates = duplicates + 1",\n'
            "                (reading.station_id, reading.taken_at // 86400),\n"
            "            )\n        self.db.commit()\n        return new\n",
        ),
        s.edit(
            "gaugepost/store.py",
            "    def count(self, station_id):",
            "    def duplicates(self, station_id):\n"
            '        sql = "SELECT coalesce(sum(duplicates), 0) FROM ingest_stats WHERE station_id = ?"\n'
            "        return self.db.execute(sql, (station_id,)).fetchone()[0]\n\n    def count(self, station_id):",
        ),
    )
    s.do(
        None,
        s.edit(
            "tests/test_store.py",
            "def test_stations_do_not_mix():",
            "def test_the_first_of_two_stays_and_the_second_is_counted():\n"
            '    store = Store(":memory:")\n'
            "    assert store.add(reading(600, 1011.2))\n"
            "    assert not store.add(reading(600, 999.9))\n"
            '    assert store.latest("ST-4417").pressure_hpa == 1011.2\n'
            '    assert store.duplicates("ST-4417") == 1\n\n\ndef test_stations_do_not_mix():',
        ),
        s.pytest(only="tests/test_store.py"),
        s.read("gaugepost/store.py", 9, 55),
    )
    s.say(
        "Done your way. Old duplicates go to readings_duplicates, new ones are counted per station and UTC day in "
        "ingest_stats, `Store.add` says whether the reading was new. tests/test_store.py: 5 passed."
    )


def _migration(s: Session) -> None:
    s.user(
        "Try the migrations on a copy of production, and prove that nothing got lost. The copy is in /home/mira/copies."
    )
    kept = ROWS - DUPLICATES
    s.do(
        None,
        s.run(
            "cp /home/mira/copies/readings-2025-03-03.db /tmp/try.db && sqlite3 /tmp/try.db 'SELECT count(*) FROM readings' "
            "&& for f in migrations/*.sql; do sqlite3 /tmp/try.db < $f; done && sqlite3 /tmp/try.db 'SELECT count(*) FROM "
            "readings; SELECT count(*) FROM readings_duplicates'",
            f"{ROWS}\n{kept}\n{DUPLICATES}",
        ),
    )
    s.do(
        "Counts add up. Now whether a second run changes anything: `Store` runs all migrations at each start.",
        s.run(
            "for f in migrations/*.sql; do sqlite3 /tmp/try.db < $f; done; sqlite3 /tmp/try.db 'SELECT count(*) FROM readings; "
            "SELECT count(*) FROM readings_duplicates' && sqlite3 /tmp/try.db 'PRAGMA integrity_check'",
            f"{kept}\n{DUPLICATES}\nok",
        ),
    )
    s.say(
        f"Before: {ROWS:,} readings. After: {kept:,} in readings and {DUPLICATES:,} in readings_duplicates, together "
        f"{ROWS:,}. A second run changes nothing, the integrity check says ok."
    )
    s.user(
        "Good. Start docs/decisions.md, numbered, one or two lines each. D-1 is the time rule, D-2 is what we just did with "
        "duplicates. Then commit."
    )
    s.do(
        None,
        s.write(
            "docs/decisions.md",
            "# Decisions\n\n"
            "- **D-1** Times are stored as UTC epoch seconds. Local time (Europe/Zurich) only where people read it.\n"
            "- **D-2** Of readings sent twice the first stays. Old ones were moved to readings_duplicates; new ones are "
            "counted per station and UTC day in ingest_stats. Measurements are never deleted.\n",
        ),
        s.commit("Store each reading once and count what came twice"),
    )
    s.say(f"Committed as {s.commits[-1][0]}.")
    s.user(
        "I have the stand-up and then Vogt on the phone. Write me three lines that I can read to him about the modem.",
        95,
    )
    s.do(
        None,
        s.run(
            "ssh weir-prod /opt/gaugepost/bin/modem --station ST-4417 --by-day --from 2025-02-03",
            modem_days(s.dice, OF_BRIDGE),
        ),
    )
    s.say(
        f"For Vogt:\n- Between 3 February and 3 March gaugepost received {DUPLICATES:,} readings twice; {OF_BRIDGE:,} of them "
        "came from ST-4417, serial BW-77120-C.\n- Each series begins within seconds of a modem reconnect, the "
        "signal falls below -100 dBm on most days.\n- We store them once now, so nothing is wrong in the data; the "
        "traffic on his SIM card is."
    )


def _calibration(s: Session) -> None:
    s.user(
        "Vogt will swap the antenna next week. Now calibration. I first wanted to correct the pressure when it comes in, "
        "but Ruth from the district needs the raw values for her audit. So: raw stays raw in the table, the offset is "
        "applied when we read. Offsets have a date from which they hold. That is D-3.",
        after=2_340,
    )
    s.do("Who reads pressure today?", s.search(r"pressure_hpa|\.between\(|\.latest\("))
    s.do(
        "Two readers, both through Store, so one place is enough.",
        s.write(
            "migrations/004_calibration.sql",
            "CREATE TABLE IF NOT EXISTS calibration (\n"
            "    station_id TEXT NOT NULL,\n"
            "    valid_from INTEGER NOT NULL,  -- seconds since 1970, UTC\n"
            "    offset_hpa REAL NOT NULL,     -- added to the raw value\n"
            "    sheet      TEXT NOT NULL,\n"
            "    PRIMARY KEY (station_id, valid_from)\n"
            ");\n",
        ),
        s.write(
            "gaugepost/calibration.py",
            '"""Corrections of the pressure sensors, applied when readings are read (D-3)."""\n\n'
            "from bisect import bisect_right\nfrom dataclasses import replace\n\n\n"
            "def offsets(db, station_id):\n"
            '    """Return (valid_from, offset in hPa) of a station, oldest first."""\n'
            '    sql = "SELECT valid_from, offset_hpa FROM calibration WHERE station_id = ? ORDER BY valid_from"\n'
            "    return db.execute(sql, (station_id,)).fetchall()\n\n\n"
            "def corrected(reading, table):\n"
            '    """Return the reading with the offset that held when it was taken."""\n'
            "    at = bisect_right(table, reading.taken_at, key=lambda row: row[0])\n"
            "    if at == 0 or reading.pressure_hpa is None:\n"
            "        return reading\n"
            "    return replace(reading, pressure_hpa=round(reading.pressure_hpa + table[at - 1][1], 2))\n",
        ),
        s.write(
            "tests/test_calibration.py",
            "from gaugepost.calibration import corrected\nfrom gaugepost.models import Reading\n\n"
            "TABLE = [(1000, -0.37), (5000, 0.12)]\n\n\n"
            "def at(t, pressure=1011.2):\n"
            '    return corrected(Reading("ST-4417", t, pressure, 8.0, 140), TABLE).pressure_hpa\n\n\n'
            "def test_before_the_first_sheet_nothing_is_corrected():\n    assert at(999) == 1011.2\n\n\n"
            "def test_a_sheet_holds_from_its_second_on():\n"
            "    assert (at(1000), at(4999), at(5000)) == (1010.83, 1010.83, 1011.32)\n\n\n"
            "def test_a_missing_pressure_stays_missing():\n    assert at(1000, None) is None\n",
        ),
    )
    s.do(
        None,
        s.edit(
            "gaugepost/store.py",
            "from gaugepost.models import Reading\n",
            "from gaugepost import calibration\nfrom gaugepost.models import Reading\n",
        ),
        s.edit(
            "gaugepost/store.py",
            "        return [Reading(*row) for row in rows]",
            "        table = calibration.offsets(self.db, station_id)\n"
            "        return [calibration.corrected(Reading(*row), table) for row in rows]",
        ),
        s.edit(
            "gaugepost/store.py",
            "        return Reading(*row)\n",
            "        return calibration.corrected(Reading(*row), calibration.offsets(self.db, station_id))\n",
        ),
    )
    s.do(None, s.pytest(only="tests/test_calibration.py"), s.pytest(only="tests/test_store.py"))
    s.do(
        "The offset of ST-4417, from midnight UTC of the sheet's day, on the copy:",
        s.run(
            'sqlite3 /tmp/try.db < migrations/004_calibration.sql && sqlite3 /tmp/try.db "INSERT INTO calibration VALUES '
            "('ST-4417', strftime('%s', '2025-02-11'), -0.37, 'sheet 2025-02-11'); SELECT * FROM calibration\"",
            "ST-4417|1739232000|-0.37|sheet 2025-02-11",
        ),
    )
    s.say(
        "D-3 is in: gaugepost/calibration.py, table `calibration` (migrations/004_calibration.sql), applied in "
        "`Store.between` and `Store.latest`. Raw rows are untouched. ST-4417 gets -0.37 hPa from 1739232000 "
        "(2025-02-11 00:00 UTC). I put it into /tmp/try.db only, not into production."
    )


def _means(s: Session) -> None:
    s.user(
        "Write D-3 down. Then the hourly mean: a missing value must not be counted at all. Hour without any value: no key."
    )
    s.do(None, s.read("tests/test_aggregate.py"), s.read("docs/decisions.md"))
    s.do(
        None,
        s.edit(
            "docs/decisions.md",
            "Measurements are never deleted.\n",
            "Measurements are never deleted.\n"
            "- **D-3** Raw values stay raw. Calibration offsets have a day from which they hold and are applied on reading.\n",
        ),
        s.edit(
            "gaugepost/aggregate.py",
            "        value = getattr(reading, field) or 0.0\n        hours[reading.taken_at - reading.taken_at % HOUR].append(value)",
            "        value = getattr(reading, field)\n        if value is not None:\n"
            "            hours[reading.taken_at - reading.taken_at % HOUR].append(value)",
        ),
        s.edit(
            "tests/test_aggregate.py",
            "def test_daily_range_ignores_missing_levels():",
            "def test_an_hour_without_any_value_has_no_mean():\n"
            "    assert hourly_mean([reading(0, None)]) == {}\n\n\ndef test_daily_range_ignores_missing_levels():",
        ),
        s.pytest({"tests/test_alerts.py::test_a_level_around_a_threshold_does_not_flap": FLAPS}),
    )
    s.say(
        "Done; only the flapping alert test still fails. `or 0.0` also turned a true 0 °C into 0.0, which happened to be right."
    )
    s.user(
        "While you are there: day_bounds. Mention me one day of this year for which it is wrong, then fix it with zoneinfo "
        "(standard library, so rule 3 is fine) and test both DST days of 2025."
    )
    s.do(
        None,
        s.edit(
            "gaugepost/aggregate.py",
            "    start = int(day.timestamp())\n    return start, start + DAY\n",
            "    zone = ZoneInfo(timezone)\n"
            "    start, end = (datetime.combine(d, time(), zone) for d in (day, day + timedelta(days=1)))\n"
            "    return int(start.timestamp()), int(end.timestamp())\n",
        ),
        s.edit(
            "gaugepost/aggregate.py",
            "from collections import defaultdict\n\nHOUR = 3600\nDAY = 24 * HOUR\n",
            "from collections import defaultdict\nfrom datetime import datetime, time, timedelta\nfrom zoneinfo import ZoneInfo\n\nHOUR = 3600\n",
        ),
        s.edit(
            "gaugepost/aggregate.py",
            '    """Return start and end of a day in seconds since 1970."""',
            '    """Return start and end of a local calendar day in seconds since 1970; it may have 23 or 25 hours."""',
        ),
        s.edit(
            "tests/test_aggregate.py",
            "from gaugepost.aggregate import daily_range, hourly_mean\n",
            "from datetime import date\n\nimport pytest\n\nfrom gaugepost.aggregate import daily_range, day_bounds, hourly_mean\n",
        ),
        s.edit(
            "tests/test_aggregate.py",
            "def test_daily_range_ignores_missing_levels():",
            '@pytest.mark.parametrize(("day", "hours"), [("2025-03-30", 23), ("2025-10-26", 25), ("2025-03-04", 24)])\n'
            "def test_a_local_day_has_as_many_hours_as_it_has(day, hours):\n"
            '    start, end = day_bounds(date.fromisoformat(day), "Europe/Zurich")\n'
            "    assert end - start == hours * 3600\n\n\ndef test_daily_range_ignores_missing_levels():",
        ),
    )
    s.do(None, s.pytest(only="tests/test_aggregate.py"), s.search(r"day_bounds|\bDAY\b"))
    s.say(
        "2025-03-30 has 23 hours here: the old code ran one hour into the 31st (and took the server's own zone). "
        "`day_bounds` now uses zoneinfo; 2025-03-30 and 2025-10-26 are tested with 23 and 25 hours. Nobody else calls it yet."
    )
    s.user("Commit both, separately if you can.")
    s.do(None, s.diff())
    s.do(
        "The changes are interleaved in one file, so I commit calibration and means together.",
        s.commit("Correct pressure on reading; mean over present values; days as long as they are"),
    )
    s.say(
        f"One commit after all, {s.commits[-1][0]}: the edits sit in the same files and I did not want to split hunks by hand."
    )


def _outlier(s: Session) -> None:
    s.user("Show me yesterday's raw readings of ST-4417 as JSON. Ruth says there is one impossible value.", after=45)
    day = day_of_readings(s.dice, 1_740_956_400)
    bad = day[82]
    s.do(
        None,
        s.run(
            "curl -s 'http://weir-prod:8471/v1/internal/raw?station=ST-4417&from=1740956400&to=1741042800'",
            "[\n" + ",\n".join(json.dumps(reading) for reading in day) + "\n]",
        ),
    )
    levels = [int(str(reading["level"])) for reading in day]
    s.say(
        f"144 readings. The impossible one is t={bad['t']} (13:40 local time): {bad['p']} hPa between {day[81]['p']} and "
        f"{day[83]['p']}. It looks like a digit that slipped: 10{str(bad['p'])[2:]} would at least be possible. Level went from "
        f"{min(levels)} to {max(levels)} cm, nothing odd there."
    )
    s.user(
        "Don't repair digits, we don't guess. D-4: a pressure that jumps more than 8 hPa against both neighbours gets the "
        "flag 'suspect'. It stays in the table and in the raw export, hourly means leave it out. The flag is set when the "
        "next reading arrives."
    )
    s.do(
        None,
        s.write(
            "gaugepost/quality.py",
            '"""Marks readings that can\'t be true; nothing is changed or deleted (D-4)."""\n\n'
            "# A front brings 2 to 3 hPa in ten minutes at most; a slipped digit brings 10 or more.\n"
            "JUMP_HPA = 8.0\n\n\n"
            "def is_suspect(before, reading, after):\n"
            '    """Whether a pressure jumps against both of its neighbours."""\n'
            "    values = (before.pressure_hpa, reading.pressure_hpa, after.pressure_hpa)\n"
            "    if None in values:\n        return False\n"
            "    return abs(values[1] - values[0]) > JUMP_HPA and abs(values[1] - values[2]) > JUMP_HPA\n",
        ),
        s.edit(
            "gaugepost/store.py",
            "    def duplicates(self, station_id):",
            "    def flag_suspect(self, station_id):\n"
            '        """Look at the last three readings; mark the middle one if it can\'t be true."""\n'
            '        sql = f"SELECT {COLUMNS} FROM readings WHERE station_id = ? ORDER BY taken_at DESC LIMIT 3"\n'
            "        last = [Reading(*row) for row in self.db.execute(sql, (station_id,))]\n"
            "        if len(last) == 3 and quality.is_suspect(last[2], last[1], last[0]):\n"
            "            self.db.execute(\n"
            "                \"UPDATE readings SET flag = 'suspect' WHERE station_id = ? AND taken_at = ?\",\n"
            "                (station_id, last[1].taken_at),\n            )\n            self.db.commit()\n\n"
            "    def duplicates(self, station_id):",
        ),
        s.edit(
            "gaugepost/store.py", "from gaugepost import calibration\n", "from gaugepost import calibration, quality\n"
        ),
        s.edit(
            "gaugepost/ingest.py",
            "    store.add(reading)\n",
            "    if store.add(reading):\n        store.flag_suspect(reading.station_id)\n",
        ),
        s.edit(
            "gaugepost/aggregate.py",
            "        if value is not None:\n",
            '        if value is not None and reading.flag == "ok":\n',
        ),
    )
    s.do(
        None,
        s.write(
            "tests/test_quality.py",
            "from gaugepost.aggregate import hourly_mean\nfrom gaugepost.models import Reading\n"
            "from gaugepost.store import Store\n\n\n"
            "def day(*pressures):\n"
            '    store = Store(":memory:")\n'
            "    for i, pressure in enumerate(pressures):\n"
            '        store.add(Reading("ST-4417", 600 * i, pressure, 8.0, 140))\n'
            '        store.flag_suspect("ST-4417")\n'
            '    return store.between("ST-4417", 0, 3600)\n\n\n'
            "def test_a_slipped_digit_is_suspect():\n"
            '    assert [r.flag for r in day(1013.8, 1213.9, 1013.7)] == ["ok", "suspect", "ok"]\n\n\n'
            "def test_a_front_is_not_suspect():\n"
            '    assert [r.flag for r in day(1013.8, 1010.1, 1006.4)] == ["ok", "ok", "ok"]\n\n\n'
            "def test_a_step_that_stays_is_not_suspect():\n"
            '    assert {r.flag for r in day(1013.8, 1023.0, 1023.1)} == {"ok"}\n\n\n'
            "def test_means_leave_suspects_out():\n"
            "    assert hourly_mean(day(1010.0, 1213.9, 1012.0)) == {0: 1011.0}\n",
        ),
        s.edit(
            "docs/decisions.md",
            "applied on reading.\n",
            "applied on reading.\n- **D-4** A pressure more than 8 hPa off both neighbours is flagged 'suspect' when the next "
            "reading arrives. It stays stored and exported; hourly means leave it out. We don't repair digits.\n",
        ),
        s.pytest({"tests/test_alerts.py::test_a_level_around_a_threshold_does_not_flap": FLAPS}),
    )
    s.do(None, s.commit("Flag pressures that jump against both neighbours"))
    s.say(
        f"D-4 is in as {s.commits[-1][0]} (gaugepost/quality.py, JUMP_HPA = 8.0). Old rows are not flagged; that would need a "
        "one-time pass over production, which I have not written."
    )


def _flapping(s: Session) -> None:
    s.user(
        "Leave the old rows. Last one before lunch: the flapping. Here is what Jonas got on his phone last night, in alerts.log."
    )
    log, levels, sent = alert_log(s.dice)
    s.do(
        None, s.run("ssh weir-prod cat /var/log/gaugepost/alerts.log | tail -n 70", log), s.read("gaugepost/alerts.py")
    )
    s.do(None, s.read("tests/test_alerts.py"))
    s.say(
        f"{sent} messages in one night, all around 180 cm, the level stayed between {min(levels)} and {max(levels)} cm. Proposal: go up at the threshold, "
        "go down only once the level is 5 cm below it. With last night's log that makes 1 or 2 messages. Shall I?"
    )
    s.user(
        "Yes, 5 cm, and an all-clear only goes out if it was level 2 or more before. Also: no SMS between 22:00 and 06:00 "
        "local time unless it is level 3. People sleep. A message that was held back goes out at 06:00 if the level still "
        "holds. That's D-5."
    )
    s.do(
        None,
        s.edit(
            "gaugepost/alerts.py",
            'def step(state, reading, send):\n    """Take one reading; call send(level, reading) where the level changed."""\n'
            "    if reading.level_cm is None:\n        return state\n    level = level_for(reading.level_cm)\n"
            "    if level != state.level:\n        send(level, reading)\n        return AlertState(level, state.sent + 1)\n    return state\n",
            "def next_level(level, level_cm):\n"
            '    """Return the level after a reading: up at a threshold, down only HYSTERESIS_CM below it (D-5)."""\n'
            "    return max(level_for(level_cm), min(level, level_for(level_cm + HYSTERESIS_CM)))\n\n\n"
            "def is_quiet(t, timezone):\n"
            '    """Whether people sleep: 22:00 to 06:00 local time."""\n'
            "    hour = datetime.fromtimestamp(t, ZoneInfo(timezone)).hour\n"
            "    return hour >= 22 or hour < 6\n\n\n"
            'def step(state, reading, send, timezone="Europe/Zurich"):\n'
            '    """Take one reading; call send(level, reading) where people have to know of a new level."""\n'
            "    if reading.level_cm is None:\n        return state\n"
            "    level = next_level(state.level, reading.level_cm)\n"
            "    if level < 3 and is_quiet(reading.taken_at, timezone):\n        return AlertState(level, state.told, state.sent)\n"
            "    if level == state.told or (level == 0 and state.told < 2):\n        return AlertState(level, level, state.sent)\n"
            "    send(level, reading)\n    return AlertState(level, level, state.sent + 1)\n",
        ),
        s.edit(
            "gaugepost/alerts.py",
            "class AlertState:\n    level: int = 0\n    sent: int = 0\n",
            "class AlertState:\n    level: int = 0  # where the river is\n    told: int = 0  # what people were told last\n    sent: int = 0\n",
        ),
        s.edit(
            "gaugepost/alerts.py",
            "from dataclasses import dataclass\n",
            "from dataclasses import dataclass\nfrom datetime import datetime\nfrom zoneinfo import ZoneInfo\n",
        ),
        s.edit(
            "gaugepost/alerts.py",
            "THRESHOLDS = {1: 180, 2: 240, 3: 310}\n",
            "THRESHOLDS = {1: 180, 2: 240, 3: 310}\nHYSTERESIS_CM = 5\n",
        ),
    )
    night = Failure(
        "assert run([150, 185, 188, 190]) == [1]",
        ("assert [] == [1]", "", "  Right contains one more item: 1", "  Use -v to get more diff"),
    )
    flat = Failure(
        "assert run([178",
        ("assert [] == [1]", "", "  Right contains one more item: 1", "  Use -v to get more diff"),
    )
    s.do(
        None,
        s.pytest(
            {
                "tests/test_alerts.py::test_a_level_around_a_threshold_does_not_flap": flat,
                "tests/test_alerts.py::test_a_rise_is_told_once": night,
            },
            only="tests/test_alerts.py",
        ),
    )
    s.do(
        "The tests start at t = 0, which is 01:00 in Zurich, so they now fall into the quiet hours. That is the tests' "
        "clock, not the code: I move them to 10:00 and add the night.",
        s.edit(
            "tests/test_alerts.py",
            "def run(levels):\n    sent, state = [], AlertState()\n",
            "MORNING = 1_741_078_800  # 2025-03-04 10:00 in Zurich\nNIGHT = 1_741_125_600  # 23:00 the same day\n\n\n"
            "def run(levels, start=MORNING):\n    sent, state = [], AlertState()\n",
        ),
        s.edit("tests/test_alerts.py", "at(level, i * 600)", "at(level, start + i * 600)"),
        s.edit(
            "tests/test_alerts.py",
            "def test_a_level_around_a_threshold_does_not_flap():",
            "def test_nobody_is_woken_below_level_3():\n    assert run([150, 185, 250, 250], NIGHT) == []\n"
            "    assert run([150, 185, 315, 315], NIGHT) == [3]\n\n\n"
            "def test_what_was_held_back_goes_out_at_six_if_it_still_holds():\n"
            "    assert run([250] * 45, NIGHT) == [2]\n    assert run([250] * 20 + [150] * 25, NIGHT) == []\n\n\n"
            "def test_an_all_clear_follows_level_2_only():\n"
            "    assert run([185, 150]) == [1]\n    assert run([250, 150]) == [2, 0]\n\n\n"
            "def test_a_level_around_a_threshold_does_not_flap():",
        ),
        s.edit(
            "docs/decisions.md",
            "We don't repair digits.\n",
            "We don't repair digits.\n- **D-5** Alert levels fall only 5 cm below their threshold. No SMS from 22:00 to 06:00 "
            "local time below level 3; what was held back goes out at 06:00 if it still holds. An all-clear follows level 2 or 3 only.\n",
        ),
    )
    s.do(None, s.pytest())
    s.do(
        "Last night's levels through the new code, to see what Jonas would have got:",
        s.run("python bench/replay_alerts.py alerts-2025-03-03.log --from 21:00", _replayed(levels)),
    )
    s.do(None, s.commit("Alert with hysteresis and let people sleep"))
    s.say(
        f"All green, committed as {s.commits[-1][0]}; Jonas would have got one message at most. D-5 is written down. Enjoy your lunch."
    )


def _replayed(levels: list[int]) -> str:
    """Return what the new rule makes of a night's levels: up at 180 cm, down below 175 cm, quiet from 22:00 to 06:00."""
    found, level, told, sent = ["local  level_cm  level  told"], 0, 0, 0
    for step, centimetres in enumerate(levels):
        minute = (21 * 60 + 10 * step) % 1440
        level = 1 if centimetres >= 180 or (level and centimetres >= 175) else 0
        if 6 * 60 <= minute < 22 * 60 and level != told:
            sent += level
            told = level
        found.append(f"{minute // 60:02}:{minute % 60:02}  {centimetres:8}  {level:5}  {told:4}")
    return "\n".join([*found, f"messages: {sent}"])
