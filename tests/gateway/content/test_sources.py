"""Numbers of passages in an answer, and what stays text."""

import pytest

from gateway.content.sources import sources_of, with_sources
from gateway.events import Source
from teams.memory import MemoryContent

FILE = Source(number=1, name="handbook/leave.md", line=3)
PAGE = Source(number=2, name="https://docs.example.com/a_(b)", line=9)
ODD = Source(number=12, name="a\n`b` <!here>.md", line=1)
KNOWN = {each.number: each for each in (FILE, PAGE, ODD)}
LEAVE = "- [1] `handbook/leave.md`, line 3"
BIKES = "- [2] <https://docs.example.com/a_(b)>"


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("28 days [1].", [LEAVE]),
        ("A bicycle[2].", [BIKES]),
        ("Both [1][2].", [LEAVE, BIKES]),
        ("Both [2, 1]; and [1].", [BIKES, LEAVE]),
        ("One of them unknown [1; 3]", [LEAVE]),
        ("As [2]: yes\n\n```\n[1]\n```", [BIKES]),
        ("Odd [12]", ["- [12] `a 'b' <!here>.md`, line 1"]),
    ],
)
def test_what_an_answer_cites_is_named_below_it(answer: str, named: list[str]):
    assert with_sources(answer, KNOWN) == "\n".join([f"{answer}\n\nSources:", *named])


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Nothing cited",
        "Unknown [3]",
        "A link [1](https://evil.example)",
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
