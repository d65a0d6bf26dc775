"""Sentences of a page are counted as people read them."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "prose.py"

PLAIN = """# A title of many words that is no sentence of this page at all

A short sentence. Another one! Is this a third? It is: a [fourth](docs/README.md).

| a table | of cells. With sentences. |
| --- | --- |

```sh
make test # code. Not prose.
```

- An item of a list
- A second item
"""


def measured(tmp_path: Path, text: str) -> list[str]:
    """The columns that are printed for a page."""
    page = tmp_path / "page.md"
    page.write_text(text)
    command = [sys.executable, SCRIPT, page]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    columns = run.stdout.splitlines()[1].split()
    assert run.returncode == ("*" in columns)
    return columns


def test_every_page_keeps_to_the_bounds():
    run = subprocess.run(
        [sys.executable, SCRIPT], cwd=SCRIPT.parents[1], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_titles_tables_and_code_are_no_sentences(tmp_path: Path):
    _, words, median, longest, avoided, beginnings = measured(tmp_path, PLAIN)
    assert (words, median, longest) == ("21", "3", "5")
    assert (avoided, beginnings) == ("0", "0")


@pytest.mark.parametrize(
    ("text", "avoided", "beginnings"),
    [
        ("Nobody asks. It stands there.", "2", "1"),
        ("Whoever asks gets it.", "0", "1"),
        ("Of these, two are left.", "0", "1"),
        ("Ask who stands by.", "1", "0"),
        ("The person is told. Meanwhile, nothing happens.", "3", "0"),
    ],
)
def test_words_to_avoid_are_counted(tmp_path: Path, text: str, avoided: str, beginnings: str):
    found = [each for each in measured(tmp_path, text) if each != "*"]
    assert found[-2:] == [avoided, beginnings]
