"""Run what need not run per change; write down its outcome.

`nightly.py [PART...]` runs all parts if none is named. `.ci/nightly.json` then says of each part
with which commit it ran, when, how long, and whether it passed or was skipped for want of a
program; it is committed when an issue is closed. `nightly.py --age` says how many commits old it
is, and exits with 1 above 200, or if a part failed or is missing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("nightly.json")
OLDEST = 200
"""Commits after which `make check` wants another run."""
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
INHERITED = ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
"""Variables by which the parts' own `make` would take the names of the parts as its options."""


def make(*arguments: str) -> str:
    """Run a target here; skipped if it says so."""
    return outcome(["make", *arguments])


def other_python(version: str) -> str:
    """Run the tests of a fresh clone with another Python."""
    python = f"python{version}"
    if shutil.which(python) is None or subprocess.run([python, "-c", ""], check=False).returncode:
        return skipped(f"there is no {python}")
    with tempfile.TemporaryDirectory(prefix="parley-nightly-") as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        return outcome(["make", "-C", folder, f"PYTHON={python}", "test"])


def outcome(command: list[str]) -> str:
    """Run a command, show what it prints, and say how it ended."""
    aloud = False
    environment = {name: value for name, value in os.environ.items() if name not in INHERITED}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            aloud = aloud or line.startswith("SKIPPED:")
    if process.returncode:
        return FAILED
    return SKIPPED if aloud else PASSED


def skipped(reason: str) -> str:
    """Say why a part is skipped."""
    sys.stdout.write(f"SKIPPED: {reason}.\n")
    return SKIPPED


PARTS: dict[str, Callable[[], str]] = {
    "seeds": lambda: make("long"),
    "browser": lambda: make("browser"),
    "clients": lambda: make("clients"),
    "autogen": lambda: make("autogen"),
    "extras": lambda: make("extras"),
    "redteam": lambda: make("redteam", "ARGS=--long"),
    "release": lambda: make("release", "ARGS=--rehearse"),
    "python3.12": lambda: other_python("3.12"),
    "python3.13": lambda: other_python("3.13"),
}


def git(*arguments: str) -> str:
    """Output of a git command."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(names: list[str]) -> int:
    """Run parts, and write each result down at once."""
    if git("status", "--porcelain", "--", ".", f":!{RECORD.relative_to(ROOT)}"):
        sys.stderr.write("Commit first: the record names the commit that was tried.\n")
        return 2
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in names:
        sys.stdout.write(f"\n=== nightly: {name}\n")
        sys.stdout.flush()
        began = time.monotonic()
        record[name] = {
            "commit": git("rev-parse", "HEAD"),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "result": PARTS[name](),
            "seconds": round(time.monotonic() - began),
        }
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write("\n" + "".join(f"{name}: {record[name]['result']}\n" for name in names))
    return int(any(record[name]["result"] == FAILED for name in names))


def age() -> int:
    """Say how old the record is; 1 if too old or incomplete."""
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    found = {name: _age_of(record.get(name)) for name in PARTS}
    for name, (commits, words) in found.items():
        sys.stdout.write(f"nightly: {name} {words}\n")
        if commits > OLDEST:
            sys.stdout.write(f"Run `make nightly ARGS={name}` and commit {RECORD.name}.\n")
    return int(any(commits > OLDEST for commits, _ in found.values()))


def _age_of(entry: dict[str, str] | None) -> tuple[float, str]:
    if entry is None:
        return float("inf"), "never ran"
    if entry["result"] == FAILED:
        return float("inf"), f"failed at {entry['commit'][:8]}"
    try:
        commits = int(git("rev-list", "--count", f"{entry['commit']}..HEAD"))
    except subprocess.CalledProcessError:
        return float("inf"), f"ran at {entry['commit'][:8]}, which this clone does not have"
    return commits, f"{entry['result']} {commits} commits ago"


if __name__ == "__main__":
    if sys.argv[1:] == ["--age"]:
        sys.exit(age())
    if unknown := set(sys.argv[1:]) - PARTS.keys():
        sys.exit(f"No part is called {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}.")
    sys.exit(run(sys.argv[1:] or list(PARTS)))
