"""The page of texts has only notices, cards, errors and help."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_has_what_people_read_and_no_queries_or_log_lines():
    page = subprocess.run(
        [sys.executable, ROOT / "docs" / "texts.py"], check=True, capture_output=True, text=True
    ).stdout
    for text in (
        "The team is already working.",
        "Nothing is waiting for your approval.",
        "There is no {kind} {name}",
        "Write a commented config",
        "expected a condition, such as MaxMessage(30)",
    ):
        assert text in page
    for text in ("SELECT", "(?P<", "may be set forward", "keeps the connection to Discord"):
        assert text not in page
