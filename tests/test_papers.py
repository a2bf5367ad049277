"""Papers of the project: the changelog, the workflows of the public CI, and the forms for issues."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from squidbot.cli.status import HOSTS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Those of Keep a Changelog.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
RELEASE = re.compile(r"(Unreleased|\d\S*)(?: - (\d{4}-\d{2}-\d{2})(?: \[YANKED\])?)?")


def loaded(path: Path) -> dict[Any, Any]:
    """Return what a YAML file says."""
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    """Return the steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def releases(text: str) -> list[tuple[str, str, list[str]]]:
    """Return version, date and the kinds of changes of each part of a changelog, and check its headings."""
    title, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    assert title.startswith("# Changelog\n")
    found = []
    for part in parts:
        heading, _, body = part.partition("\n")
        told = RELEASE.fullmatch(heading)
        assert told, heading
        kinds = re.findall(r"^#+ (.+)$", body, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds], heading
        _, *listed = re.split(r"^### .+$", body, flags=re.MULTILINE)
        assert all(re.search(r"^- ", each, re.MULTILINE) for each in listed), heading
        found.append((told[1], told[2] or "", kinds))
    return found


def check_order(found: list[tuple[str, str, list[str]]]) -> None:
    """Check that what is not released stands on top, and then the newest version, with its date."""
    (first, day, _), *rest = found
    assert (first, day) == ("Unreleased", "")
    versions = [Version(version) for version, _, _ in rest]
    days = [date.fromisoformat(day) for _, day, _ in rest]
    assert versions == sorted({*versions}, reverse=True)
    assert days == sorted(days, reverse=True)


def test_changelog_has_known_headings_and_the_newest_on_top() -> None:
    """As Keep a Changelog has it, so that people and tools can read it."""
    check_order(releases((ROOT / "CHANGELOG.md").read_text("utf-8")))


@pytest.mark.parametrize(
    "wrong",
    [
        "# Changelog\n\n## 0.1.0 - 2031-01-01\n\n### Added\n\n- One.\n",
        "# Changelog\n\n## Unreleased\n\n### Improved\n\n- One.\n",
        "# Changelog\n\n## Unreleased\n\n### Fixed\n\n- One.\n\n### Added\n\n- Two.\n",
        "# Changelog\n\n## Unreleased\n\n### Added\n",
        "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2031-01-01\n\n## 0.2.0 - 2032-01-01\n",
        "# Changelog\n\n## Unreleased\n\n## 0.1.0\n",
    ],
    ids=["no Unreleased", "unknown kind", "order of kinds", "nothing in a kind", "oldest first", "no date"],
)
def test_a_changelog_that_breaks_the_conventions_fails(wrong: str) -> None:
    """Each of them by itself."""
    with pytest.raises((AssertionError, ValueError)):
        check_order(releases(wrong))


def test_ci_runs_what_a_change_must_pass_on_every_python_that_is_named() -> None:
    """No newer Python is promised than is tested, and none that is promised goes untested."""
    workflow = loaded(ROOT / ".github" / "workflows" / "ci.yml")
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    versions = job["strategy"]["matrix"]["python"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert versions == named
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    assert workflow["concurrency"]["cancel-in-progress"] is True


def test_a_release_is_built_and_tested_before_it_is_published_by_tag() -> None:
    """Only the job that publishes may identify itself, and it runs nothing of the repository."""
    workflow = loaded(ROOT / ".github" / "workflows" / "release.yml")
    assert workflow[True] == {"push": {"tags": ["v[0-9]*"]}}  # YAML reads `on` as true
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    runs = [step.get("run", "") for step in build["steps"]]
    places = [
        next(at for at, run in enumerate(runs) if what in run) for what in ("test_release", "uv build", "test -f")
    ]
    assert places == sorted(places)
    assert all((ROOT / path).exists() for run in runs for path in re.findall(r"tests/\S+", run))
    assert (publish["needs"], publish["environment"]) == ("build", "release")
    assert publish["permissions"] == {"id-token": "write"}
    assert not any("checkout" in step.get("uses", "") for step in publish["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_rights_and_pinned_actions(path: Path) -> None:
    """Rights come by job; an action comes from GitHub itself, in a major version."""
    workflow = loaded(path)
    assert workflow["permissions"] == {}
    assert all(job["timeout-minutes"] and "permissions" in job for job in workflow["jobs"].values())
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"actions/[\w-]+@v\d+", each)] == []


def test_forms_ask_for_what_answers_need() -> None:
    """Each asks for something, and the form for hosts names all of them."""
    forms = {path.stem: loaded(path) for path in FORMS}
    assert forms.keys() == {"bug", "config", "feature", "host"}
    for name in ("bug", "feature", "host"):
        assert any(each.get("validations", {}).get("required") for each in forms[name]["body"]), name
    options = " ".join(forms["host"]["body"][0]["attributes"]["options"])
    assert [host.name for host in HOSTS if host.extra != "mcp" and host.name.partition(",")[0] not in options] == []


@pytest.mark.slow
def test_schemas_and_zizmor_find_nothing() -> None:
    """What GitHub would refuse to run or to show; what an attacker could use."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv makes the environment: start the tests by `uv run pytest`")
    forms = [path for path in FORMS if path.stem != "config"]
    config = [path for path in FORMS if path.stem == "config"]
    schemas = {"github-workflows": WORKFLOWS, "github-issue-forms": forms, "github-issue-config": config}
    checks = [["check-jsonschema", "--builtin-schema", f"vendor.{name}", *schemas[name]] for name in schemas]
    for words in [*checks, ["zizmor", "--offline", "--no-progress", *WORKFLOWS]]:
        line = [uv, "run", "--quiet", "--isolated", "--only-group", "release", *map(str, words)]
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
