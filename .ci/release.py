"""Build a release, and try it as a user would.

`make release` leaves what is committed in `dist`, as a wheel, a source archive and a list of
components (CycloneDX), and says what is left to do by hand. `ARGS=--rehearse` goes on where only
the day is wrong: something is not committed, the changelog has entries of no version, or the
version is out already.
"""

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLD_STORE = ROOT / "tests/data/stores/sqlite-21.sql"
"""A store of the oldest format that is upgraded."""
OLD_WORDS = "Keep this"
"""Words of its thread "Greetings"."""
TASK, RESULT = "What is 17 * 23?", "391"
"""A task, and the number in the demo model's answer."""
PYTHON = (sys.executable, "-I", "-m")


class Broken(Exception):
    """A reason not to release, with what to do."""


def git(folder: Path, *arguments: str) -> str:
    """Output of a git command."""
    return run("git", "-C", folder, *arguments).strip()


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    umask: int = -1,
) -> str:
    """Output of a command; Broken if it fails."""
    ended = subprocess.run(
        command, env=env, cwd=cwd, umask=umask, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise Broken(f"{' '.join(map(str, command))}\n{ended.stdout}{ended.stderr}".strip())
    return ended.stdout


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def version_of(project: Path) -> str:
    """The version that pyproject.toml declares."""
    return tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def check_version(project: Path) -> None:
    """Compare the version with the changelog and the tags."""
    if git(project, "status", "--porcelain"):
        raise Broken("Commit first: a release is made of what is committed.")
    version, text = version_of(project), (project / "CHANGELOG.md").read_text("utf-8")
    found = re.split(r"^## \[(.+?)\].*\n", text, flags=re.MULTILINE)
    entries = {name: body.strip() for name, body in zip(found[1::2], found[2::2], strict=True)}
    if entries.get("Unreleased"):
        raise Broken(f"CHANGELOG.md: move the entries under [Unreleased] to [{version}].")
    newest = next((name for name in entries if name != "Unreleased"), "none")
    if newest != version or not entries[newest]:
        raise Broken(
            f"pyproject.toml has version {version}, but the newest with entries in CHANGELOG.md is "
            f"{newest}."
        )
    if git(project, "tag", "--list", f"v{version}") and (
        git(project, "rev-parse", f"v{version}^{{commit}}") != git(project, "rev-parse", "HEAD")
    ):
        raise Broken(
            f"v{version} is the tag of another commit: raise the version in pyproject.toml."
        )


def build(project: Path, scratch: Path) -> list[Path]:
    """Build wheel and archive twice; Broken if a byte differs."""
    epoch = git(project, "log", "-1", "--format=%ct")
    env = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    built: list[list[Path]] = []
    for name, umask in (("one", 0o022), ("two", 0o077)):
        clone, made = scratch / name, scratch / f"{name}-dist"
        run("git", "clone", "--quiet", project, clone, umask=umask)
        run(
            *PYTHON,
            "hatchling",
            "build",
            "-t",
            "sdist",
            "-d",
            made,
            env=env,
            cwd=clone,
            umask=umask,
        )
        [archive] = made.iterdir()
        if name == "two":  # the wheel of those who build it from the archive
            (scratch / "unpacked").mkdir()
            run("tar", "-xzf", archive, "-C", scratch / "unpacked")
            [clone] = (scratch / "unpacked").iterdir()
        run(
            *PYTHON,
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            made,
            env=env,
            cwd=clone,
            umask=umask,
        )
        built.append(sorted(made.iterdir()))
    for one, two in zip(*built, strict=True):
        if one.name != two.name or one.read_bytes() != two.read_bytes():
            raise Broken(f"Two builds of {one.name} differ: compare them with diffoscope.")
    return built[0]


def versions(lock: str) -> str:
    """The versions of a lock, as constraints.

    Not its hashes: pip would want all that a wheel asks for pinned in the wheel itself.
    """
    pinned = re.findall(r"^([\w.-]+)(?:\[.*?\])?(==[^\\]+) \\$", lock, flags=re.MULTILINE)
    return "".join(f"{name}{version}\n" for name, version in pinned)


def install(wheel: Path, venv: Path) -> None:
    """Install a wheel in an empty environment."""
    constraints = venv.with_suffix(".txt")
    constraints.write_text(versions((ROOT / "requirements/runtime.txt").read_text("utf-8")))
    run(*PYTHON, "venv", "--without-pip", venv)
    pip = (*PYTHON, "pip", "--disable-pip-version-check", "--python", venv / "bin/python")
    run(*pip, "install", "--quiet", "--constraint", constraints, wheel)
    run(*pip, "check")


def list_components(venv: Path, project: Path, target: Path) -> None:
    """Write the packages of an environment as CycloneDX."""
    epoch = git(project, "log", "-1", "--format=%ct")
    options = ("--pyproject", project / "pyproject.toml", "--output-reproducible", "--validate")
    run(
        *(
            *PYTHON,
            "cyclonedx_py",
            "environment",
            *options,
            "--output-file",
            target,
            venv / "bin/python",
        ),
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
    )


class Trial:
    """An installed wheel, in a home of its own."""

    def __init__(self, venv: Path, folder: Path) -> None:
        self.venv, self.folder = venv, folder
        self.folder.mkdir()
        self.env = {"HOME": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}

    def parley(self, *arguments: str) -> str:
        """Output of a command of Parley's."""
        return run(self.venv / "bin/parley", *arguments, env=self.env, cwd=self.folder)

    def expect(self, found: str, *arguments: str) -> None:
        """Broken if a command's output lacks a text."""
        if found not in (said := self.parley(*arguments)):
            raise Broken(f"parley {' '.join(arguments)}: no {found!r} in what it says:\n{said}")

    def run_it(self, version: str) -> None:
        """Check a small config and run a task."""
        self.expect(version, "--version")
        self.expect("Usage: parley", "--help")
        # Neither threads nor copies of the old store may become too old to be kept.
        (self.folder / "config.toml").write_text(
            '[store]\nfolder = "store"\nretention_days = 0\n\n[models.toy]\nprovider = "demo"\n'
        )
        self.expect("toy", "check", "--config", "config.toml")
        self.expect(RESULT, "run", "--config", "config.toml", "--final", TASK)

    def upgrade(self) -> None:
        """Open an old store, and read and write in it."""
        database = self.folder / "store" / "parley.db"
        shutil.rmtree(database.parent, ignore_errors=True)
        database.parent.mkdir()
        with closing(sqlite3.connect(database)) as old:
            old.executescript(OLD_STORE.read_text("utf-8"))
        self.expect(RESULT, "run", "--config", "config.toml", "--final", "--session", "New", TASK)
        self.expect("is sound", "store", "check", "--config", "config.toml")
        self.expect(OLD_WORDS, "sessions", "show", "Greetings", "--config", "config.toml")
        self.expect(RESULT, "sessions", "show", "New", "--config", "config.toml")
        with closing(sqlite3.connect(database)) as store:
            [found] = store.execute("PRAGMA user_version").fetchone()
        newest = "from gateway.store.formats import newest_format; print(newest_format())"
        known = run(self.venv / "bin/python", "-I", "-c", newest, env=self.env, cwd=self.folder)
        if found != int(known):
            raise Broken(f"The store has format {found}, and the wheel makes {known.strip()}.")


def by_hand(version: str, made: list[Path]) -> str:
    """Say what is ready and what is left to do."""
    sums = "".join(
        f"  {hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in made
    )
    return f"""\
Ready in dist:
{sums}Left to do by hand:
  1. .ci/run and make nightly have passed with this commit.
  2. git tag --annotate v{version} --message "Parley {version}" && git push origin v{version}
  3. Compare the first two sums with those of the tag's workflow (another zlib packs otherwise),
     then upload the wheel and the archive to the package index (twine upload).
  4. Publish the tag's release with all three files and the changelog's text of {version}."""


def release(project: Path, dist: Path, *, rehearse: bool) -> None:
    """Take all steps; Broken at the first that fails."""
    version = version_of(project)
    with tempfile.TemporaryDirectory(prefix="parley-release-") as folder:
        scratch, made = Path(folder), list[Path]()
        venv, components = scratch / "venv", scratch / f"parley_gateway-{version}.cdx.json"

        def step(text: str, do: Callable[[], object]) -> None:
            say(f"=== {text}")
            do()

        step("version and changelog", lambda: _on_the_day(project, rehearse=rehearse))
        step("two builds, byte for byte", lambda: made.extend(build(project, scratch)))
        [wheel] = [each for each in made if each.suffix == ".whl"]
        step("the wheel in an empty environment", lambda: install(wheel, venv))
        step("components", lambda: list_components(venv, project, components))
        trial = Trial(venv, scratch / "home")
        step("parley --version, check and run", lambda: trial.run_it(version))
        step("a store of the oldest format", trial.upgrade)
        shutil.rmtree(dist, ignore_errors=True)
        dist.mkdir()
        say(by_hand(version, [Path(shutil.copy(each, dist)) for each in (*made, components)]))


def _on_the_day(project: Path, *, rehearse: bool) -> None:
    try:
        check_version(project)
    except Broken as reason:
        if not rehearse:
            raise
        say(f"Rehearsal; on the day of the release this ends here: {reason}")


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - {"--rehearse"}:
        sys.exit(f"Unknown: {' '.join(sorted(unknown))}. There is --rehearse.")
    try:
        release(ROOT, ROOT / "dist", rehearse="--rehearse" in sys.argv)
    except Broken as reason:
        sys.exit(f"No release: {reason}")
