"""The hostile model server: impossible counts, too many calls, huge arguments."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.security.redteam.moved import Moved
from tests.security.redteam.scripts import Calls, Claim, Say, Scripts, Use
from tests.security.redteam.words import HOSTILE

MOST_TOKENS = 1 << 40
COUNTS = {
    "negative": "-1000000",
    "huge": "1" + "0" * 30,
    "large": str(1 << 62),
    "nan": "NaN",
    "infinite": "Infinity",
    "text": '"many"',
    "fraction": "0.5",
    "null": "null",
    "list": "[1]",
}
SCRIPTS: Scripts = {
    **{f"count-{name}": [Claim(count)] for name, count in COUNTS.items()},
    "many-calls": [Calls("fetch", 3_000), Say(f"{HOSTILE} read")],
    "huge-call": [Use("fetch", f'{{"page": "{"x" * 3_500_000}"}}'), Say(f"{HOSTILE} read")],
}


def look(store: Path, moved: Moved) -> None:
    """Look for counts that no model can have used."""
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT prompt_tokens, completion_tokens FROM usage")
        counts = [count for row in rows for count in row]
    for count in counts:
        good = isinstance(count, int) and 0 <= count <= MOST_TOKENS
        moved.check("usage", f"a count of {count!r} tokens", moved=not good)
