"""What is released: both archives, what they hold and say, and whether pip and uv install them with every extra."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from squidbot.adapters.common.packages import DISTRIBUTION, EXTRAS, command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.adapters.common.packages import Extra

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What tells of the environment that this runs in; uv and pip ask for none of it.
OF_THIS_RUN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
# Beside the package: what builds it, what it may be used for, and what to read.
PAPERS = {".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
# It is compiled where it is installed: .ci/run does that once, for the tests that need it.
COMPILED: tuple[Extra, ...] = ("llama-cpp",)
# pip installs all others together. What hermes pins excludes some of them; LanceDB is 110 MB, which uv has done.
RESOLVED: tuple[Extra, ...] = ("hermes", "lancedb")
INSTALLED = [extra for extra in EXTRAS if extra not in {*COMPILED, *RESOLVED}]
# What an extra is for, where no module has its name.
MODULES = {"postgresql": ["squidbot.adapters.psycopg"], "view": ["squidbot.report.server"]}
# Imports modules, and says which squidbot it found, and where.
PROBE = """
import importlib, importlib.metadata, pathlib, sys, squidbot
for name in sys.argv[1:]:
    importlib.import_module(name)
for entry in importlib.metadata.distribution("squidbot-context").entry_points:
    if entry.group == "console_scripts" or entry.module in sys.argv:
        entry.load()
print(importlib.metadata.version("squidbot-context"), pathlib.Path(squidbot.__file__).parent)
"""

pytestmark = pytest.mark.slow


class Archives(NamedTuple):
    """The sdist and the wheel that is made from it."""

    sdist: Path
    wheel: Path

    @property
    def version(self) -> str:
        """The version in their names."""
        return self.wheel.name.split("-")[1]

    def requirement(self, *extras: str) -> str:
        """Return what pip and uv install the wheel by."""
        return f"{DISTRIBUTION}[{','.join(extras)}] @ {self.wheel.as_uri()}"


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """Run a program, and return what it printed; what it said of a failure is shown."""
    told = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}
    ended = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=told, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert ended.returncode == 0, f"{words}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def uv() -> str:
    """Return where uv is; without it this is skipped."""
    found = os.environ.get("UV") or shutil.which("uv")
    if found is None:
        pytest.skip("uv builds and installs: start the tests by `uv run pytest`")
    return found


@pytest.fixture(scope="module")
def built(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Archives:
    """Return both, as a release builds them."""
    return build(uv, ROOT, tmp_path_factory.mktemp("dist"))


def build(uv: str, source: Path, folder: Path) -> Archives:
    """Build the archives of a tree."""
    run(uv, "build", "--quiet", "--out-dir", folder, source, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Archives(sdist, wheel)


def sources() -> set[str]:
    """Return the files of the package."""
    found = (path for path in (ROOT / "squidbot").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT).as_posix() for path in found}


def metadata_of(archives: Archives) -> Metadata:
    """Return a wheel's metadata, checked against its specification."""
    with zipfile.ZipFile(archives.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(wheel.read(name), validate=True)


# -- what the archives hold and say ---------------------------------------------------------------------------


def test_sdist_holds_the_package_and_its_papers_alone(built: Archives) -> None:
    """No tests, no examples, no recordings, no settings of anybody's editor."""
    with tarfile.open(built.sdist) as sdist:
        found = {name.partition("/")[2] for name in sdist.getnames()}
    assert found == sources() | PAPERS


def test_wheel_holds_the_package_and_what_pip_reads(built: Archives) -> None:
    """All of the package: types, pages, tables of settings, statements for PostgreSQL, the demo."""
    info = f"squidbot_context-{built.version}.dist-info"
    told = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    with zipfile.ZipFile(built.wheel) as wheel:
        assert {*wheel.namelist()} == sources() | {f"{info}/{name}" for name in told}
        assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        entries = ConfigParser()
        entries.read_string(wheel.read(f"{info}/entry_points.txt").decode())
    assert {"squidbot/py.typed", "squidbot/report/page/view.html", "squidbot/config/prices.toml"} <= sources()
    expected = {"console_scripts": PROJECT["scripts"], **PROJECT["entry-points"]}
    assert {group: dict(entries[group]) for group in entries.sections()} == expected


def test_metadata_says_what_pyproject_says(built: Archives) -> None:
    """By the specification, with the licence as an expression, and no address that nobody knows yet."""
    told = metadata_of(built)
    assert (told.name, str(told.version)) == (DISTRIBUTION, built.version)
    assert (told.summary, str(told.requires_python)) == (PROJECT["description"], PROJECT["requires-python"])
    assert (told.license_expression, told.license_files) == ("MIT", ["LICENSE"])
    assert told.classifiers == sorted(PROJECT["classifiers"])
    assert not told.project_urls
    assert sorted(told.provides_extra or ()) == sorted(EXTRAS)
    always = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert {each.name for each in told.requires_dist or () if "extra ==" not in str(each.marker)} == always


def test_long_description_is_readme_without_links_into_the_repository(built: Archives) -> None:
    """On an index they would lead nowhere: files are named, words stand for pictures. What is fenced stays as it is."""
    told = metadata_of(built)
    page = told.description or ""
    assert told.description_content_type == "text/markdown"
    readme = (ROOT / "README.md").read_text("utf-8")
    fenced = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    assert fenced.findall(page) == fenced.findall(readme) != []
    links = re.findall(r"\]\(([^)]*)\)|(?:src|srcset|href)=\"([^\"]*)\"", fenced.sub("", page))
    assert [link for link in map("".join, links) if not link.startswith("https://")] == []
    assert "<" not in re.sub(r"`[^`]*`", "", fenced.sub("", page))
    for text in re.findall(r'\balt="([^"]*)"', readme) + re.findall(
        r"\[([^\]]+)\]\((?!https:)", fenced.sub("", readme)
    ):
        assert text in page


def test_twine_and_check_wheel_contents_find_nothing(uv: str, built: Archives) -> None:
    """What an index refuses, or shows as plain text; files that belong in no wheel."""
    tools = (uv, "run", "--quiet", "--isolated", "--only-group", "release")
    run(*tools, "twine", "check", "--strict", *built)
    run(*tools, "check-wheel-contents", "--toplevel", "squidbot", built.wheel)


# -- versions -------------------------------------------------------------------------------------------------


def test_versions_come_from_tags(uv: str, built: Archives, tmp_path: Path) -> None:
    """Of an sdist: the one it was made with. Without git: the one that comes first. Other tags than v1.2.3 are none."""
    with tarfile.open(built.sdist) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    made = iter("abcd")

    def version() -> str:
        folder = tmp_path / next(made)
        folder.mkdir()
        run(uv, "build", "--quiet", "--wheel", "--out-dir", folder, tree, cwd=folder)
        return next(folder.glob("*.whl")).name.split("-")[1]

    assert version() == built.version
    (tree / "PKG-INFO").unlink()
    assert version() == "0.1.0.dev0"
    git = ("git", "-C", tree, "-c", "user.name=x", "-c", "user.email=x@example.com")
    run(*git, "init", "--quiet")
    run(*git, "add", ".")
    run(*git, "commit", "--quiet", "--no-gpg-sign", "--message", "one")
    run(*git, "tag", "v7.8.9")
    run(*git, "tag", "99.1")
    assert version() == "7.8.9"
    run(*git, "commit", "--quiet", "--no-gpg-sign", "--message", "two", "--allow-empty")
    run(*git, "tag", "corpus-2031")
    assert version().startswith("7.8.10.dev1+g")


# -- installing -----------------------------------------------------------------------------------------------


def environment(uv: str, folder: Path) -> Path:
    """Make a fresh environment, without pip, and return its interpreter."""
    run(uv, "venv", "--quiet", "--python", sys.executable, folder, cwd=folder.parent)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def modules(extra: str) -> list[str]:
    """Return what an extra is for: adapter, plugin, or both."""
    name = extra.replace("-", "_")
    found = [
        f"squidbot.{room}.{name}"
        for room in ("adapters", "plugins")
        if any((ROOT / "squidbot" / room / ending).exists() for ending in (f"{name}.py", f"{name}/__init__.py"))
    ]
    return MODULES.get(extra, found)


def check_runs(python: Path, archives: Archives, extras: Iterable[str], folder: Path) -> None:
    """Check that what extras are for can be imported, from where it was installed, and that the command runs."""
    names = [name for extra in extras for name in modules(extra)]
    version, where = run(python, "-I", "-c", PROBE, *names, cwd=folder).split(maxsplit=1)
    assert version == archives.version
    assert Path(where.strip()).is_relative_to(python.parent.parent.resolve())
    assert run(python.with_name("squidbot"), "--version", cwd=folder).split()[-1] == archives.version


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_every_extra_has_versions_that_go_together(uv: str, built: Archives, version: str, tmp_path: Path) -> None:
    """On the oldest Python and the newest that squidbot names. Nothing is installed."""
    # By this Python: without one that is named, uv tries for each extra to download that of the version.
    compiled = (uv, "pip", "compile", "--quiet", "--python", Path(sys.executable), "--python-version", version)
    wanted = tmp_path / "wanted.txt"
    for extra in EXTRAS:
        wanted.write_text(built.requirement(extra), encoding="utf-8")
        assert f"{DISTRIBUTION} @ " in run(*compiled, wanted)


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra not in COMPILED])
def test_uv_installs_the_wheel_with_an_extra(extra: Extra, uv: str, built: Archives, tmp_path: Path) -> None:
    """In an environment that has nothing else, away from the clone."""
    python = environment(uv, tmp_path / "fresh")
    run(uv, "pip", "install", "--quiet", "--python", python, built.requirement(extra), cwd=tmp_path)
    assert modules(extra) != []
    check_runs(python, built, [extra], tmp_path)


def test_the_wheel_alone_runs_its_commands(uv: str, built: Archives, tmp_path: Path) -> None:
    """Without an extra: `status`, the demo and a report, which read files of the package."""
    python = environment(uv, tmp_path / "fresh")
    run(uv, "pip", "install", "--quiet", "--python", python, built.wheel, cwd=tmp_path)
    check_runs(python, built, (), tmp_path)
    squidbot = python.with_name("squidbot")
    assert "squidbot-context[langchain]" in run(squidbot, "status", cwd=tmp_path)
    assert "your own program" in run(squidbot, "chat", "--demo", cwd=tmp_path)
    sample = ROOT / "examples" / "session.jsonl"
    run(squidbot, "replay", sample, "--window", "8k", "--html", tmp_path / "report.html", cwd=tmp_path)
    assert "<html" in (tmp_path / "report.html").read_text("utf-8")


def with_pip(folder: Path, wanted: str) -> tuple[str | Path, ...]:
    """Make a fresh environment with a pip of a version, and return what installs by it."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
    run(*install, "--upgrade", wanted)
    return install


@pytest.mark.parametrize("pip", ["pip<=23.2.1", "pip"], ids=["oldest", "newest"])
def test_pip_installs_the_wheel_with_every_extra(pip: str, built: Archives, tmp_path: Path) -> None:
    """The pip that comes with Python 3.11 leaves out an extra that it does not know, and says that all is well."""
    python, *install = with_pip(tmp_path / "venv", pip)
    assert isinstance(python, Path)
    run(python, *install, built.requirement(*INSTALLED), cwd=tmp_path)
    check_runs(python, built, INSTALLED, tmp_path)
    run(python, *install, "--dry-run", built.requirement(*RESOLVED), cwd=tmp_path)


@pytest.mark.parametrize(
    ("tool", "how"),
    [("pip<=23.2.1", "."), ("pip", "--editable=."), ("uv", "."), ("uv", "--editable=.")],
    ids=["oldest pip", "newest pip, editable", "uv", "uv, editable"],
)
def test_an_extra_is_added_to_a_squidbot_from_a_clone(
    tool: str, how: str, uv: str, built: Archives, tmp_path: Path
) -> None:
    """By the line that errors and pages tell: squidbot stays as it is, and no index is asked for another one."""
    with tarfile.open(built.sdist) as sdist:
        sdist.extractall(tmp_path, filter="data")
    clone = next(tmp_path.glob("squidbot_context-*"))
    if tool == "uv":
        python = environment(uv, tmp_path / "venv")
        install: tuple[str | Path, ...] = (uv, "pip", "install", "--quiet", "--python", python)
    else:
        install = with_pip(tmp_path / "venv", tool)
        python = Path(install[0])
    run(*install, how, cwd=clone)
    run(*install, command("yaml").split("'")[1], cwd=tmp_path)
    told = run(python, "-I", "-c", "import squidbot.adapters.yaml as found; print(found.__file__)", cwd=tmp_path)
    assert Path(told.strip()).is_relative_to(clone) == how.startswith("--editable")
    assert run(python.with_name("squidbot"), "--version", cwd=tmp_path).split()[-1] == built.version
