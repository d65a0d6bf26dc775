"""Facts about the whole project: locks, committed files, installed packages."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from packaging.markers import Marker

from gateway.cli import main

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("runtime", "container", "dev", "services", "lock", "release")

# Spelled in parts, so that this file does not name them either.
INDEX_HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com"]
FOREIGN_OPTIONS = ["--index" + "-url", "--extra-index" + "-url", "--find" + "-links"]
MACHINE_PATHS = ["/root" + "/", "/opt" + "/", "/home" + "/runner", "/work" + "/main"]


def read_lock(name: str) -> dict[str, tuple[str, list[str]]]:
    """Map each requirement (name, extras and marker) to its version and hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = [line for line in joined.splitlines() if line and not line.lstrip().startswith("#")]
    lock: dict[str, tuple[str, list[str]]] = {}
    for line in lines:
        requirement, *hashes = re.split(r"\s+--hash=", line.strip())
        package, _, rest = requirement.partition("==")
        version, _, marker = rest.partition(";")
        lock[f"{package};{marker.strip()}"] = (version.strip(), hashes)
    return lock


def committed_texts() -> list[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout
    texts: list[tuple[str, str]] = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file() or b"\0" in (content := path.read_bytes()):
            continue
        texts.append((name, content.decode()))
    return texts


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_an_exact_version_and_hashes(name: str):
    lock = read_lock(name)
    assert lock
    for requirement, (version, hashes) in lock.items():
        assert re.fullmatch(r"[\w.!+]+", version), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


def test_each_layer_of_locks_holds_the_smaller_one_at_the_same_versions():
    def versions(lock: str) -> set[tuple[str, str]]:  # extras, markers differ where more ask
        return {(re.split(r"[;\[]", name)[0], each[0]) for name, each in read_lock(lock).items()}

    assert versions("runtime") <= versions("dev") <= versions("services")
    assert versions("runtime") <= versions("container") <= versions("services")


def test_a_newcomer_waits_for_at_most_61_packages():
    markers = [name.partition(";")[2] for name in read_lock("dev")]
    assert sum(1 for each in markers if not each or Marker(each).evaluate()) <= 61


def test_the_runtime_lock_holds_what_is_declared_and_the_build_backend():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = project["project"]["dependencies"] + project["build-system"]["requires"]
    names = {re.split(r"[<>=\[; ]", each)[0].lower().replace(".", "-") for each in declared}
    assert names <= {requirement.split(";")[0] for requirement in read_lock("runtime")}


@pytest.mark.parametrize(
    "banned", [INDEX_HOSTS, FOREIGN_OPTIONS, MACHINE_PATHS], ids=["hosts", "options", "paths"]
)
def test_no_committed_file_names_a_package_index_or_a_place_on_one_machine(banned: list[str]):
    pattern = re.compile("|".join(r"(?<![\w.])" + re.escape(each) for each in banned))
    suspects = [
        (name, text) for name, text in committed_texts() if any(each in text for each in banned)
    ]
    assert [name for name, text in suspects if pattern.search(text)] == []


def test_the_version_is_the_distributions_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    result = CliRunner().invoke(main, ["--version"])
    assert metadata.version("parley-gateway") == project["version"]
    assert result.output.split()[-1] == project["version"]


def test_the_command_parley_is_installed():
    command = Path(sys.executable).with_name("parley")
    result = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: parley")


def test_packages_are_typed():
    for package in ("teams", "gateway", "adapters"):
        assert (ROOT / package / "py.typed").is_file()


def test_the_extra_all_holds_every_extra_without_a_lock_of_its_own():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    joined = {
        name for entry in extras.pop("all") for name in entry.partition("[")[2][:-1].split(",")
    }
    apart = {lock.stem for lock in (ROOT / "requirements" / "extras").glob("*.txt")}
    assert joined == extras.keys() - apart
    assert extras.keys() & apart == {"graphrag", "mem0", "semantic-kernel", "video-surfer"}


LONG = "A first line of far more words than anybody wants to read at once."


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param(f'"""{LONG}"""', "1: the first line has more than 12 words", id="too long"),
        *[
            pytest.param(
                f'def f():\n    """{word} it does."""',
                f"2: the first line begins with {word}",
                id=word,
            )
            for word in ("What", "Who", "How", "Of", "Whether")
        ],
        pytest.param(
            'class A:\n    """A sentence that\n    goes on."""',
            "2: the first line does not end with a full stop or a colon",
            id="cut in two",
        ),
        pytest.param(
            'class A:\n    a = 1\n    """How often."""',
            "3: the first line begins with How",
            id="below an attribute",
        ),
    ],
)
def test_the_lint_finds_a_first_line_that_breaks_a_rule(tmp_path: Path, code: str, found: str):
    (tmp_path / "module.py").write_text(code)
    checked = check_docstrings(tmp_path)
    assert checked.stdout == f"{tmp_path / 'module.py'}:{found}\n"
    assert checked.returncode == 1


def test_the_lint_lets_good_first_lines_and_other_strings_pass(tmp_path: Path):
    code = f'''
"""Whoever reads this: a good line.

{LONG} What a pity.
"""

a = 1
"""{LONG}"""


async def f():
    """True once:"""
    f"What"
    "What"
'''
    (tmp_path / "module.py").write_text(code)
    checked = check_docstrings(tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "")


def check_docstrings(folder: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / ".ci" / "docstrings.py"
    return subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, check=False
    )


def test_changelog_and_readme_name_what_exists():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_contributors_and_workflows_are_told_of_targets_that_exist():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    github = ROOT / ".github"
    for page in (ROOT / "CONTRIBUTING.md", *github.rglob("*.md"), *github.rglob("*.yml")):
        named = set(re.findall(r"\bmake ([a-z][a-z0-9-]*)", page.read_text()))
        assert named <= targets, page.name
    for workflow in (github / "workflows").glob("*.yml"):
        steps = yaml.safe_load(workflow.read_text())["jobs"].popitem()[1]["steps"]
        commands = [step["run"].split() for step in steps if "run" in step]
        assert commands
        for program, target in commands:
            assert program == "make" or (program == "bash" and (ROOT / target).is_file())
