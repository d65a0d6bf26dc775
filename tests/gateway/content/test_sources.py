"""Numbers of passages in an answer: links, names, and what stays text."""

import pytest

from gateway.content.sources import sources_of, with_sources
from gateway.events import Source
from teams.memory import MemoryContent

FILE = Source(number=1, name="handbook/leave.md", line=3)
PAGE = Source(number=2, name="https://docs.example.com/a_(b)", line=9)
ODD = Source(number=12, name="a\n`b` <!here>.md", line=1)
KNOWN = {each.number: each for each in (FILE, PAGE, ODD)}
LINK = "[2](https://docs.example.com/a_%28b%29)"
NAMED = "\n\nSources: [1] `handbook/leave.md`, line 3"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("28 days [1].", f"28 days [1].{NAMED}"),
        ("A bicycle [2].", f"A bicycle {LINK}."),
        ("Both [1][2].", f"Both [1], {LINK}.{NAMED}"),
        ("Both [1, 2]; and [1].", f"Both [1], {LINK}; and [1].{NAMED}"),
        ("As [2]: yes", f"As {LINK}: yes"),
        ("Odd [12]", "Odd [12]\n\nSources: [12] `a 'b' <!here>.md`, line 1"),
    ],
)
def test_a_number_that_was_told_is_a_link_or_has_a_name(answer: str, shown: str):
    assert with_sources(answer, KNOWN) == shown


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Nothing cited",
        "Unknown [3]",
        "One of them unknown [1, 3]",
        "[1]: https://evil.example",
        "A link [1](https://evil.example) and [words][1]",
        "An image ![1] or escaped \\[1]",
        "Code `a[1]`",
        "```\na[1]\n```",
        "[99999999] [-1] [1.2] [ 1 ]",
    ],
)
def test_anything_else_stays_the_text_that_it_is(answer: str):
    assert with_sources(answer, KNOWN) == answer
    assert with_sources(answer, {}) == answer


def test_only_numbered_passages_are_sources():
    told = {"source": "a.md", "line": 7, "end_line": 9, "score": 0.5}
    odd = ({**told, "number": "1"}, told, None, {"number": 1}, {**told, "number": 1, "source": 2})
    passages = [MemoryContent(content="x", mime_type="text/plain", metadata=each) for each in odd]
    assert sources_of(passages) == ()
    whole = MemoryContent(content="x", mime_type="text/plain", metadata={**told, "number": 4})
    assert sources_of([*passages, whole]) == (Source(number=4, name="a.md", line=7),)
