"""The steps of a release, each of which can fail.

`make nightly` runs them all on Parley itself.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gateway.store.formats import newest_format
from tests.test_house import git, script, write
from tests.test_project import read_lock

ROOT = Path(__file__).resolve().parents[1]
PROJECT = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "tiny"
version = "0.2.0"
requires-python = ">=3"
[tool.hatch.build]
packages = ["tiny"]
""",
    "CHANGELOG.md": "## [Unreleased]\n\n## [0.2.0] - May\n\n- New.\n\n## [0.1.0]\n\n- Old.\n",
    "tiny/__init__.py": "",
    "tiny/data.txt": "data",
}
HOOK = """
import time
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        with open("tiny/made.txt", "w") as made:
            made.write(str(time.time_ns()))
"""
PARLEY = """#!/bin/sh
case "$*" in
*"{silent}"*) exit 0 ;;
*"{failing}"*) echo It fails. >&2; exit 1 ;;
*"{upgrading}"*) python -c 'import sqlite3
sqlite3.connect("store/parley.db").execute("PRAGMA user_version = {newest}")' ;;
esac
echo 0.2.0, Usage: parley, toy, 391, is sound, Keep this
"""
COMMANDS = [
    *("--version", "--help", "check --config", "--final What", "--session", "store check"),
    *("show Greetings", "show New"),
]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release")


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, made once."""
    root = tmp_path_factory.mktemp("project")
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, PROJECT)
    return root


@pytest.fixture
def project(committed: Path, tmp_path: Path) -> Path:
    """A copy of the project, to be changed."""
    return shutil.copytree(committed, tmp_path / "project")


def commit(root: Path, files: dict[str, str]) -> None:
    write(root, files)
    git(root, "commit", "--quiet", "-m", "Change")


def test_a_version_with_its_changelog_passes_also_if_it_is_tagged_here(release, project: Path):
    release.check_version(project)
    git(project, "tag", "v0.2.0")
    release.check_version(project)


@pytest.mark.parametrize(
    ("changelog", "found"),
    [
        ("## [Unreleased]\n\n- Newer.\n\n## [0.2.0]\n\n- New.\n", "move the entries"),
        ("## [Unreleased]\n\n## [0.1.0]\n\n- Old.\n", "newest with entries .* is 0.1.0"),
        ("## [0.3.0]\n\n- Newer.\n\n## [0.2.0]\n\n- New.\n", "is 0.3.0"),
        ("## [Unreleased]\n\n## [0.2.0]\n\n## [0.1.0]\n\n- Old.\n", "version 0.2.0"),
        ("# Changelog\n", "is none"),
    ],
    ids=["not moved", "not begun", "too low", "empty", "nothing"],
)
def test_a_changelog_of_another_version_is_refused(
    release, project: Path, changelog: str, found: str
):
    commit(project, {"CHANGELOG.md": changelog})
    with pytest.raises(release.Broken, match=found):
        release.check_version(project)


def test_a_version_that_is_out_is_refused(release, project: Path):
    git(project, "tag", "--annotate", "v0.2.0", "-m", "Tiny 0.2.0")
    commit(project, {"tiny/more.txt": "more"})
    with pytest.raises(release.Broken, match=r"v0.2.0 is the tag of another commit"):
        release.check_version(project)


def test_two_builds_are_the_same(release, project: Path, tmp_path: Path):
    built = release.build(project, tmp_path)
    assert [each.name for each in built] == ["tiny-0.2.0-py3-none-any.whl", "tiny-0.2.0.tar.gz"]


@pytest.mark.parametrize(
    ("options", "files", "found"),
    [
        ("[tool.hatch.build.hooks.custom]", {"hatch_build.py": HOOK}, "tiny-0.2.0.* differ"),
        (
            '[tool.hatch.build.targets.sdist]\nexclude = ["tiny/data.txt"]',
            {},
            "tiny-0.2.0-py3-none-any.whl differ",
        ),
    ],
    ids=["the time", "the archive"],
)
def test_builds_that_differ_are_refused(
    release, project: Path, tmp_path: Path, options: str, files: dict[str, str], found: str
):
    commit(project, files | {"pyproject.toml": f"{PROJECT['pyproject.toml']}{options}\n"})
    with pytest.raises(release.Broken, match=found):
        release.build(project, tmp_path)


def test_the_wheel_gets_the_versions_of_the_lock(release):
    lines = release.versions((ROOT / "requirements/runtime.txt").read_text()).splitlines()
    found = {(line.partition("=")[0], line.partition("==")[2].split()[0]) for line in lines}
    assert found == {
        (requirement.partition(";")[0].partition("[")[0], version)
        for requirement, (version, _) in read_lock("runtime").items()
    }


NEVER = "no such command"


def trial(
    release: ModuleType,
    folder: Path,
    *,
    silent: str = NEVER,
    failing: str = NEVER,
    upgrading: str = "--session",
):
    """A trial of programs in the place of an installed wheel's."""
    newest = newest_format()
    python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    parley = PARLEY.format(silent=silent, failing=failing, upgrading=upgrading, newest=newest)
    (binaries := folder / "venv/bin").mkdir(parents=True)
    for name, text in {"python": python, "parley": parley}.items():
        (binaries / name).write_text(text.replace("python -c", f"{sys.executable} -c"))
        (binaries / name).chmod(0o755)
    return release.Trial(folder / "venv", folder / "home")


def test_a_wheel_whose_commands_do_their_work_passes(release, tmp_path: Path):
    tried = trial(release, tmp_path)
    take_steps(tried)


def take_steps(tried) -> None:
    tried.run_it("0.2.0")
    tried.upgrade()


@pytest.mark.parametrize("way", ["silent", "failing"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_wheel_with_a_broken_command_is_refused(release, tmp_path: Path, way: str, command: str):
    tried = trial(release, tmp_path, **{way: command})
    with pytest.raises(release.Broken, match=command.split()[0]):
        take_steps(tried)


def test_a_wheel_that_leaves_an_old_store_as_it_is_is_refused(release, tmp_path: Path):
    with pytest.raises(release.Broken, match="The store has format 21"):
        trial(release, tmp_path, upgrading=NEVER).upgrade()


def test_what_is_not_committed_is_not_released(release, project: Path, tmp_path: Path):
    (kept := tmp_path / "dist").mkdir()
    write(project, {"tiny/data.txt": "other"})
    with pytest.raises(release.Broken, match="Commit first"):
        release.release(project, kept, rehearse=False)
    assert kept.exists()
