"""The end of the recorded day: invoices without floats, a rehearsal of the release, the handover."""
# ruff: noqa: E501, S608 - what people and machines say in the story is not wrapped, and no SQL in it is run

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from session_recorder import Failure
from session_world import PLANS, customers, service_log

if TYPE_CHECKING:
    from session_recorder import Session

__all__ = ["tell_evening"]


def tell_evening(s: Session) -> None:
    """Tell what happens from billing to the last message."""
    _rappen(s)
    _five(s)
    invoices = _february(s)
    _credit(s)
    _accountant(s, invoices)
    _on_the_phone(s)
    _rehearsal(s)
    _small_things(s)
    _handover(s)


def _rappen(s: Session) -> None:
    s.user(
        "Now the part I have been dreading: billing. Read billing.py and its tests once more and tell me every place that breaks rule 1.",
        after=95,
    )
    s.do(None, s.read("gaugepost/billing.py"), s.read("tests/test_billing.py"))
    s.do(None, s.search(r"\d\.\d\d\b|round\("))
    s.say(
        "Rule 1 is broken in five places: PRICES in francs as floats; VAT = 0.081; `Line.net` multiplies a float; `Line.vat` rounds a "
        "float, per line; `Invoice.total` adds floats and `export` prints whatever comes out. The tests pin float results. "
        "gaugepost/calibration.py rounds hPa, which is no money and may stay."
    )
    s.user(
        "Rewrite it: integers in Rappen, VAT 8.1 % as 81 per mille, computed once on the net sum of the whole invoice, half up. "
        "Not per line: that is what the accountant complained about. Exported amounts with two decimals. That is D-8."
    )
    s.do(
        None,
        s.write(
            "gaugepost/billing.py",
            '"""Invoices for subscribers of the data feed. All money is integer Rappen (D-8)."""\n\nfrom dataclasses import dataclass\n\n'
            'PRICES = {"daily": 3900, "hourly": 7900, "hourly-plus": 12900}  # Rappen per station and month\nVAT_PER_MILLE = 81\n\n\n'
            "@dataclass(frozen=True)\nclass Line:\n    plan: str\n    stations: int\n\n    def net(self) -> int:\n        return PRICES[self.plan] * self.stations\n\n\n"
            "@dataclass(frozen=True)\nclass Invoice:\n    number: str\n    customer: str\n    lines: tuple[Line, ...]\n\n"
            "    def net(self) -> int:\n        return sum(line.net() for line in self.lines)\n\n"
            "    def vat(self) -> int:\n        return (self.net() * VAT_PER_MILLE + 500) // 1000\n\n"
            "    def total(self) -> int:\n        total = self.net() + self.vat()\n        return (total + 2) // 5 * 5\n\n\n"
            'def francs(rappen: int) -> str:\n    return f"{rappen // 100}.{rappen % 100:02}"\n\n\n'
            'def export(invoices) -> str:\n    """Return CSV text, a row for each invoice."""\n    rows = ["number,customer,stations,total"]\n    for invoice in invoices:\n'
            '        stations = sum(line.stations for line in invoice.lines)\n        rows.append(f"{invoice.number},{invoice.customer},{stations},{francs(invoice.total())}")\n'
            '    return "\\n".join(rows) + "\\n"\n',
        ),
        s.write(
            "tests/test_billing.py",
            'from gaugepost.billing import Invoice, Line, export, francs\n\n\ndef invoice(*lines):\n    return Invoice("GP-1", "cus_1", lines)\n\n\n'
            'def test_a_line_costs_price_times_stations():\n    assert Line("hourly", 3).net() == 23700\n\n\n'
            'def test_vat_is_computed_once_and_half_up():\n    assert invoice(Line("daily", 1)).vat() == 316  # 315.9\n'
            '    assert invoice(Line("daily", 3), Line("hourly", 1)).vat() == 1588  # 1587.6\n\n\n'
            'def test_francs_have_two_decimals():\n    assert [francs(r) for r in (0, 5, 100, 195229)] == ["0.00", "0.05", "1.00", "1952.29"]\n\n\n'
            'def test_export_has_a_row_for_each_invoice():\n    assert export([invoice(Line("daily", 1))]) == "number,customer,stations,total\\nGP-1,cus_1,1,42.15\\n"\n',
        ),
    )
    s.do(None, s.pytest(only="tests/test_billing.py"))
    s.say(
        "Billing is integer Rappen throughout; VAT once per invoice, half up; the total is rounded to 5 Rappen as usual in Switzerland. tests/test_billing.py: 4 passed."
    )


def _five(s: Session) -> None:
    s.user(
        "Nobody asked for 5 Rappen! That is for cash. Bank transfers are to the Rappen. Take it out, and please don't add things "
        "because they are usual somewhere. 42.15 in the test should have made you think."
    )
    wrong = Failure(
        'assert export([invoice(Line("daily", 1))])',
        (
            "AssertionError: assert 'number,custo...us_1,1,42.15\\n' == 'number,custo...us_1,1,42.16\\n'",
            "  ",
            "    number,customer,stations,total",
            "  - GP-1,cus_1,1,42.16",
            "  ?                  ^",
            "  + GP-1,cus_1,1,42.15",
            "  ?                  ^",
        ),
    )
    s.do(
        "You are right, that was mine. The test first.",
        s.edit("tests/test_billing.py", "GP-1,cus_1,1,42.15", "GP-1,cus_1,1,42.16"),
    )
    s.do(
        None,
        s.pytest(
            {"tests/test_billing.py::test_export_has_a_row_for_each_invoice": wrong}, only="tests/test_billing.py"
        ),
    )
    s.do(
        None,
        s.edit(
            "gaugepost/billing.py",
            "        total = self.net() + self.vat()\n        return (total + 2) // 5 * 5\n",
            "        return self.net() + self.vat()\n",
        ),
        s.pytest(only="tests/test_billing.py"),
    )
    s.do(
        None,
        s.edit(
            "docs/decisions.md",
            "kept raw in readings_rejected.\n",
            "kept raw in readings_rejected.\n- **D-8** Money is integer Rappen. VAT (81 per mille) is computed once on the net sum of an "
            "invoice, half up. No rounding to 5 Rappen: that is for cash.\n",
        ),
        s.commit("Bill in integer Rappen with VAT once per invoice"),
    )
    s.say(f"Out, and D-8 says so. Committed as {s.commits[-1][0]}.")


def _february(s: Session) -> list[dict[str, object]]:
    s.user(
        "Run February with the new code and compare it with what we sent out with the old code. I want to see every invoice that "
        "differs. Alpenstrom AG (cus_83K2) must be GP-2025-00318 with 14 stations hourly-plus."
    )
    invoices = _invoices(customers(s.dice))
    s.do(
        None,
        s.run(
            "python -m gaugepost invoice 2025-02 --json --dry-run", json.dumps(invoices, ensure_ascii=False, indent=1)
        ),
    )
    rows = [
        f"{i['number']}  {i['customer']}  old {i['old']:>9}  new {_francs(i['total']):>9}" for i in _compared(invoices)
    ]
    different = [i for i in _compared(invoices) if i["old"] != _francs(i["total"])]
    s.do(
        None,
        s.run(
            "python bench/compare_invoices.py sent/2025-02.csv <(python -m gaugepost invoice 2025-02 --dry-run)",
            "\n".join([*rows, f"{len(different)} of {len(rows)} differ"]),
        ),
    )
    first = invoices[0]
    s.say(
        f"{len(different)} of {len(rows)} differ, each by one Rappen, because VAT was rounded per line: "
        + (", ".join(f"{i['number']} ({i['old']} -> {_francs(i['total'])})" for i in different) or "none")
        + f".\nAlpenstrom AG, cus_83K2: {first['number']}, 14 x 129.00 = {_francs(first['net'])} net, {_francs(first['vat'])} VAT, {_francs(first['total'])} total, unchanged."
    )
    return invoices


def _invoices(found: list[dict[str, object]]) -> list[dict[str, object]]:
    invoices: list[dict[str, object]] = []
    for number, customer in enumerate(found, 318):
        plans = customer["plans"]
        lines = (
            [{"plan": plan, "stations": count, "net": PLANS[plan] * count} for plan, count in plans.items()]
            if isinstance(plans, dict)
            else []
        )
        net = sum(int(line["net"]) for line in lines)
        vat = (net * 81 + 500) // 1000
        invoices.append(
            {
                "number": f"GP-2025-{number:05}",
                "customer": customer["id"],
                "name": customer["name"],
                "lines": lines,
                "net": net,
                "vat": vat,
                "total": net + vat,
            }
        )
    return invoices


def _compared(invoices: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the invoices with what they were when each line had its own rounded VAT."""
    found = []
    for invoice in invoices:
        lines = invoice["lines"] if isinstance(invoice["lines"], list) else []
        old = sum(line["net"] + (line["net"] * 81 + 500) // 1000 for line in lines)
        found.append({**invoice, "old": _francs(old)})
    return found


def _francs(rappen: object) -> str:
    number = int(str(rappen))
    return f"{number // 100}.{number % 100:02}"


def _credit(s: Session) -> None:
    s.user(
        "Fine, those go out as they are. Credit notes: the Fischereiverein (cus_76RS) had no data from one daily station for 3 of 28 days. "
        "A credit is pro rata by day on the net price, rounded in the customer's favour, VAT on top as always. Write `credit(plan, days_lost, "
        "days_in_month)`; the amount is negative and francs() has to show it properly."
    )
    s.do(
        None,
        s.edit(
            "gaugepost/billing.py",
            "def francs(rappen: int) -> str:",
            "def credit(plan: str, days_lost: int, days_in_month: int) -> int:\n"
            '    """Return what one station gets back, VAT included, in Rappen below zero; rounded up for the customer."""\n'
            "    net = -(-PRICES[plan] * days_lost // days_in_month)\n    return -(net + (net * VAT_PER_MILLE + 500) // 1000)\n\n\n"
            "def francs(rappen: int) -> str:",
        ),
        s.edit(
            "tests/test_billing.py",
            "def test_export_has_a_row_for_each_invoice():",
            'def test_a_credit_is_rounded_for_the_customer():\n    assert credit("daily", 3, 28) == -(418 + 34)  # 417.86 net, 33.86 VAT\n\n\n'
            'def test_francs_below_zero_keep_their_digits():\n    assert [francs(r) for r in (-1, -452, -10000)] == ["-0.01", "-4.52", "-100.00"]\n\n\n'
            "def test_export_has_a_row_for_each_invoice():",
        ),
        s.edit(
            "tests/test_billing.py",
            "import Invoice, Line, export, francs",
            "import Invoice, Line, credit, export, francs",
        ),
    )
    bad = Failure(
        "assert [francs(r) for r in (-1",
        (
            "AssertionError: assert ['-1.99', '-5.48', '-100.00'] == ['-0.01', '-4.52', '-100.00']",
            "  ",
            "  At index 0 diff: '-1.99' != '-0.01'",
            "  Use -v to get more diff",
        ),
    )
    s.do(
        None,
        s.pytest(
            {"tests/test_billing.py::test_francs_below_zero_keep_their_digits": bad}, only="tests/test_billing.py"
        ),
    )
    s.do(
        "Floor division goes the wrong way below zero, just what you warned about.",
        s.edit(
            "gaugepost/billing.py",
            '    return f"{rappen // 100}.{rappen % 100:02}"',
            '    sign, amount = ("-" if rappen < 0 else ""), abs(rappen)\n    return f"{sign}{amount // 100}.{amount % 100:02}"',
        ),
    )
    s.do(None, s.pytest(only="tests/test_billing.py"))
    s.do(None, s.commit("Give credit pro rata and show amounts below zero"))
    s.say(f"The Fischereiverein gets -4.52 (4.18 net, 0.34 VAT). Committed as {s.commits[-1][0]}.")


def _accountant(s: Session, invoices: list[dict[str, object]]) -> None:
    s.user(
        "The accountant's import wants semicolons, a header in German (Nummer;Kunde;Stationen;Netto;MWST;Total), UTF-8 with BOM. Keep the old export as it is, make a second one."
    )
    s.do(
        None,
        s.edit(
            "gaugepost/billing.py",
            "def export(invoices) -> str:",
            "def export_for_accountant(invoices) -> bytes:\n"
            '    """Return the accountant\'s CSV: semicolons, German header, UTF-8 with a byte order mark."""\n'
            '    rows = ["Nummer;Kunde;Stationen;Netto;MWST;Total"]\n    for invoice in invoices:\n        stations = sum(line.stations for line in invoice.lines)\n'
            '        money = ";".join(francs(amount) for amount in (invoice.net(), invoice.vat(), invoice.total()))\n'
            '        rows.append(f"{invoice.number};{invoice.customer};{stations};{money}")\n    return ("\\r\\n".join(rows) + "\\r\\n").encode("utf-8-sig")\n\n\n'
            "def export(invoices) -> str:",
        ),
        s.edit(
            "tests/test_billing.py",
            "def test_export_has_a_row_for_each_invoice():",
            'def test_the_accountant_gets_semicolons_and_a_mark():\n    data = export_for_accountant([Invoice("GP-2025-00318", "cus_83K2", (Line("hourly-plus", 14),))])\n'
            '    assert data.startswith(b"\\xef\\xbb\\xbfNummer;Kunde;")\n    assert data.endswith(b"GP-2025-00318;cus_83K2;14;1806.00;146.29;1952.29\\r\\n")\n\n\n'
            "def test_export_has_a_row_for_each_invoice():",
        ),
        s.edit("tests/test_billing.py", "credit, export, francs", "credit, export, export_for_accountant, francs"),
    )
    s.do(None, s.pytest(only="tests/test_billing.py"))
    table = ["Nummer;Kunde;Stationen;Netto;MWST;Total"]
    for invoice in invoices:
        lines = invoice["lines"] if isinstance(invoice["lines"], list) else []
        amounts = ";".join(_francs(invoice[key]) for key in ("net", "vat", "total"))
        table.append(f"{invoice['number']};{invoice['customer']};{sum(line['stations'] for line in lines)};{amounts}")
    s.do(None, s.run("python -m gaugepost invoice 2025-02 --accountant --dry-run", "\n".join(table)))
    s.do(None, s.commit("Export invoices as the accountant reads them"))
    s.say(
        f"Done, {s.commits[-1][0]}. The twelve invoices of February come out with net, MWST and total that add up in each row."
    )


def _on_the_phone(s: Session) -> None:
    s.user(
        "Back from the dentist. Ruth is on the other line, quick: serial of the device at the Brückenwehr, its pressure offset, since when "
        "it holds, and what happens to her raw values?",
        after=10_400,
    )
    s.say(
        "ST-4417: serial BW-77120-C, offset -0.37 hPa, sheet of 2025-02-11, held from 1739232000 (that day 00:00 UTC). Raw values stay in the "
        "table and in the raw export as they came; the offset is added on reading only (D-3). The slipped 1213.9 hPa of 2025-03-03, 13:40 local time, "
        "is stored, too; it is not flagged because it is older than D-4."
    )
    s.user(
        "She is happy. But she asks for the number of readings of that station that came twice, and where they are now."
    )
    s.say(
        "1,102 between 3 February and 3 March, once our migrations ran they are in readings_duplicates, of 1,284 for all stations. New ones are only counted, in ingest_stats."
    )


def _rehearsal(s: Session) -> None:
    s.user(
        "Rehearse the release on weir-dev: start the service from this checkout on its usual port with /tmp/try.db, send three signed readings, show me the log."
    )
    s.do(
        None,
        s.run(
            "GAUGEPOST_DB=/tmp/try.db python -m gaugepost serve",
            "OSError: [Errno 98] Address already in use: ('127.0.0.1', 8471)\n[exit status 1]",
        ),
    )
    s.do(
        "Somebody has the port.",
        s.run(
            "ss -ltnp 'sport = :8471'",
            'State   Recv-Q  Send-Q  Local Address:Port  Peer Address:Port  Process\nLISTEN  0       128         127.0.0.1:8471       0.0.0.0:*      users:(("python",pid=2231,fd=6))',
        ),
        s.run(
            "ps -o pid,user,lstart,args -p 2231",
            "    PID USER                      STARTED COMMAND\n   2231 jonas    Mon Mar  3 16:20:07 2025 python -m gaugepost serve --demo",
        ),
    )
    s.say(
        "Port 8471 belongs to pid 2231, a demo that Jonas started yesterday at 16:20. I don't stop other people's processes. Another port, or do you ask him?"
    )
    s.user("Right, leave it alone. Use 8472.")
    now = int(s.time.timestamp())
    newest = now - now % 600
    s.do(
        None,
        s.run(
            "GAUGEPOST_DB=/tmp/try.db python -m gaugepost serve --port 8472 & sleep 2; ./bench/send.py --port 8472 --key-id k6 --station ST-4417 --count 3",
            f'started on 127.0.0.1:8472\n201 {{"station": "ST-4417", "t": {newest - 600}}}\n201 {{"station": "ST-4417", "t": {newest}}}\n422 {{"error": "future"}}',
        ),
    )
    s.do(
        "The third is stamped half an hour ahead by the tool, so 422 is D-7 at work. The log of the last minutes, with the replayed traffic:",
        s.run("tail -n 60 /tmp/gaugepost-8472.log", service_log(s.dice, 60, now % 86400 - 660)),
        s.run(
            "curl -s http://127.0.0.1:8472/v1/stations/ST-4417/latest; echo; curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8472/v1/stations/ST-5302/latest",
            f'{{"station": "ST-4417", "t": {newest}, "p": 1011.46}}\n404',
        ),
    )
    s.do(
        None,
        s.run(
            f"sqlite3 -readonly /tmp/try.db \"SELECT pressure_hpa FROM readings WHERE station_id = 'ST-4417' AND taken_at = {newest}; SELECT received_at, reason, length(body) FROM readings_rejected\"",
            f"1011.83\n{now + 31}|future|84",
        ),
    )
    s.say(
        "Works on 8472: two readings stored, one refused with 422 and kept in readings_rejected, 404 for ST-5302. /latest shows 1011.46 for a raw "
        "1011.83, so the offset of -0.37 holds. I stopped my own process afterwards; pid 2231 still runs."
    )


def _small_things(s: Session) -> None:
    s.user("Take the open point with the setting now: pass future_tolerance_seconds from the settings down to accept.")
    s.do(None, s.search(r"tolerance"))
    s.do(
        None,
        s.edit(
            "gaugepost/api.py",
            'request.headers.get("X-Signature", ""), key, app.now())\n',
            'request.headers.get("X-Signature", ""), key, app.now(), app.settings.future_tolerance_seconds)\n',
        ),
        s.edit("tests/test_api.py", "now=lambda: 1_741_078_800)", "now=lambda: 1_741_078_800, settings=Settings())"),
        s.edit(
            "tests/test_api.py",
            "from gaugepost import api\n",
            "from gaugepost import api\nfrom gaugepost.config import Settings\n",
        ),
    )
    s.do(None, s.pytest(only="tests/test_api.py"))
    s.do(None, s.read("gaugepost/api.py", 26, 48))
    s.do(
        "One line got too long; I wrap it.",
        s.edit(
            "gaugepost/api.py",
            '        reading = ingest.accept(app.store, request.body, request.headers.get("X-Signature", ""), key, app.now(), app.settings.future_tolerance_seconds)\n',
            '        signature, tolerance = request.headers.get("X-Signature", ""), app.settings.future_tolerance_seconds\n        reading = ingest.accept(app.store, request.body, signature, key, app.now(), tolerance)\n',
        ),
    )
    s.do(None, s.pytest())
    s.do(None, s.commit("Take the tolerance for fast clocks from the settings"))
    s.say(f"Done, {s.commits[-1][0]}.")
    s.user("Version 0.9.0 everywhere, and a CHANGELOG.md that a customer understands. No internals.")
    s.do(None, s.search(r"0\.8\.3"))
    s.do(
        None,
        s.edit("pyproject.toml", 'version = "0.8.3"', 'version = "0.9.0"'),
        s.edit("gaugepost/__init__.py", "0.8.3", "0.9.0"),
        s.write(
            "CHANGELOG.md",
            "# Changes\n\n## 0.9.0, 2025-03-06\n\n- A reading that arrives twice is stored once.\n- Pressure is corrected by the sensor's calibration sheet; raw values stay available.\n"
            "- Impossible pressures are marked and no longer spoil hourly means.\n- Alerts no longer come again and again around a threshold, and not at night below level 3.\n"
            "- A station without readings answers 404, an unknown key 401.\n- A request for hours covers at most 31 days.\n- Readings from clocks more than 300 seconds fast are refused.\n"
            "- Invoices are exact to the Rappen.\n",
        ),
    )
    s.do(None, s.pytest())
    s.do(
        None,
        s.commit("Release 0.9.0"),
        s.run("git tag -a v0.9.0 -m 'gaugepost 0.9.0' && git tag --list", "v0.8.2\nv0.8.3\nv0.9.0"),
    )
    s.say(
        f"Version 0.9.0 in pyproject.toml and gaugepost/__init__.py, CHANGELOG.md written, all tests green, tag v0.9.0 on {s.commits[-1][0]}. Not pushed."
    )
    s.user("Before I push: list every file that changed since 0.8.3 and what you would look at twice.")
    s.do(
        None,
        s.run("git diff --stat v0.8.3..v0.9.0", s.branch_stat()),
        s.run(
            "git log --oneline v0.8.3..v0.9.0",
            "\n".join(f"{digest} {message}" for digest, message in reversed(s.commits)),
        ),
    )
    s.do(None, s.run("git diff v0.8.3..v0.9.0 -- gaugepost", s.branch_diff("gaugepost/")))
    s.do(None, s.read("gaugepost/store.py"))
    s.say(
        "Twice I would look at: migrations/002_unique_readings.sql (the only thing that moves customer data; on the copy 60,646 + 1,284 = 61,930), "
        "gaugepost/alerts.py `step` (held-back messages depend on a reading arriving after 06:00), and `Store.__init__`, which runs all "
        "migrations at every start. The rest is covered by tests."
    )
    s.user("`AlertState` isn't stored, is it? So a restart at night forgets what was held back.")
    s.do(None, s.search(r"AlertState|told"))
    s.say(
        "Right: it lives in memory only. A restart during the night forgets what people were told, so at 06:00 the level would be sent again, or for the first time. No message is lost, one may come twice. I'd leave that for 0.9.1."
    )


def _handover(s: Session) -> None:
    s.user(
        "Agreed. Last thing: docs/handover-2025-03-04.md for Jonas, who deploys on Thursday. Everything he needs and nothing else: order of steps, "
        "paths, the insert for the calibration, keys, ST-5120 and Chen's appointment, his own process on 8471, open points. Look things up rather "
        "than guess."
    )
    s.do(
        None,
        s.read("docs/decisions.md"),
        s.read("gaugepost/config.py"),
        s.run(
            "ls migrations", "\n".join(path.split("/")[1] for path in sorted(s.files) if path.startswith("migrations/"))
        ),
    )
    s.do(
        None,
        s.write(
            "docs/handover-2025-03-04.md",
            "# Handover for 0.9.0, deployment on Thursday 2025-03-06\n\n"
            f"Tag v0.9.0 ({s.commits[-1][0]}). Decisions D-1 to D-8: docs/decisions.md.\n\n"
            "1. Copy /var/lib/gaugepost/readings.db before anything else. Migrations 002 to 005 run at the first start; on the copy of 2025-03-03 "
            "61,930 readings became 60,646 plus 1,284 in readings_duplicates. The sum must hold.\n"
            "2. Calibration of ST-4417 (Brückenwehr, BW-77120-C), by hand:\n"
            "   `INSERT INTO calibration VALUES ('ST-4417', 1739232000, -0.37, 'sheet 2025-02-11');`\n"
            "3. /etc/gaugepost/keys.toml: k5 goes (Mira), k6 gets `valid_until = 1743465599`, k7 comes in. Never print them.\n"
            "4. Start: unit gaugepost.service, port 8471. On weir-dev that port is taken by your demo, pid 2231.\n"
            "5. Check: /v1/stations/ST-5302/latest answers 404 no_readings, /v1/stations/ST-4417/latest is 0.37 hPa below the raw value.\n\n"
            "ST-5120 (Seeausfluss) runs 3598 s fast since 2025-02-27; Chen (Hailong) resets it on Thursday at 10:00. Until then its readings are "
            "answered with 422 and wait in readings_rejected.\n\n"
            "Open: suspects before D-4 are not flagged (1213.9 hPa at 1741009200); AlertState is lost at a restart; rows of readings_rejected could be shifted.\n",
        ),
    )
    s.user("1741009200 is wrong for the suspect, isn't it? Check against the raw data you showed me before noon.")
    bad = 1_740_956_400 + 600 * 82
    s.do(
        f"It is: the reading has t={bad}. I had taken 13:40 for UTC, but it is local time.",
        s.edit("docs/handover-2025-03-04.md", "1213.9 hPa at 1741009200", f"1213.9 hPa at {bad}"),
        s.commit("Hand over 0.9.0"),
    )
    s.say(
        f"Corrected and committed as {s.commits[-1][0]}. The tag v0.9.0 still points to the release commit, the handover lies behind it."
    )
    s.user(
        "Jonas asks whether he may put a rocket into the commit message of the deployment. What were the rules this morning?"
    )
    s.say("Rule 4: small commits, message in the imperative, no emoji in commit messages. So no rocket.")
    s.user("😄 Thanks. That's it for today.")
    s.say(
        "Good evening. Not pushed, not deployed: v0.9.0 and the handover are on your machine in /home/mira/gaugepost, on main."
    )
