"""Run failed tests of a `make` target again: `again.py TARGET`.

At most two: each alone, three times in a row, and each time it must pass. They are printed, for
each is a fault to mend before the next issue is begun. Exits with 1 if there are more, or if one
fails again.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
MOST = 2
TIMES = 3


def main(target: str) -> int:
    """Print what failed, and run it again."""
    if not FAILED.is_file():
        sys.stdout.write(f"make {target} failed before a test did.\n")
        return 1
    tests = list(json.loads(FAILED.read_text(encoding="utf-8")))
    FAILED.unlink()  # what fails in a later target is told apart
    sys.stdout.write("".join(f"UNSTABLE, OR BROKEN: {test}\n" for test in tests))
    if not 0 < len(tests) <= MOST:
        sys.stdout.write(f"{len(tests)} tests failed; at most {MOST} are run again.\n")
        return 1
    return int(not all(passes(target, test) for test in tests for _ in range(TIMES)))


def passes(target: str, test: str) -> bool:
    """Run one test by itself, and say if it passed."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as arguments:
        arguments.write(test)  # from a file: a name may hold what a shell would read
        arguments.flush()
        options = f"ARGS=-n 0 -p no:cacheprovider @{arguments.name}"
        return subprocess.run(["make", target, options], cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
