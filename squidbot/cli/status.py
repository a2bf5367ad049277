"""`squidbot status`: devices, models and their windows, hosts, packages, stores; what is active, and why."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, distributions, entry_points, version
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.adapters.common.embeddings import DIMENSIONS as KNOWN_DIMENSIONS
from squidbot.adapters.common.packages import DISTRIBUTION, Extra, command, missing
from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.adapters.gpus import Machine
from squidbot.adapters.sqlite3.doctor import check
from squidbot.adapters.sqlite3.memory.store import memory_counts
from squidbot.cli.clients import CLIENTS, entries, startable, tools_listed
from squidbot.cli.explain import prompt_json
from squidbot.cli.open_store import names_no_store, open_store, with_store, without_store
from squidbot.cli.output import STORE_OPTION, Result, ResultCommand
from squidbot.cli.texts import ANSWER_IS_NO, count, facts_text, percent, prompt_line
from squidbot.config import load_settings
from squidbot.config.loading import FILE_NAME
from squidbot.core.budget import tier_of
from squidbot.core.errors import SquidbotError
from squidbot.core.ports import SupportsCalibration
from squidbot.hookspecs import PROJECT
from squidbot.memory import CheckedEmbedder, provider_of, vectors_path
from squidbot.services.agents import AGENTS, Installation, settings_files
from squidbot.services.install import entries_in
from squidbot.services.recordings import default_store
from squidbot.wiring.person import machine_user
from squidbot.wiring.registry import INDEXES, check_offered, collected, database, named_adapters, store_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.metadata import Distribution

    from squidbot.adapters.sqlite3.memory.store import MemoryCounts
    from squidbot.bootstrap import Wired
    from squidbot.cli.clients import ServerEntry
    from squidbot.cli.printer import Printer
    from squidbot.config import Loaded
    from squidbot.core.devices import ProbeResult, Vendor
    from squidbot.core.vectors import VectorIndex

MIB = 2**20
# Larger stores are not checked whole: that takes more than a second.
CHECKED_BYTES = 64 * 2**20
# In larger stores only the latest sessions are checked.
MOST_SESSIONS = 1_000
# Removing the other package deletes files that it shares with ours, so reinstalling restores them.
STRANGE = (
    "is an unrelated package with the same import name: `pip uninstall squidbot`, then "
    f"`pip install --force-reinstall --no-deps {DISTRIBUTION}`, or the same with `.` in your clone"
)
# Whose facts programs use, with the name of this machine's person.
WHOSE = (
    "the user's whom a program names, else that conversation's alone; in chat, llm, hermes, mcp and the command memory "
    "those of {!a}, who uses this machine"
)
# The MCP clients whose files are named to somebody who has set up none, and the end of that evidence.
KNOWN_CLIENTS = ("claude-code", "cursor", "vscode")
NOT_THERE = "here or at home: "
# More models than these would push what is active off the screen.
MOST_MODELS = 3
# What a model is called that no settings name.
OTHER = "any other model"
# How to build llama.cpp for a vendor's devices. pip reuses a wheel from its cache, whatever CMAKE_ARGS say: one without
# CUDA stays so, unless both are forbidden.
BUILT: dict[Vendor, str] = {"nvidia": "-DGGML_CUDA=on", "amd": "-DGGML_HIP=on", "other": "-DGGML_VULKAN=on"}
# Our line in a distribution's list of files: a name alone, or a file with its digest.
OURS = re.compile(r"^(?:\.\./)*squidbot(?:$|/|\.py(?:$|,))", re.MULTILINE)
COMPILED = 'CMAKE_ARGS="{}" pip install --no-cache-dir --force-reinstall llama-cpp-python'
# How to install what is missing, whatever it is.
INSTALL = f"pip install '{DISTRIBUTION}[EXTRA]'"
# Embedders that may have to ask a server for the dimensions of their vectors.
BEHIND_A_SERVER = frozenset({"openai"})


class HostPlugin(NamedTuple):
    """A host with a squidbot plugin.

    Attributes:
        name: its usual name.
        extra: the extra that installs it.
        needs: the least version of each of its packages.
        form: the form of its messages; "" if it holds no conversation.
        line: what activates squidbot.
    """

    name: str
    extra: Extra
    needs: Mapping[str, str]
    form: str
    line: str

    @property
    def module(self) -> str:
        """The plugin's module, by its name in squidbot.plugins."""
        return self.extra.replace("-", "_")

    @property
    def command(self) -> str:
        """How to install it, and where to run that."""
        return command(self.extra)


HOSTS = (
    HostPlugin(
        "hermes",
        "hermes",
        {"hermes-agent": "0.19"},
        "hermes/1",
        "hermes plugins enable squidbot && hermes config set context.engine squidbot",
    ),
    HostPlugin(
        "LangChain",
        "langchain",
        {"langchain": "1.4", "langgraph": "1.2.11"},
        "lc/1",
        'middleware=[Squidbot("mem.db")]',
    ),
    HostPlugin("llm", "llm", {"llm": "0.36"}, "llm/1", "llm squidbot on"),
    HostPlugin("MCP", "mcp", {"mcp": "2.1"}, "", "squidbot mcp --store mem.db, in the client's file of servers"),
    HostPlugin(
        "OpenAI Agents SDK",
        "openai-agents",
        {"openai-agents": "0.20"},
        "openai.responses",
        'Runner.run(agent, "hi", **Squidbot("mem.db").options("chat-1"))',
    ),
    HostPlugin(
        "pydantic-ai",
        "pydantic-ai",
        {"pydantic-ai-slim": "2.68"},
        "pydantic_ai/2",
        'capabilities=[Squidbot("mem.db")]',
    ),
)


# Of a store with a problem, which is told among what to do.
UNUSABLE = "can't be used now"
# The argument in a host's line where the settings name no store.
MADE = '"mem.db"'


class Package(NamedTuple):
    """A package that an adapter needs.

    Attributes:
        extra: the extra that brings it.
        distribution: the package's name for pip.
        purpose: what it is for.
        cost: what installing it takes.
    """

    extra: Extra
    distribution: str
    purpose: str
    cost: str


PACKAGES = (
    Package("xllamacpp", "xllamacpp", "opens model files", "a wheel, 10 to 35 MB"),
    Package("llama-cpp", "llama-cpp-python", "opens model files", "a C++ compiler, CMake, 5 to 30 minutes"),
    Package("tiktoken", "tiktoken", "counts tokens exactly", "a wheel, 1 MB"),
    Package("faiss", "faiss-cpu", "finds the nearest vectors", "wheels, 65 MB on disk"),
    Package("lancedb", "lancedb", "finds the nearest vectors, on disk", "wheels, 345 MB on disk"),
    Package(
        "onnxruntime",
        "onnxruntime",
        "makes vectors by MiniLM and other exported models",
        "wheels, 90 MB on disk, and the model",
    ),
    Package("anthropic", "anthropic", "asks Claude", "wheels, 27 MB on disk"),
    Package("openai", "openai", "asks models, and for vectors, by OpenAI's API", "wheels, 25 MB on disk"),
    Package("apscheduler", "APScheduler", "times summaries", "a wheel, 60 kB"),
)


@click.command(cls=ResultCommand)
@click.option("--config", metavar="FILE", help="The settings file.  [default: ./squidbot.toml]")
@STORE_OPTION
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show everything: devices, all hosts, packages, counters, prompts, and the reasons.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Start the MCP server that clients' files name, and list its tools, or say why it fails within 10 seconds.",
)
def status(*, config: str | None, store: str | None, every: bool, check: bool) -> Result:
    """Show where squidbot is active, what to do next, the models with their windows, and the store.

    Nothing is loaded, downloaded or written, unless you pass --check. It takes a second or two for each server, and
    creates the server's store if that is missing.
    """
    loaded = load_settings(config)
    given = json.dumps(store) if store else MADE
    if store:
        loaded = with_store(loaded, store)
    elif not names_no_store(loaded):
        given = "" if loaded.source == "default" else f"settings={json.dumps(config or FILE_NAME)}"
    elif (agents := default_store()).exists():
        loaded = with_store(loaded, str(agents))
    with without_store(loaded) as wired:
        probed = wired.models.probed()
        models = [_model(wired, name) for name in ("", *loaded.settings.models)]
        facts = _facts(wired, loaded)
    main, kept = Machine().main_memory(), _store(loaded)
    clients = clients_found(Path.cwd(), Path.home(), check=check)
    problems = [*_problems(models, kept, facts), *_broken(clients)]
    values: dict[str, Any] = {
        "settings": loaded.source,
        "devices": [device._asdict() for device in probed.devices],
        "main_memory": main._asdict() if main else None,
        "probes": [one._asdict() for one in probed.tried],
        "models": models,
        "hosts": hosts_found(kept, loaded.store_url, given, config),
        "agents": agents_found(Path.cwd(), Path.home()),
        "clients": clients,
        "packages": [_package(one, probed) for one in PACKAGES],
        "store": kept,
        "memory": facts,
        "extensions": [*loaded.settings.extensions],
        "adapters": _adapters(loaded),
        "observers": [spec.partition(":")[0] for spec in loaded.settings.observers],
        "hook_failure": hook_failure() or None,
        "problems": problems,
    }
    most = "up to " if loaded.settings.allocation.adaptive else ""

    put = _put_all if every else _put_short
    return Result(values, lambda out: put(out, values, most), ANSWER_IS_NO if problems else 0)


def _put_short(out: Printer, values: dict[str, Any], most: str) -> None:
    """Put what is active and what to do next on a page, then models and stores, each in short."""
    active = [f"{host['name']} ({_known(host)}): {host['reason']}" for host in values["hosts"] if host["active"]]
    there = [host for host in values["hosts"] if _known(host)]
    todo = [f"! {problem}" for problem in values["problems"]]
    if values["hook_failure"]:
        todo.append(f"the newest failure of a hook: {values['hook_failure']}")
    todo += [f"model {model['alias']}: {model['lacks']}" for model in values["models"] if model["lacks"]]
    todo += [_advice(host) for host in there if not host["active"]]
    if not there:
        todo.append(f"install a host, such as LangChain; {command('langchain')}")
    active += _agent_lines(values["agents"])
    if not active:
        todo.append("see what squidbot does: squidbot chat --demo")
    out.section("Active", active or ["squidbot is active in no program yet"])
    if clients := [*_client_lines(values["clients"], every=False)]:
        out.section("MCP clients", clients)
    if todo:
        out.section("What to do next", todo)
    models = [model for model in values["models"] if model["window"]]
    lines = [_window(model, most) for model in models[:MOST_MODELS]]
    if len(models) > MOST_MODELS:
        lines.append(count(len(models) - MOST_MODELS, "more model"))
    where, facts = islice(_store_lines(values["store"], values["memory"]), 2)
    path = values["store"]["path"]
    facts = facts.replace(f"{values['store']['adapter']}: {path}", "in the same place") if path else facts
    out.section("Models and stores", [*map(_device, values["devices"]), *lines, where, facts])
    out.say("squidbot status --all shows devices, all hosts, packages, and the reasons", "dim")


def _put_all(out: Printer, values: dict[str, Any], most: str) -> None:
    """Put everything on a page."""
    out.section("Devices", _device_lines(values))
    out.section("Models", chain.from_iterable(_model_lines(model, most) for model in values["models"]))
    out.section("Hosts", chain.from_iterable(map(_host_lines, values["hosts"])))
    out.section("Coding agents", [*_agent_lines(values["agents"])] or ["none; squidbot install AGENT"])
    out.section("MCP clients", _client_lines(values["clients"], every=True))
    out.section("Packages", _packages_lines(values["packages"]))
    out.section("Store", _store_lines(values["store"], values["memory"]))
    supplied = [f"{one['name']} ({one['kind']}; from {one['package']} {one['version']})" for one in values["adapters"]]
    extensions = ", ".join((*values["extensions"], *supplied)) or "none"
    out.section("Extensions", [f"extensions: {extensions}", f"observers: {', '.join(values['observers']) or 'none'}"])
    for problem in values["problems"]:
        out.say(f"! {problem}", "bold red")


def _adapters(loaded: Loaded) -> list[dict[str, str]]:
    """Return the adapters of installed extensions that the settings name, and the packages that have them."""
    return [
        {"name": name, "kind": kind, "package": found.dist.name, "version": found.dist.version}
        for kind, name in named_adapters(loaded)
        for found in entry_points(group=PROJECT, name=name)
        if found.dist is not None
    ]


def _problems(models: Sequence[dict[str, Any]], store: dict[str, Any], facts: dict[str, Any]) -> Iterator[str]:
    """Yield each problem to fix, in a sentence."""
    yield from (f"model {model['alias']}: {model['problem']}" for model in models if model["problem"])
    if store["problem"]:
        yield f"store: {store['problem']}"
    yield from (f"{name} {STRANGE}" for name in _strangers())
    if facts["problem"] not in {"", store["problem"]}:  # both may be in one file
        yield f"durable facts: {facts['problem']}"


def _broken(clients: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield each server that was started and did not work."""
    broken = (client for client in clients if client["works"] is False)
    yield from (f"{client['title']}: {client['server']} in {client['file']}: {client['problem']}" for client in broken)


# -- devices, models, packages ---------------------------------------------------------------------------------


def _device_lines(values: dict[str, Any]) -> Iterator[str]:
    for device in values["devices"]:
        yield f"{device['number']}: {_device(device)}"
    if not values["devices"]:
        yield "no GPU found; models use main memory"
    if main := values["main_memory"]:
        yield f"main memory: {_mib(main['available_bytes'])} free of {_mib(main['total_bytes'])}"
    yield from (f"  {one['source']}: {one['reason']}" for one in values["probes"] if one["reason"])


def _device(device: dict[str, Any]) -> str:
    free = "does not report free memory" if device["free_bytes"] is None else f"{_mib(device['free_bytes'])} free"
    busy = f", {percent(device['utilisation_fraction'])} busy" if device["utilisation_fraction"] is not None else ""
    shares = ", shares main memory" if device["unified"] else ""
    pressed = f", memory pressure {device['pressure']}" if device["pressure"] else ""
    text = f"{device['name'] or device['vendor']}, {free} of {_mib(device['total_bytes'])}{busy}{shares}{pressed}"
    return f"{text} (by {device['source']})"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"


def _model(wired: Wired, alias: str) -> dict[str, Any]:
    """Return a model of the settings: the window of its sessions, the source of that, and what is wrong with it."""
    told = ("reserved_output_tokens", "source", "detail", "counter")
    found = dict.fromkeys(("window", *told, "tier", "largest_window", "loading", "prompt"))
    found |= {"alias": alias, "counted": "", "problem": None}
    found["lacks"] = _lacking(wired.loaded.settings.model(alias).adapter)
    try:
        sized = wired.models.sized(alias)
        window = wired.window(alias)
        found |= {key: getattr(window, key) for key in told}
        found |= {"window": window.window_tokens, "tier": tier_of(window.window_tokens).label}
        found["counted"] = wired.why_counted(alias)
        wired.models.check(alias)
        if sized is not None:
            found |= {"largest_window": sized.window_tokens, "problem": None if sized.window_tokens else sized.reason}
        if sized is not None or wired.loaded.settings.model(alias).adapter not in {None, *USUAL_KEYS}:
            found["loading"] = asdict(wired.models.loading(alias))
        mode, counter = wired.loaded.settings.prompt.mode, wired.meter(alias).physical
        found["prompt"] = prompt_json(wired.prompts.prompt(mode, window.window_tokens, counter))
    except SquidbotError as error:
        found["problem"] = str(error)
    return found


def _lacking(adapter: str | None) -> str:
    """Return that the package of a model's adapter is missing, and how to install it; "" if it is there."""
    package = next((one for one in PACKAGES if one.extra.replace("-", "_") == adapter), None)
    return missing(package.extra) if package and _version(package.distribution) is None else ""


def _model_lines(model: dict[str, Any], most: str) -> Iterator[str]:
    if model["window"] is None:
        yield f"{model['alias'] or OTHER}: no window: {model['problem']}"
        return
    yield f"{_window(model, most)}; tier {model['tier']}, counted by {model['counter']}"
    if model["counted"]:
        yield f"  counted so: {model['counted']}"
    if model["lacks"]:
        yield f"  {model['lacks']}"
    if model["detail"]:
        yield f"  {model['detail']}"
    if model["loading"] is not None:
        yield f"  {_loading(model['loading'])}"
    if model["prompt"] is not None:
        yield f"  {prompt_line(model['prompt'])}"


def _window(model: dict[str, Any], most: str) -> str:
    window = f"window {model['window']:,} tokens ({model['source']})"
    return f"{model['alias'] or OTHER}: {window}, {most}{model['reserved_output_tokens']:,} of them for the answer"


def _loading(loading: dict[str, Any]) -> str:
    sizes = ", ".join(f"{key} {loading[key]}" for key in ("n_ctx", "n_batch", "n_ubatch"))
    layers = "all" if loading["n_gpu_layers"] < 0 else loading["n_gpu_layers"]
    cache = f"KV cache {loading['type_k']}/{loading['type_v']}"
    flash = "on" if loading["flash_attn"] else "off"
    return f"loaded with {sizes}, layers on GPUs {layers}, {cache}, flash attention {flash}"


def _package(package: Package, probed: ProbeResult) -> dict[str, Any]:
    built = next((BUILT[device.vendor] for device in probed.devices if device.vendor in BUILT), None)
    is_built = built and package.extra == "llama-cpp"
    how = COMPILED.format(built) if is_built else command(package.extra)
    values = {"adapter": package.extra.replace("-", "_"), **package._asdict(), "command": how}
    return {**values, "version": _version(package.distribution)}


def _version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or `None`. Nothing is imported."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _strangers() -> list[str]:
    """Return the other distributions with files of our import name, by name and version, in order."""
    brought = {
        distribution.metadata["Name"]: distribution.version
        for distribution in distributions()
        if _brings_ours(distribution)
    }
    return [f"{name} {brought[name]}" for name in sorted(brought) if name.lower().replace("_", "-") != DISTRIBUTION]


def _brings_ours(one: Distribution) -> bool:
    """Return whether it has files of our import name, by its lists as text: as paths they take most of a second."""
    lists = [one.read_text(name) or "" for name in ("top_level.txt", "RECORD", "installed-files.txt")]
    return any(OURS.search(each) for each in lists)


def _packages_lines(packages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line or two for each package, and once how to install those that are missing."""
    yield from chain.from_iterable(map(_package_lines, packages))
    if any(package["version"] is None for package in packages):
        yield f"to install an extra: {INSTALL}"


def _package_lines(package: dict[str, Any]) -> Iterator[str]:
    name, purpose = package["adapter"], package["purpose"]
    if package["version"] is not None:
        yield f"{name}: {package['distribution']} {package['version']}, {purpose}"
    else:
        yield f"{name}: not installed; {purpose}"
        own = f"; {package['command']}" if package["command"] != command(package["extra"]) else ""
        yield f"  the extra {package['extra']} is missing{own}   ({package['cost']})"


# -- hosts -----------------------------------------------------------------------------------------------------


def hosts_found(store: dict[str, Any], url: str, given: str = MADE, config: str | None = None) -> list[dict[str, Any]]:
    """Return the installed hosts, whether squidbot is active in them, and the evidence or the reason.

    `url`: the database that keeps sessions; "" for none. `given`: what a program passes to a plugin for this store.
    `config`: the settings, which name an extension's store.
    """
    path = store["path"] if store["adapter"] == "sqlite3" and Path(store["path"]).exists() else url
    is_extension = store["adapter"] not in {"sqlite3", "psycopg", "stdlib"}
    readable = (path or is_extension) and not store.get("problem")
    forms, found = _forms_in(None if is_extension else path, config) if readable else {}, []
    for host in (host._replace(line=host.line.replace(MADE, given)) for host in HOSTS):
        versions = {name: known for name in host.needs if (known := _version(name))}
        active, reason = _took_part(host, versions, forms, store["path"])
        needs = [
            {"distribution": name, "version": versions.get(name), "least": least} for name, least in host.needs.items()
        ]
        values = {"name": host.name, "extra": host.extra, "command": host.command, "line": host.line}
        found.append({**values, "needs": needs, "active": active, "reason": reason})
    return found


def _forms_in(path: str | None, config: str | None) -> dict[str, int]:
    """Return how many conversations of each form a store has, `None`: the settings' one; nothing if unreadable."""
    try:
        with open_store(path, config=config) as place:
            sessions = [name for name, messages in place.sessions() if messages][-MOST_SESSIONS:]
            return Counter(row.codec for name in sessions for row in place.rows(name, 0, 0)[0])
    except SquidbotError:
        return {}


def _took_part(host: HostPlugin, versions: Mapping[str, str], forms: Mapping[str, int], where: str) -> tuple[bool, str]:
    """Return whether squidbot is active in a host, and the evidence or the reason."""
    if not versions:
        return False, missing(host.extra)
    for name, least in host.needs.items():
        if name not in versions:
            return False, f"{name} is missing: {host.command}"
        if _numbers(versions[name]) < _numbers(least):
            return False, f"{name} {versions[name]} is installed, {least} or newer is needed; {host.command}"
    if host.extra in _SWITCHED:
        return _SWITCHED[host.extra](host)
    # Agents activate squidbot in code.
    if forms.get(host.form):
        return True, f"{count(forms[host.form], 'conversation')} of it in {where}"
    seen = f"{where} has none of its conversations" if where else "no store to look for its conversations in"
    return False, f"{seen}; add squidbot with {host.line}"


def _llm(_: HostPlugin) -> tuple[bool, str]:
    """Return whether squidbot is on in llm, which loads plugins automatically."""
    from squidbot.plugins import llm  # noqa: PLC0415  # half a second

    try:
        switch = llm.switched()
        llm.opened(switch)
    except SquidbotError as error:
        return False, str(error)
    kept = f"it keeps conversations in {switch.store}" if switch.store else f"by {switch.settings}"
    return True, f"turned on; {kept}"


def _hermes(host: HostPlugin) -> tuple[bool, str]:
    """Return whether hermes's config.yaml turns squidbot on."""
    from squidbot.plugins import hermes  # noqa: PLC0415  # two seconds

    if why := hermes.inactive():
        return False, f"{why}: {host.line}"
    try:
        return True, f"turned on in its config.yaml; it keeps conversations in {hermes.kept()}"
    except SquidbotError as error:
        return False, str(error)


def _mcp(_: HostPlugin) -> tuple[bool, str]:
    """Return whether an MCP client starts `squidbot mcp`."""
    found = (entry for client in CLIENTS.values() for entry in entries(client, Path.cwd(), Path.home()))
    if naming := [*dict.fromkeys(str(entry.file) for entry in found)]:
        return True, f"started by {', '.join(naming)}"
    files = ", ".join(CLIENTS[name].project for name in KNOWN_CLIENTS)
    return False, f"not set up in {files} {NOT_THERE}squidbot install AGENT, or docs/hosts/mcp.md"


# Hosts that load plugins automatically, and have a switch for ours.
_SWITCHED = {"hermes": _hermes, "llm": _llm, "mcp": _mcp}


def _numbers(written: str) -> list[int]:
    """Return the leading numbers of a version."""
    return [int(number) for number in re.findall(r"[0-9]+", re.split(r"[^0-9.]", written)[0])]


def _known(host: dict[str, Any]) -> str:
    """Return the installed packages of a host with their versions; "" for none."""
    return ", ".join(f"{need['distribution']} {need['version']}" for need in host["needs"] if need["version"])


def _advice(host: dict[str, Any]) -> str:
    """Return what to do for an inactive host, without the evidence."""
    _, add, line = host["reason"].rpartition("add squidbot with ")
    return f"{host['name']}: {add}{line.rpartition(NOT_THERE)[2]}"


def _host_lines(host: dict[str, Any]) -> Iterator[str]:
    known = _known(host)
    active = "active" if host["active"] else "not active"
    yield f"{host['name']}: {f'{active} ({known})' if known else 'not installed'}"
    yield f"  {host['reason']}"


# -- coding agents -----------------------------------------------------------------------------------------------------


def agents_found(folder: Path, home: Path) -> list[dict[str, Any]]:
    """Return what `squidbot install` has put into the files of each coding agent, of the user's and of a project's."""
    setup = Installation(sys.executable, home, os.environ, sys.platform)
    found: list[dict[str, Any]] = []
    for agent in AGENTS.values():
        files = settings_files(agent, setup)
        if agent.name == "claude-code":
            files += settings_files(agent, setup._replace(project=folder))
        told = [{"file": str(file.path), "entries": [*there]} for file in files if (there := entries_in(file))]
        found.append({"agent": agent.name, "title": agent.title, "files": told})
    return found


def _agent_lines(agents: Sequence[dict[str, Any]]) -> Iterator[str]:
    for agent in agents:
        for file in agent["files"]:
            yield f"{agent['title']}: {' and '.join(file['entries'])} in {file['file']}"


def hook_failure() -> str:
    """Return the newest failure of a hook that uses the agents' store; "" for none."""
    log = default_store().with_name(f"{default_store().name}-hooks.log")
    try:
        return log.read_text("utf-8", "replace").splitlines()[-1]
    except (OSError, IndexError):
        return ""


# -- MCP clients -----------------------------------------------------------------------------------------------


def clients_found(folder: Path, home: Path, *, check: bool) -> list[dict[str, Any]]:
    """Return the entries of our server in the files of each MCP client, one without a file where there is none.

    With `check` each is started, if it is as we write it: `works` says whether it lists tools, `None` if it was not
    started; `problem` says why not.
    """
    found: list[dict[str, Any]] = []
    for client in CLIENTS.values():
        told: dict[str, Any] = {"client": client.name, "title": client.title}
        nothing = {"file": None, "server": None, "works": None, "tools": None, "problem": ""}
        mine = [*entries(client, folder, home)]
        found += [] if mine else [told | nothing]
        for entry in mine:
            values = {**told, **nothing, "file": str(entry.file), "server": entry.server}
            found.append(values | (_checked(entry, folder) if check else {}))
    return found


def _checked(entry: ServerEntry, folder: Path) -> dict[str, Any]:
    """Return whether the server of an entry works, and how many tools it lists, or why not."""
    arguments = startable(entry.value, folder)
    if isinstance(arguments, str):
        return {"problem": arguments}
    tools, problem = tools_listed(arguments, folder)
    return {"works": tools is not None, "tools": tools, "problem": problem}


def _client_lines(clients: Sequence[dict[str, Any]], *, every: bool) -> Iterator[str]:
    for client in clients:
        if client["file"] is not None:
            works = f"works, {count(client['tools'], 'tool')}" if client["works"] else client["problem"]
            yield f"{client['title']}: {client['server']} in {client['file']}: {works or 'there; --check starts it'}"
        elif every:
            yield f"{client['title']}: no entry; squidbot mcp --config {client['client']} prints one"


# -- stores ----------------------------------------------------------------------------------------------------


def _store(loaded: Loaded) -> dict[str, Any]:
    """Return the storage of sessions: adapter, file ("" in memory), contents, and what is wrong with it."""
    store = loaded.settings.store
    adapter = store_name(loaded)
    path = loaded.store_place if adapter in {"sqlite3", "psycopg"} else "" if adapter == "stdlib" else store.path
    health = problem = ""
    try:
        if adapter == "stdlib":
            health = "sessions of programs that name no store are in memory, and end with the process"
        elif adapter == "psycopg":
            with closing(database(loaded)) as server:
                health = _contents(server)
        elif adapter != "sqlite3":
            check_offered("store", collected(loaded)[1].stores, adapter, f"{loaded.source}.store.adapter")
            health = "an extension's"
        else:
            health, problem = _health(Path(path))
    except SquidbotError as error:
        problem = str(error)
    return {"adapter": adapter, "path": path, "health": health, "problem": problem}


def _contents(server: Any) -> str:  # noqa: ANN401  # of an optional package
    """Return the contents of a database."""
    version = server.version()
    if not version:
        return f"no tables in schema {server.schema} yet; the first session makes them, or squidbot store migrate"
    sessions, messages, size_bytes = server.health()
    tenant = f"tenant {server.tenant}" if server.tenant else "no tenant"
    text = f"schema {server.schema}, {tenant}, migration {version} of {server.newest}: "
    facts = f", {facts_text(*held)}" if any(held := server.facts()) else ""
    return f"{text}{count(sessions, 'session')}, {count(messages, 'message')}{facts}, {size_bytes:,} bytes"


def _health(path: Path) -> tuple[str, str]:
    """Return the contents of a file, and what is wrong with it."""
    if not path.exists():
        return "no file yet; the first session creates it", ""
    size_bytes = path.stat().st_size
    if size_bytes > CHECKED_BYTES:
        return f"{size_bytes:,} bytes; squidbot store doctor reads them all", ""
    health = check(str(path))
    text = f"{count(len(health.sessions), 'session')}, {count(health.messages, 'message')}, {health.file_bytes:,} bytes"
    return text, "" if health.whole else "damaged; squidbot store doctor says what"


def _store_lines(store: dict[str, Any], facts: dict[str, Any]) -> Iterator[str]:
    where = f"{store['adapter']}: {store['path']}" if store["path"] else store["adapter"]
    yield f"{where}: {store['health'] or UNUSABLE}"
    yield f"durable facts: {facts['kept']}"
    details = (
        facts["whose"] and f"whose: {facts['whose']}",
        facts["whose"] and f"learned: {facts['learned']}",
        facts["vectors"] and f"vectors: {facts['vectors']}",
        facts["nearest"] and f"nearest by {facts['nearest']}",
    )
    yield from (f"  {line}" for line in (*details, *facts["remarks"]) if line)


def _facts(wired: Wired, loaded: Loaded) -> dict[str, Any]:
    """Return the storage of facts, and what makes and finds their vectors; write nothing, ask no model.

    `remarks` resolve themselves, `problem` does not. `wired` has the adapters of the settings.
    """
    found: dict[str, Any] = {"kept": "off", "whose": "", "learned": "off"}
    found |= {"vectors": "", "nearest": "", "remarks": (), "problem": ""}
    memory = loaded.settings.memory
    if not memory.enabled:
        return found
    name, path = provider_of(loaded)
    found |= {"whose": WHOSE.format(machine_user().user), "learned": _learned(wired)}
    place = loaded.store_place if name == "psycopg" else path
    found["kept"] = f"{name}: {place}" if place else f"{name}, gone with the process"
    try:
        held = _held(name, path)
        found["kept"] += f": {facts_text(held.facts, held.past)}" if held else ""
        if memory.embedder == "none":
            found["vectors"] = "none; searches use words (memory.embedder)"
            return found
        if wired.loaded.settings.model(memory.embedder).adapter:
            found["vectors"] = f"{memory.embedder}: configured; not loaded for this check"
        elif memory.embedder.partition(":")[0] in BEHIND_A_SERVER:
            found["vectors"] = f"{memory.embedder}: behind a server; not asked for this check"
        else:
            return found | _vectors(wired, held, path if name == "sqlite3" else "")
        found["nearest"] = _chosen(wired, wired.vector_index("", "", 1))
    except SquidbotError as error:
        found["problem"] = str(error)
    return found


def _learned(wired: Wired) -> str:
    """Return how facts are learned, and from whom."""
    if not wired.remembering.learns:
        return 'off (memory.extract = "off")'
    extract, by = wired.loaded.settings.memory.extract, "by rules"
    by += " and a language model" if wired.remembering.learns_by_model else ""
    return f"{by} from {'users that a program names' if extract is None else 'all users'} (memory.extract)"


def _held(name: str, path: str) -> MemoryCounts | None:
    """Return the contents of a SQLite file; `None` for others.

    Raises:
        StoreError: it can't be read.
    """
    if name != "sqlite3" or not Path(path).exists():
        return None

    return memory_counts(path)


def _vectors(wired: Wired, held: MemoryCounts | None, path: str) -> dict[str, Any]:
    """Return the state of vectors if an embedder is named.

    Raises:
        SquidbotError: the embedder or the index can't be opened.
    """
    embedder = wired.embedder()
    if embedder is None:
        return {}
    guarded, remarks = CheckedEmbedder(embedder, wired.loaded), list[str]()
    model, dimensions = guarded.name, guarded.dimensions
    # With so many dimensions it may be the model that is known by a vector, which is not asked for here.
    is_measured = dimensions == KNOWN_DIMENSIONS
    if isinstance(embedder, SupportsCalibration):
        is_measured = embedder.even is not None
    if not is_measured:
        remarks.append("its cosines are not measured: vectors sort what is found, words decide what is near enough")
    vectors = f"{wired.loaded.settings.memory.embedder}: {model}, {dimensions:,} dimensions"
    if held:
        waiting = held.waiting[model] if held.models.get(model) == dimensions else held.memories
        vectors += f"; {waiting:,} of {held.memories:,} wait for a vector"
        if others := {name: size for name, size in held.models.items() if (name, size) != (model, dimensions)}:
            unused = ", ".join(f"{name}, {size:,} dimensions" for name, size in others.items())
            dropped = "dropped when all are made anew: squidbot memory reindex"
            remarks.append(f"vectors of {unused} are not used, and {dropped}")
    place = vectors_path(path, model)
    there = place if place and Path(place).exists() else ""
    with closing(wired.vector_index(there, model, dimensions)) as index:
        holds = f"{count(index.stamp().vectors, 'vector')} in {there}" if there else "made when it is needed"
        nearest = f"{_chosen(wired, index)}: {holds}"
        return {"vectors": vectors, "nearest": nearest, "remarks": tuple(filter(None, (*remarks, index.fault)))}


def _chosen(wired: Wired, index: VectorIndex) -> str:
    """Return the kind of the index, and why it was chosen."""
    adapter = type(index).__module__.removeprefix("squidbot.adapters.").partition(".")[0]
    said = wired.loaded.settings.memory.index
    why = f"auto: the first that is installed of {', '.join(INDEXES)}" if said == "auto" else "memory.index"
    return f"{adapter} ({why})"
