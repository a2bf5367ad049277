"""Commands on a database, and the SQL that docs/postgresql.md gives: roles, tenants, monitoring."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.psycopg import PostgresqlMemoryStore, server
from squidbot.cli import main
from squidbot.core.errors import StoreError
from squidbot.testing import made_memory
from squidbot.testing.memories import SEEN
from squidbot.testing.values import made_message, made_summary
from tests.postgresql import connected, new_schema, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"


def statements(who: str, **names: str) -> str:
    """Return the SQL that the page gives to somebody, with other names."""
    text = "\n".join(re.findall(rf"<!-- sql: {who} -->\n```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    for name, other in names.items():
        text = re.sub(rf"\b{name}\b", other, text)
    assert text
    return text


def settings(folder: Path, url: str, **more: str) -> None:
    """Write the settings that commands read."""
    lines = [f'{key} = "{value}"' for key, value in {"url": url, **more}.items()]
    (folder / "squidbot.toml").write_text("\n".join(["[store]", *lines]), encoding="utf-8")


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run the command line in this process."""
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_tables_are_made_and_looked_at(run: Callable[..., Result], place: Path, postgresql: str) -> None:
    """Looking makes none; `--check` tells by its exit code, `--sql` prints what would be run."""
    schema = new_schema()
    settings(place, postgresql, schema=schema)
    assert "no tables in schema" in run("status").output
    assert run("store", "migrate", "--check").exit_code == 1
    assert "no tables yet; squidbot store migrate makes them, as the schema's owner" in run("session", "list").output
    assert run("store", "migrate", "--check").exit_code == 1
    sql = run("store", "migrate", "--sql").output
    assert f'CREATE TABLE "{schema}".messages(' in sql
    assert json.loads(run("store", "migrate", "--json").output)["applied"] >= 1
    assert run("store", "migrate", "--check").exit_code == 0
    with squidbot.load("squidbot.toml") as engine:
        engine.session("hello").record([{"role": "user", "content": "Where is the walrus?"}])
    assert "no tenant, migration" in " ".join(run("status").output.split())
    assert "1 session, 1 message, " in " ".join(run("status").output.split())
    assert "walrus" in run("session", "search", "hello", "walrus").output
    assert run("store", "doctor").exit_code == 0
    assert "pg_dump" in run("store", "backup", "x.db").output


def test_the_printed_statements_make_the_same_tables(run: Callable[..., Result], place: Path, direct: str) -> None:
    """An operator may run them by hand."""
    schema = new_schema()
    settings(place, direct, schema=schema)
    with connected(direct) as operator:
        operator.execute(run("store", "migrate", "--sql").output.encode())
    assert run("store", "migrate", "--check").exit_code == 0
    with opened(direct, schema=schema) as store:
        store.append("s", 0, [made_message(0)])


def test_pgvector_that_comes_after_the_tables_is_used_once_they_are_migrated(
    run: Callable[..., Result], place: Path, direct: str
) -> None:
    """Doctor says so before; then it has the vectors of all tenants, and those that older programs still add."""
    name, owner = f"late{new_schema()}", f"owner{new_schema()}"
    with connected(direct) as operator:
        operator.execute(f"CREATE DATABASE {name}".encode())
        operator.execute(f"CREATE ROLE {owner} LOGIN".encode())
    superuser = direct.replace("@/postgres?", f"@/{name}?")
    with connected(superuser) as operator:
        operator.execute(f"CREATE SCHEMA squidbot AUTHORIZATION {owner}".encode())
    url = superuser.replace("postgres@", f"{owner}@")
    settings(place, url)
    assert run("store", "migrate").exit_code == 0
    with connected(url) as tables:
        tables.execute("SELECT squidbot.separate_tenants()")

    def put(store: PostgresqlMemoryStore, memory: str, *vector: float) -> None:
        store.add([made_memory(memory, memory_id=memory)])
        store.put_vectors("m", 2, {memory: vector})

    with PostgresqlMemoryStore(url, tenant="a") as one, PostgresqlMemoryStore(url, tenant="b") as two:
        put(one, "tea", 1.0, 0.0)
        put(two, "cup", 1.0, 0.1)
        assert one.nearest("m", 2) is None
        assert "pgvector" not in run("store", "doctor").output
        with connected(superuser) as operator:
            operator.execute("CREATE EXTENSION vector")
        assert "pgvector came after the tables" in run("store", "doctor").output
        assert run("store", "migrate", "--check").exit_code == 1
        assert "pgvector compares the vectors from now on" in run("store", "migrate").output
        assert run("store", "migrate", "--check").exit_code == 0
        assert "pgvector" not in run("store", "doctor").output + run("store", "migrate").output
        put(one, "walrus", 0.0, 1.0)
    for tenant, due in (("a", ["tea", "walrus"]), ("b", ["cup"])):
        with PostgresqlMemoryStore(url, tenant=tenant) as store:
            search = store.nearest("m", 2)
            assert search is not None
            assert search.fault == ""
            assert search._has_index()
            assert [*search.search((1.0, 0.0), SEEN)] == due
            for table in ("memory_nearest", "memory_vectors", "memories", "memory_models"):
                assert {of for (of,) in store._server.rows(f"SELECT tenant FROM {{schema}}.{table}")} == {tenant}  # noqa: S608


def test_doctor_tells_what_somebody_changed(run: Callable[..., Result], place: Path, postgresql: str) -> None:
    """A changed row, a missing one, an index without its words; nothing is written."""
    schema = new_schema()
    settings(place, postgresql, schema=schema)
    with opened(postgresql, schema=schema) as store:
        store.append("s", 0, [made_message(seq, f"tea {seq}") for seq in range(70)])
        store.put(made_summary("n", 0, 1))
        store.wait()
    assert run("store", "doctor").exit_code == 0
    with connected(postgresql, schema) as operator:
        operator.execute("UPDATE messages SET payload = 'x' WHERE seq = 69")
        operator.execute("DELETE FROM messages WHERE seq = 68")
        operator.execute("UPDATE words SET masks[1] = 0")
    backed_up = run("store", "backup", "copy.db")
    assert backed_up.exit_code == 1
    assert f"; run pg_dump -n {schema} postgresql://" in backed_up.output
    done = run("store", "doctor", "--json")
    assert done.exit_code == 4
    (wrong,) = json.loads(done.output)["damaged"].values()
    assert [text[:11] for text in wrong[:2]] == ["message 68 ", "message 69 "]
    assert wrong[2] == "the search index of messages 0 to 63 is wrong"


def test_doctor_looks_at_all_tenants(run: Callable[..., Result], place: Path, postgresql: str) -> None:
    """Each is named; without the option only that of the settings is looked at, and a file has none."""
    schema = new_schema()
    settings(place, postgresql, schema=schema, tenant="bob")
    for tenant in ("ann", "bob", None):
        with opened(postgresql, schema=schema, tenant=tenant) as store:
            store.append("s", 0, [made_message(0), made_message(1)])
    settings(place, postgresql, schema=schema, tenant="eve")
    assert "tenant eve, migration" in " ".join(run("status").output.split())
    said = "no sessions of tenant eve; other tenants in this database: 3 (store.tenant)"
    assert said in " ".join(run("session", "list").output.split())
    settings(place, postgresql, schema=schema, tenant="bob")
    assert run("store", "doctor", "--all-tenants").exit_code == 0
    with connected(postgresql, schema) as operator:
        operator.execute("UPDATE messages SET payload = 'x' WHERE seq = 1 AND tenant = 'ann'")
    assert run("store", "doctor").exit_code == 0
    told = run("store", "doctor", "--all-tenants")
    assert told.exit_code == 4
    lines = told.output.splitlines()
    assert [line for line in lines[1:] if "whole" in line or "DAMAGED" in line] == [
        "no tenant: whole", "ann: DAMAGED", "bob: whole"
    ]  # fmt: skip
    values = json.loads(run("store", "doctor", "--all-tenants", "--json").output)
    assert (values["whole"], values["sessions"], values["messages"]) == (False, 3, 6)
    assert [(one["tenant"], one["whole"], [*one["damaged"]]) for one in values["tenants"]] == [
        ("", True, []),
        ("ann", False, ["s"]),
        ("bob", True, []),
    ]
    assert run("store", "doctor", "--all-tenants", "--store", "other.db").exit_code == 2


def test_doctor_of_all_tenants_says_where_it_may_not_see_them(
    run: Callable[..., Result], place: Path, direct: str, names: dict[str, str]
) -> None:
    """Where tenants are separated, a role without BYPASSRLS would see one of them: that is no check of all."""
    schema = names["squidbot"]
    with connected(as_role(direct, names["squidbot_owner"])) as operator:
        operator.execute(f"SELECT {schema}.separate_tenants()".encode())
    for tenant in ("ann", "bob"):
        with opened(as_role(direct, names["agents"]), schema=schema, tenant=tenant) as store:
            store.append("s", 0, [made_message(0)])
    for role in (names["agents"], names["squidbot_owner"]):
        settings(place, as_role(direct, role), schema=schema)
        refused = run("store", "doctor", "--all-tenants")
        assert refused.exit_code == 1
        assert "use a role with BYPASSRLS" in refused.output
    settings(place, direct, schema=schema)
    told = json.loads(run("store", "doctor", "--all-tenants", "--json").output)
    assert [one["tenant"] for one in told["tenants"]] == ["ann", "bob"]


@pytest.fixture
def names(direct: str) -> dict[str, str]:
    """Return names of roles and a schema of a test's own, which the page's statements have made."""
    schema = new_schema()
    made = {"squidbot": schema, "squidbot_owner": f"owner_{schema}", "agents": f"agents_{schema}"}
    with connected(direct) as superuser:
        superuser.execute(statements("superuser", **made).encode())
    with connected(as_role(direct, made["squidbot_owner"])) as owner:
        owner.execute(statements("owner", **made).encode())
    opened(as_role(direct, made["squidbot_owner"]), schema=schema).close()
    return made


def as_role(url: str, role: str) -> str:
    """Return an address with another user."""
    return re.sub(r"//[^@]*@", f"//{role}@", url)


def test_who_runs_needs_no_rights_to_the_tables_themselves(direct: str, names: dict[str, str]) -> None:
    """The two roles of the page: one makes the tables, the other works in them, and can't change them."""
    running = as_role(direct, names["agents"])
    with opened(running, schema=names["squidbot"]) as store:
        store.append("s", 0, [made_message(seq, f"tea {seq}") for seq in range(70)])
        store.put(made_summary("n", 0, 1))
        store.wait()
        assert len(store.search("s", "tea", 100)) == 70
        assert store.claim("s", "summary", "one", 1.0, 1.0)
        store.drop("s")
    with (
        connected(running, names["squidbot"]) as client,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        client.execute("DROP TABLE messages")
    with pytest.raises(StoreError, match=r"permission denied.*docs/postgresql.md"):
        opened(running)


def test_no_statement_reads_another_tenant_once_they_are_separated(direct: str, names: dict[str, str]) -> None:
    """Row level security, by the page's one statement: without any filter of ours, and for the owner, too."""
    schema, running = names["squidbot"], as_role(direct, names["agents"])
    owner = as_role(direct, names["squidbot_owner"])
    for tenant in ("a", "b"):
        with opened(running, schema=schema, tenant=tenant) as store:
            store.append("s", 0, [made_message(seq, f"tea of {tenant}") for seq in range(70)])
            store.put(made_summary(tenant, 0, 1))
            store.claim("s", "summary", tenant, 1.0, 1.0)
            store.add_task(tenant)
            store.wait()
    tables = "sessions", "messages", "summaries", "claims", "tasks", "words"
    with connected(running, schema) as client:
        for table in tables:
            assert client.execute(f"SELECT count(DISTINCT tenant) FROM {table}".encode()).fetchone() == (2,)  # noqa: S608
    with connected(owner) as operator:
        operator.execute(statements("owner, after", **names).encode())
    for tenant in ("a", "b", "c", ""):
        with connected(running, schema) as client:
            client.execute("SELECT set_config('squidbot.tenant', %s, false)", (tenant,))
            seen = [client.execute(f"SELECT DISTINCT tenant FROM {table}".encode()).fetchall() for table in tables]  # noqa: S608
            assert seen == [[(tenant,)] if tenant in {"a", "b"} else []] * 6
            assert not client.execute("UPDATE messages SET payload = 'x' WHERE tenant <> %s", (tenant,)).rowcount
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                client.execute("INSERT INTO tasks(tenant, key, body) VALUES('other', 'x', 'x')")
    with connected(owner, schema) as client:
        assert client.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    for tenant in ("a", "b"):
        with opened(running, schema=schema, tenant=tenant) as store:
            store.append("s", 70, [made_message(70, f"tea of {tenant}")])
            assert len(store.search("s", f"tea {tenant}", 100)) == 71
            assert store.read("s", 0, 0) == [made_message(0, f"tea of {tenant}")]
            assert store.sessions() == [("s", 71)]
            store.drop("s")
    with opened(running, schema=schema, tenant="a") as store:
        assert store.sessions() == []


def test_tables_of_later_migrations_are_separated_too(direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to think of it after an update."""
    schema = new_schema()
    monkeypatch.setattr(server, "NEWEST", 1)
    opened(direct, schema=schema).close()
    monkeypatch.undo()
    with connected(direct, schema) as operator:
        operator.execute("SELECT separate_tenants()")
        with closing(server.Server(direct, schema=schema)) as migrated:
            migrated.migrate()
        unseparated = operator.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
            "WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' AND NOT c.relrowsecurity",
            (schema,),
        )
        assert unseparated.fetchall() == []


def test_status_names_the_host_whose_conversations_a_database_has(
    run: Callable[..., Result], place: Path, postgresql: str
) -> None:
    """By the form of their messages, as in a file."""
    settings(place, postgresql, schema=new_schema())
    with squidbot.load("squidbot.toml") as engine:
        engine.session("s", form="pydantic_ai/2").record(
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Where is the walrus?"}]}
        )
    (found,) = (one for one in json.loads(run("status", "--json").output)["hosts"] if one["name"] == "pydantic-ai")
    assert found["active"], found["reason"]


def test_facts_of_a_database_are_reached_by_its_address(
    run: Callable[..., Result], place: Path, postgresql: str
) -> None:
    """`--store` of the commands for facts takes what it takes everywhere, in place of the store of the settings."""
    settings(place, "postgresql://nobody@127.0.0.1:9/nothing", schema=new_schema())
    assert run("memory", "add", "Ann has two beagles.", "--user", "ann", "--store", postgresql).exit_code == 0
    listed = run("memory", "list", "--user", "ann", "--store", postgresql)
    assert "two beagles" in listed.output
    assert "two beagles" not in run("memory", "list", "--user", "ben", "--store", postgresql).output
    assert run("memory", "export", "facts.jsonl", "--user", "ann", "--store", postgresql).exit_code == 0
    assert "two beagles" in (place / "facts.jsonl").read_text("utf-8")


def test_separated_tenants_use_the_indexes(direct: str, names: dict[str, str]) -> None:
    """A policy keeps PostgreSQL from many indexes; ours are found by operators that it allows."""
    schema, running = names["squidbot"], as_role(direct, names["agents"])
    with connected(as_role(direct, names["squidbot_owner"])) as operator:
        operator.execute(f"SELECT {schema}.separate_tenants()".encode())
    with connected(running, schema) as client:
        client.execute("SET enable_seqscan = off")
        for table, where in {
            "sessions": "tenant = tenant() AND key = 'x'",
            "messages": "session = 1 AND seq BETWEEN 1 AND 2",
            "records": "session = 1 AND kind = 'x' AND number >= 3",
            "claims": "tenant = tenant() AND place = 'x' AND kind = 'x'",
        }.items():
            rows = client.execute(f"EXPLAIN SELECT * FROM {table} WHERE {where}".encode()).fetchall()  # noqa: S608
            plan = " ".join(text for (text,) in rows)
            (condition,) = re.findall(r"Index Cond: (.*?)(?:Filter|$)", plan)
            assert all(name in condition for name in re.findall(r"\b(?:session|seq|kind|number|key|place)\b", where)), (
                plan
            )
