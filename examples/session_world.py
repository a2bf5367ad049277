"""The project that the recorded agent works on: the files as they are in the morning, and what the machine knows.

Everything here is invented: gaugepost, its stations, customers and people do not exist.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FILES",
    "PLANS",
    "Dice",
    "alert_log",
    "customers",
    "day_of_readings",
    "hours_of_stations",
    "load_test",
    "modem_days",
    "service_log",
    "stations",
]


class Dice:
    """Chance that falls the same way on every machine: Python promises that for `random()` alone."""

    def __init__(self, seed: int) -> None:
        """Start at a seed."""
        self._random = random.Random(seed)  # noqa: S311 - a story, no secret

    def number(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, values: Sequence[str]) -> str:
        """Return one of the values."""
        return values[self.number(0, len(values) - 1)]

    def noise(self, spread: float) -> float:
        """Return a number around 0: a sum of twelve even ones comes close enough to a bell."""
        return (sum(self._random.random() for _ in range(12)) - 6) * spread


CONFIG = '''"""Settings of the service, read once at start."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

DEFAULT_PATH = Path("/etc/gaugepost/gaugepost.toml")


@dataclass(frozen=True)
class Settings:
    database: Path = Path("/var/lib/gaugepost/readings.db")
    keys: Path = Path("/etc/gaugepost/keys.toml")
    host: str = "127.0.0.1"
    port: int = 8471
    timezone: str = "Europe/Zurich"
    sms_gateway: str = "https://sms.invalid/v2/send"
    future_tolerance_seconds: int = 0


def load(path: Path = DEFAULT_PATH) -> Settings:
    if not path.exists():
        return Settings()
    with path.open("rb") as file:
        values = tomllib.load(file)
    for name in ("database", "keys"):
        if name in values:
            values[name] = Path(values[name])
    return Settings(**values)
'''

MODELS = '''"""What a station measures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Station:
    id: str
    name: str
    serial: str
    altitude_m: int
    interval_seconds: int = 600


@dataclass(frozen=True)
class Reading:
    station_id: str
    taken_at: int  # seconds since 1970, UTC
    pressure_hpa: float | None
    temperature_c: float | None
    level_cm: int | None
    flag: str = "ok"
'''

STORE = '''"""Readings in SQLite."""

import sqlite3
from pathlib import Path

from gaugepost.models import Reading

SCHEMA = Path(__file__).parent.parent / "migrations" / "001_init.sql"
COLUMNS = "station_id, taken_at, pressure_hpa, temperature_c, level_cm, flag"


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.executescript(SCHEMA.read_text())

    def add(self, reading):
        self.db.execute(
            f"INSERT INTO readings ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            (
                reading.station_id,
                reading.taken_at,
                reading.pressure_hpa,
                reading.temperature_c,
                reading.level_cm,
                reading.flag,
            ),
        )
        self.db.commit()

    def between(self, station_id, start, end):
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM readings WHERE station_id = ? AND taken_at >= ? AND taken_at < ? ORDER BY taken_at",
            (station_id, start, end),
        )
        return [Reading(*row) for row in rows]

    def latest(self, station_id):
        row = self.db.execute(
            f"SELECT {COLUMNS} FROM readings WHERE station_id = ? ORDER BY taken_at DESC LIMIT 1",
            (station_id,),
        ).fetchone()
        return Reading(*row)

    def count(self, station_id):
        return self.db.execute("SELECT count(*) FROM readings WHERE station_id = ?", (station_id,)).fetchone()[0]
'''

INGEST = '''"""From the bytes a station sends to a reading."""

import hashlib
import hmac
import json

from gaugepost.models import Reading


class Rejected(Exception):
    """The payload is not from the station, or is not a reading."""


def verify(body: bytes, signature: str, key: bytes) -> None:
    expected = hmac.new(key, body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, signature):
        raise Rejected("signature")


def parse(body: bytes) -> Reading:
    try:
        values = json.loads(body)
        return Reading(
            station_id=values["station"],
            taken_at=int(values["t"]),
            pressure_hpa=values.get("p"),
            temperature_c=values.get("temp"),
            level_cm=values.get("level"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Rejected(f"payload: {error}") from error


def accept(store, body: bytes, signature: str, key: bytes) -> Reading:
    verify(body, signature, key)
    reading = parse(body)
    store.add(reading)
    return reading
'''

AGGREGATE = '''"""Hourly and daily means."""

from collections import defaultdict

HOUR = 3600
DAY = 24 * HOUR


def hourly_mean(readings, field="pressure_hpa"):
    """Return {start of hour: mean} for a field."""
    hours = defaultdict(list)
    for reading in readings:
        value = getattr(reading, field) or 0.0
        hours[reading.taken_at - reading.taken_at % HOUR].append(value)
    return {hour: sum(values) / len(values) for hour, values in sorted(hours.items())}


def day_bounds(day, timezone):
    """Return start and end of a day in seconds since 1970."""
    start = int(day.timestamp())
    return start, start + DAY


def daily_range(readings, field="level_cm"):
    values = [getattr(reading, field) for reading in readings if getattr(reading, field) is not None]
    return (min(values), max(values)) if values else None
'''

ALERTS = '''"""Who is called when a river rises."""

from dataclasses import dataclass

# Level in cm at which each alert level begins.
THRESHOLDS = {1: 180, 2: 240, 3: 310}


@dataclass
class AlertState:
    level: int = 0
    sent: int = 0


def level_for(level_cm):
    return max((level for level, start in THRESHOLDS.items() if level_cm >= start), default=0)


def step(state, reading, send):
    """Take one reading; call send(level, reading) where the level changed."""
    if reading.level_cm is None:
        return state
    level = level_for(reading.level_cm)
    if level != state.level:
        send(level, reading)
        return AlertState(level, state.sent + 1)
    return state
'''

BILLING = '''"""Invoices for subscribers of the data feed."""

from dataclasses import dataclass

PRICES = {"daily": 39.00, "hourly": 79.00, "hourly-plus": 129.00}  # CHF per station and month
VAT = 0.081


@dataclass
class Line:
    plan: str
    stations: int

    def net(self):
        return PRICES[self.plan] * self.stations

    def vat(self):
        return round(self.net() * VAT, 2)


@dataclass
class Invoice:
    number: str
    customer: str
    lines: list

    def total(self):
        return sum(line.net() + line.vat() for line in self.lines)


def export(invoices):
    """Return CSV text, a row for each invoice."""
    rows = ["number,customer,stations,total"]
    for invoice in invoices:
        stations = sum(line.stations for line in invoice.lines)
        rows.append(f"{invoice.number},{invoice.customer},{stations},{invoice.total()}")
    return "\\n".join(rows) + "\\n"
'''

API = '''"""The HTTP face: stations in, subscribers out."""

import json
from http import HTTPStatus

from gaugepost import ingest

ROUTES = {}


def route(method, pattern):
    def register(function):
        ROUTES[(method, pattern)] = function
        return function

    return register


def answer(status, value):
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


@route("POST", "/v1/readings")
def post_reading(app, request):
    key = app.keys[request.headers["X-Key-Id"]]
    try:
        reading = ingest.accept(app.store, request.body, request.headers["X-Signature"], key)
    except ingest.Rejected as error:
        return answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
    return answer(HTTPStatus.CREATED, {"station": reading.station_id, "t": reading.taken_at})


@route("GET", "/v1/stations/{id}/latest")
def get_latest(app, request, id):
    reading = app.store.latest(id)
    return answer(HTTPStatus.OK, {"station": id, "t": reading.taken_at, "p": reading.pressure_hpa})


@route("GET", "/v1/stations/{id}/hours")
def get_hours(app, request, id):
    start, end = int(request.query["from"]), int(request.query["to"])
    readings = app.store.between(id, start, end)
    from gaugepost.aggregate import hourly_mean

    return answer(HTTPStatus.OK, {"station": id, "hours": hourly_mean(readings)})
'''

MIGRATION_1 = """CREATE TABLE IF NOT EXISTS readings (
    station_id    TEXT NOT NULL,
    taken_at      INTEGER NOT NULL,
    pressure_hpa  REAL,
    temperature_c REAL,
    level_cm      INTEGER,
    flag          TEXT NOT NULL DEFAULT 'ok'
);
"""

TEST_STORE = """from gaugepost.models import Reading
from gaugepost.store import Store


def reading(t, pressure=1011.2, station="ST-4417"):
    return Reading(station, t, pressure, 8.5, 142)


def test_between_is_half_open():
    store = Store(":memory:")
    for t in (600, 1200, 1800):
        store.add(reading(t))
    assert [r.taken_at for r in store.between("ST-4417", 600, 1800)] == [600, 1200]


def test_latest_is_newest_by_time_not_by_arrival():
    store = Store(":memory:")
    store.add(reading(1800))
    store.add(reading(600))
    assert store.latest("ST-4417").taken_at == 1800


def test_a_reading_sent_twice_is_stored_once():
    store = Store(":memory:")
    store.add(reading(600))
    store.add(reading(600))
    assert store.count("ST-4417") == 1


def test_stations_do_not_mix():
    store = Store(":memory:")
    store.add(reading(600))
    store.add(reading(600, station="ST-5120"))
    assert store.count("ST-4417") == 1
"""

TEST_AGGREGATE = """from gaugepost.aggregate import daily_range, hourly_mean
from gaugepost.models import Reading


def reading(t, pressure, level=140):
    return Reading("ST-4417", t, pressure, 8.0, level)


def test_hourly_mean_of_two_hours():
    readings = [reading(0, 1010.0), reading(1800, 1012.0), reading(3600, 1008.0)]
    assert hourly_mean(readings) == {0: 1011.0, 3600: 1008.0}


def test_a_missing_value_is_not_zero():
    readings = [reading(0, 1010.0), reading(600, None)]
    assert hourly_mean(readings) == {0: 1010.0}


def test_daily_range_ignores_missing_levels():
    readings = [reading(0, 1010.0, 140), reading(600, 1010.0, None), reading(1200, 1010.0, 166)]
    assert daily_range(readings) == (140, 166)
"""

TEST_ALERTS = """from gaugepost.alerts import AlertState, level_for, step
from gaugepost.models import Reading


def at(level, t=0):
    return Reading("ST-4417", t, 1011.0, 8.0, level)


def run(levels):
    sent, state = [], AlertState()
    for i, level in enumerate(levels):
        state = step(state, at(level, i * 600), lambda new, _: sent.append(new))
    return sent


def test_levels_begin_at_their_threshold():
    assert [level_for(cm) for cm in (179, 180, 240, 310)] == [0, 1, 2, 3]


def test_a_rise_is_told_once():
    assert run([150, 185, 188, 190]) == [1]


def test_a_level_around_a_threshold_does_not_flap():
    assert run([178, 181, 179, 182, 179, 183, 178]) == [1]
"""

TEST_BILLING = """from gaugepost.billing import Invoice, Line, export


def test_a_line_costs_price_times_stations():
    assert Line("hourly", 3).net() == 237.00


def test_total_has_vat():
    assert Invoice("GP-1", "cus_1", [Line("daily", 1)]).total() == 42.16


def test_export_has_a_row_for_each_invoice():
    invoices = [Invoice("GP-1", "cus_1", [Line("daily", 3), Line("hourly", 1)])]
    assert export(invoices) == "number,customer,stations,total\\nGP-1,cus_1,4,211.88\\n"
"""

TEST_INGEST = """import hashlib
import hmac
import json

import pytest

from gaugepost import ingest
from gaugepost.store import Store

KEY = b"not a real key"


def signed(**values):
    body = json.dumps(values).encode()
    return body, hmac.new(KEY, body, hashlib.sha256).hexdigest()


def test_a_signed_reading_is_stored():
    store = Store(":memory:")
    body, signature = signed(station="ST-4417", t=600, p=1011.2, level=142)
    assert ingest.accept(store, body, signature, KEY).level_cm == 142
    assert store.count("ST-4417") == 1


def test_a_wrong_signature_is_refused():
    body, _ = signed(station="ST-4417", t=600)
    with pytest.raises(ingest.Rejected, match="signature"):
        ingest.accept(Store(":memory:"), body, "0" * 64, KEY)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"station": "ST-4417"}', b'{"station": "ST-4417", "t": "noon"}'])
def test_a_payload_that_is_no_reading_is_refused(body):
    with pytest.raises(ingest.Rejected, match="payload"):
        ingest.parse(body)
"""

TEST_API = """import json
from types import SimpleNamespace

from gaugepost import api
from gaugepost.models import Reading
from gaugepost.store import Store


def app():
    return SimpleNamespace(store=Store(":memory:"), keys={"k6": b"not a real key"})


def test_latest_shows_the_newest_reading():
    service = app()
    service.store.add(Reading("ST-4417", 600, 1011.2, 8.5, 142))
    status, _, body = api.get_latest(service, None, "ST-4417")
    assert (status, json.loads(body)["t"]) == (200, 600)


def test_hours_are_means():
    service = app()
    service.store.add(Reading("ST-4417", 600, 1011.0, 8.5, 142))
    service.store.add(Reading("ST-4417", 1200, 1013.0, 8.5, 142))
    request = SimpleNamespace(query={"from": "0", "to": "3600"})
    assert json.loads(api.get_hours(service, request, "ST-4417")[2])["hours"] == {"0": 1012.0}
"""

README = """# gaugepost

Collects what river and weather stations measure, tells the district when water rises, and sells the data feed.

    python -m gaugepost serve            # port 8471 unless /etc/gaugepost/gaugepost.toml says otherwise
    python -m gaugepost invoice 2025-02  # invoices of a month, as CSV

Stations sign each payload with HMAC-SHA256; the keys are in /etc/gaugepost/keys.toml.
"""

PYPROJECT = """[project]
name = "gaugepost"
version = "0.8.3"
requires-python = ">=3.11"
dependencies = []

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

UNIT = """[Unit]
Description=gaugepost
After=network-online.target

[Service]
User=gaugepost
ExecStart=/opt/gaugepost/venv/bin/python -m gaugepost serve
Restart=on-failure
RestartSec=5

[Install]
WantedBy=multi-user.target
"""

PLANS = {"daily": 3_900, "hourly": 7_900, "hourly-plus": 12_900}  # Rappen per station and month

_PLACES = [
    ("ST-4417", "Brückenwehr", 412),
    ("ST-4418", "Unterstau", 405),
    ("ST-4502", "Mattenau", 468),
    ("ST-4503", "Galgenried", 481),
    ("ST-4610", "Steinbruch Nord", 733),
    ("ST-4611", "Steinbruch Süd", 729),
    ("ST-4702", "Alp Hinterfeld", 1_644),
    ("ST-4703", "Passhöhe", 2_011),
    ("ST-4815", "Kläranlage", 398),
    ("ST-4901", "Hafenmole", 396),
    ("ST-5007", "Rechenhaus", 420),
    ("ST-5120", "Seeausfluss", 431),
    ("ST-5121", "Seebad", 430),
    ("ST-5206", "Tobelbrücke", 577),
    ("ST-5301", "Werkkanal Einlauf", 409),
    ("ST-5302", "Werkkanal Auslauf", 401),
]

_FIRMS = [
    ("cus_83K2", "Alpenstrom AG"), ("cus_19QD", "Kanton Tiefbauamt"), ("cus_44XM", "Seepark Hotels"),
    ("cus_07PL", "Gemüsebau Frei"), ("cus_58TT", "Wetterhof GmbH"), ("cus_61BN", "Rheinfracht"),
    ("cus_90AC", "Versicherung Helvion"), ("cus_22ZE", "Bergbahnen Ostgrat"), ("cus_35HW", "Uni Hydrologie"),
    ("cus_76RS", "Fischereiverein"), ("cus_13VK", "Kieswerk Aumatt"), ("cus_49JF", "Stadtwerke Linth"),
]  # fmt: skip


def stations() -> list[dict[str, object]]:
    """Return what the register of stations says, in order of id."""
    return [
        {
            "id": identifier,
            "name": name,
            "serial": "BW-77120-C" if identifier == "ST-4417" else f"GX-{20_000 + 137 * number}-A",
            "altitude_m": altitude,
            "interval_seconds": 600,
        }
        for number, (identifier, name, altitude) in enumerate(_PLACES)
    ]


def customers(dice: Dice) -> list[dict[str, object]]:
    """Return the subscribers and how many stations they have in each plan."""
    found: list[dict[str, object]] = []
    for number, (identifier, name) in enumerate(_FIRMS):
        first = dice.number(0, 2)
        names = [list(PLANS)[first], list(PLANS)[(first + 1) % 3]]
        plans = {"hourly-plus": 14} if number == 0 else {plan: dice.number(1, 13) for plan in names}
        found.append({"id": identifier, "name": name, "plans": plans})
    return found


def day_of_readings(dice: Dice, start: int) -> list[dict[str, object]]:
    """Return the readings of ST-4417 of one day, one each 10 minutes: a front passes, and one value is absurd."""
    found: list[dict[str, object]] = []
    pressure, level = 1_014.6, 149.0
    for step in range(144):
        pressure += dice.noise(0.08) - (0.06 if step < 90 else -0.09)
        level += dice.noise(0.9) + (0.45 if 70 < step < 120 else -0.08)
        shown = 1_213.9 if step == 82 else round(pressure, 1)
        temperature = round(6.2 + 5.1 * max(0.0, 1 - abs(step - 88) / 60) + dice.noise(0.15), 1)
        found.append({"t": start + 600 * step, "p": shown, "temp": temperature, "level": round(level), "flag": "ok"})
    return found


def service_log(dice: Dice, lines: int, second: int = 5 * 3600 + 41 * 60) -> str:
    """Return a piece of the service's log, from a second of the day on; one modem keeps losing its connection."""
    found = []
    names = [identifier for identifier, _, _ in _PLACES]
    for number in range(lines):
        second += dice.number(3, 17)
        stamp = f"2025-03-04T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        station = "ST-4417" if number % 4 == 1 else dice.pick(names)
        taken = 1_741_046_400 + second - second % 600 - (600 * (number % 6) if station == "ST-4417" else 0)
        took = dice.number(2, 38)
        if number % 9 == 4:
            found.append(
                f"{stamp} WARN  modem station=ST-4417 reconnect attempt={number % 5 + 1} rssi=-{dice.number(71, 109)}"
            )
        elif number % 13 == 7:
            found.append(f"{stamp} INFO  alerts station={station} level=0 unchanged")
        else:
            found.append(
                f"{stamp} INFO  ingest station={station} t={taken} bytes={dice.number(71, 96)} key=k6 stored {took} ms"
            )
    return "\n".join(found)


def alert_log(dice: Dice) -> tuple[str, list[int], int]:
    """Return a night of alerts of ST-4417 around one threshold, its levels in cm, and how many messages were sent."""
    found: list[str] = []
    levels: list[int] = []
    sent, level, state = 0, 177.0, 0
    for step in range(70):
        level += dice.noise(2.4) + (180 - level) * 0.25
        centimetres = round(level)
        levels.append(centimetres)
        new = 1 if centimetres >= 180 else 0
        minute = 21 * 60 + 10 * step
        stamp = f"{3 if minute < 1440 else 4:02}.03. {minute // 60 % 24:02}:{minute % 60:02}"
        if new != state:
            sent += 1
            state = new
            text = "level 1 reached" if new else "all clear"
            found.append(
                f"{stamp} ST-4417 level_cm={centimetres} -> SMS #{sent} to +41 79 555 01 {sent % 4 + 10}: {text}"
            )
        else:
            found.append(f"{stamp} ST-4417 level_cm={centimetres}")
    return "\n".join(found), levels, sent


def modem_days(dice: Dice, duplicates: int) -> str:
    """Return for each day of four weeks how often the modem of ST-4417 came back, and what came twice by then."""
    found, left = ["day         reconnects  worst_rssi  came_twice"], duplicates
    for day in range(28):
        date = f"2025-02-{day + 3:02}" if day < 26 else f"2025-03-{day - 25:02}"
        twice = left if day == 27 else min(left, dice.number(20, 56))
        left -= twice
        found.append(f"{date}  {dice.number(2, 19):10}  {-dice.number(96, 112):6} dBm  {twice:10}")
    return "\n".join(found)


def hours_of_stations(dice: Dice, start: int) -> str:
    """Return what a dashboard gets for one day of all stations: hourly means of the pressure, station by station."""
    found = []
    for identifier, _, altitude in _PLACES:
        pressure = 1_016.0 - altitude / 8.4
        hours = {}
        for hour in range(24):
            pressure += dice.noise(0.3)
            hours[str(start + 3600 * hour)] = round(pressure, 2)
        found.append(json.dumps({"station": identifier, "hours": hours}))
    return "\n".join(found)


def load_test(dice: Dice, url: str, fastest: int, slowest: int) -> tuple[str, int]:
    """Return what a load test prints, second by second, and its 99th percentile in milliseconds."""
    found = [
        f"target {url}/v1/stations/*/hours, 16 stations, 8 connections",
        " second  requests  errors   p50 ms   p99 ms",
    ]
    worst = []
    for second in range(1, 41):
        middle = dice.number(fastest, (fastest + slowest) // 2)
        top = middle + dice.number(1, (slowest - fastest) // 2)
        worst.append(top)
        found.append(f"{second:7}{8_000 // (middle + 2):10}{0:8}{middle:9}{top:9}")
    p99 = sorted(worst)[-2]
    found.append(f"all 40 s: p99 {p99} ms, errors 0")
    return "\n".join(found), p99


FILES: dict[str, str] = {
    "README.md": README,
    "deploy/gaugepost.service": UNIT,
    "fixtures/stations.json": json.dumps(stations(), indent=1, ensure_ascii=False) + "\n",
    "gaugepost/__init__.py": '__version__ = "0.8.3"\n',
    "gaugepost/aggregate.py": AGGREGATE,
    "gaugepost/alerts.py": ALERTS,
    "gaugepost/api.py": API,
    "gaugepost/billing.py": BILLING,
    "gaugepost/config.py": CONFIG,
    "gaugepost/ingest.py": INGEST,
    "gaugepost/models.py": MODELS,
    "gaugepost/store.py": STORE,
    "migrations/001_init.sql": MIGRATION_1,
    "pyproject.toml": PYPROJECT,
    "tests/test_aggregate.py": TEST_AGGREGATE,
    "tests/test_alerts.py": TEST_ALERTS,
    "tests/test_api.py": TEST_API,
    "tests/test_billing.py": TEST_BILLING,
    "tests/test_ingest.py": TEST_INGEST,
    "tests/test_store.py": TEST_STORE,
}
