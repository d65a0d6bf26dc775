"""Split texts: nothing lost, pieces fit and read alone, complete pieces stay."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gateway.render.graphemes import may_cut
from gateway.render.split import Piece, split, with_closed_fence

pytestmark = pytest.mark.timeout(60)

LIMIT = 60
PARSER = MarkdownIt("commonmark").enable("table")
END = "the end of it"

words = st.text("ab \n.|-*`~[]()", max_size=30)
fences = st.builds(
    "\n{2}{0}{1}\n{3}\n{2}{0}\n".format,
    st.sampled_from(["```", "~~~", "````", "~~~~~"]),
    st.sampled_from(["", "py", "c++"]),
    st.sampled_from(["", " "]),
    st.text("xy \n```~", max_size=90),
)
unclosed = st.builds(
    "\n```{}\n{}".format, st.sampled_from(["", "js"]), st.text("xy \n", max_size=90)
)
tables = st.builds(
    "\n\n| a | b |\n|---|---|\n{}\n\n".format,
    st.lists(st.sampled_from(["| 1 | 2 |", "| long cell | x |"]), max_size=9).map("\n".join),
)
links = st.sampled_from(
    [
        "https://example.org/a/b?c=d ",
        "[some words](https://example.org/x) ",
        "`code in a line` ",
        "(www.example.org) ",
    ]
)
people = st.sampled_from(
    ["👩‍👩‍👧‍👦", "🇩🇪", "🇫🇷", "👍🏽", "é", "é", "नमस्ते", "한국어", "שלום", "漢字。"]
)
prose = st.sampled_from(
    ["A sentence. ", "Another one, longer! ", "word ", "\n", "\n\n", "- item\n"]
)
markdown = st.one_of(prose, prose, fences, tables, links, people, unclosed)
texts = st.lists(st.one_of(words, markdown), max_size=14).map("".join)
documents = st.lists(st.one_of(st.text("ab \n.|[]()", max_size=30), markdown), max_size=14).map(
    "".join
)


def bodies(pieces: list[Piece]) -> str:
    return "".join(piece.body for piece in pieces)


def parses_alone(text: str) -> bool:
    """Nothing that the text opens reaches beyond its end."""
    tokens = PARSER.parse(f"{text}\n\n{END}\n")
    return any(token.type == "inline" and END in token.content for token in tokens)


@settings(max_examples=40)
@given(texts)
def test_without_what_was_added_the_pieces_are_the_text(text: str) -> None:
    pieces = split(text, limit=LIMIT)
    assert bodies(pieces) == text
    assert all(piece.body == text[piece.first : piece.last] for piece in pieces)


@settings(max_examples=40)
@given(texts)
def test_each_piece_fits(text: str) -> None:
    assert all(len(piece.text) <= LIMIT for piece in split(text, limit=LIMIT))


@settings(max_examples=40)
@given(documents)
def test_each_piece_parses_alone(text: str) -> None:
    for piece in split(text, limit=LIMIT):
        assert parses_alone(piece.text), piece


@settings(max_examples=40)
@given(texts)
def test_a_piece_that_is_complete_stays_as_it_is_whenever_the_text_is_cut_off(text: str) -> None:
    whole = split(text, limit=LIMIT)
    for end in range(len(text) + 1):
        so_far = split(text[:end], limit=LIMIT, growing=True)
        assert so_far[:-1] == whole[: max(0, len(so_far) - 1)]


@settings(max_examples=40)
@given(texts)
def test_no_character_is_cut(text: str) -> None:
    for piece in split(text, limit=LIMIT):
        assert may_cut(text, piece.last)


@settings(max_examples=60)
@given(texts)
def test_what_stands_there_keeps_its_bounds(text: str) -> None:
    whole = split(text, limit=LIMIT)
    cuts = [piece.last for piece in whole[:-1]]
    assert split(text, limit=LIMIT, cuts=cuts) == whole


@settings(max_examples=60)
@given(texts)
def test_another_way_of_counting_holds_as_well(text: str) -> None:
    def length(part: str) -> int:
        return len(part.encode("utf-16-le", "surrogatepass")) // 2

    for piece in split(text, limit=LIMIT, length=length):
        assert length(piece.text) <= LIMIT


def shown(text: str, limit: int = LIMIT) -> list[str]:
    return [piece.text for piece in split(text, limit=limit)]


def test_a_text_is_cut_between_paragraphs_before_lines_before_sentences() -> None:
    assert shown("One two three.\n\nFour five.\nSix", 24) == [
        "One two three.\n\n",
        "Four five.\nSix",
    ]
    assert shown("One two three\nFour five.\nSix", 20) == ["One two three\n", "Four five.\nSix"]
    assert shown("One two three. Four five", 20) == ["One two three. ", "Four five"]
    assert shown("onetwo threefour five", 14) == ["onetwo ", "threefour five"]
    assert shown("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    pieces = shown("Look:\n\n```py\na = 1\nb = 2\nc = 3\n```\nSo.", 24)
    assert pieces == ["Look:\n\n```py\na = 1\n```", "```py\nb = 2\nc = 3\n```\n", "So."]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "````md\n```py\none\n```\n```py\ntwo\n```\n````\nend"
    for piece in shown(text, 30):
        assert piece.startswith("````md") or piece == "end"


def test_a_table_gets_its_header_again() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n"
    pieces = shown(text, 42)
    assert pieces == [
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "| a | b |\n|---|---|\n| 5 | 6 |\n",
    ]


@pytest.mark.parametrize(
    "link",
    ["https://example.org/a/rather/long/path", "[a few words](https://example.org)", "`a b c d`"],
)
def test_links_and_code_in_a_line_are_not_cut(link: str) -> None:
    for filler in range(45):
        text = f"{'x ' * filler}{link} and more words after it, so that it does not fit"
        assert any(link in piece for piece in shown(text)), filler


def test_indentation_at_the_beginning_of_a_piece_is_kept() -> None:
    text = "```py\n" + "    indented = True\n" * 6 + "```"
    for piece in shown(text)[1:]:
        assert re.match(r"```py\n    indented", piece)


def test_only_as_many_pieces_as_are_wanted_are_made() -> None:
    pieces = split("word " * 100_000, limit=50, most=3)
    assert len(pieces) == 3


def test_an_open_fence_can_be_closed() -> None:
    assert with_closed_fence("```py\nx = 1") == "```py\nx = 1\n```"
    assert with_closed_fence("```py\nx = 1\n") == "```py\nx = 1\n```"
    assert with_closed_fence("nothing open") == "nothing open"


def test_what_people_see_as_one_character_is_known() -> None:
    for text in (
        "\r\n",
        "e\u0301",
        "\u1100\u1161",
        "\ud55c\u11ab",
        "\u1112\ud55c",
        "\U0001f1e9\U0001f1ea",
    ):
        assert not may_cut(text, 1), text
    for text in ("ab", "\n\u0301", "\u6f22\u5b57", "\U0001f600\U0001f600"):
        assert may_cut(text, 1), text
    flags = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
    assert [may_cut(flags, n) for n in range(5)] == [True, False, True, False, True]


def test_a_fence_in_a_quotation_ends_with_it() -> None:
    text = "> ```py\n> one\n" + "two three four five six seven eight nine ten " * 3
    pieces = shown(text)
    assert pieces[0].startswith("> ```py\n> one\n")
    assert not any(piece.startswith("> ```") for piece in pieces[1:])


def test_a_long_header_of_a_table_is_not_repeated() -> None:
    header = "| " + "a" * 300 + " | " + "b" * 300 + " |\n|---|---|\n"
    pieces = shown(header + "| 1 | 2 |\n" * 40, 700)
    assert sum("aaa" in piece for piece in pieces) == 1


@pytest.mark.parametrize(
    "heading", ["## Costs\n", "## Costs\n\n", "# A\n## B\n\n", "**Costs**\n\n"]
)
def test_no_heading_stands_above_a_cut(heading: str) -> None:
    text = f"{'One two three. ' * 3}\n\n{heading}{'They grow by the year. ' * 6}"
    for pieces in (split(text, limit=LIMIT), split(text, limit=LIMIT, growing=True)):
        for piece in pieces[:-1]:
            last = piece.body.rstrip().rpartition("\n")[2]
            assert not last.startswith(("#", "**")), piece
        assert "".join(piece.body for piece in pieces) == text


def test_a_comment_in_code_is_no_heading() -> None:
    comments = "# a comment of twenty\n" * 6
    text = f"```sh\n{comments}```\n"
    assert max(len(piece.body) for piece in split(text, limit=LIMIT)) > LIMIT // 2


def test_a_text_of_headings_alone_is_cut_nevertheless() -> None:
    text = "## A heading\n" * 20
    assert all(len(piece.text) <= LIMIT for piece in split(text, limit=LIMIT))


@pytest.mark.parametrize("begun", ["[a](", "# a", "**a", "> a", "- a", "```\n"])
def test_blanks_that_may_be_cut_nowhere_take_linear_time(begun: str) -> None:
    text = begun + " " * 60_000
    began = time.process_time()
    pieces = split(text, limit=len(text) - 1)
    assert time.process_time() - began < 2  # 8 s with code where each place looks at the whole text
    assert "".join(piece.body for piece in pieces) == text


def test_a_heading_is_as_long_as_headings_are() -> None:
    text = f"{'One two. ' * 60}\n# {'x' * 600}\nNext. {'One two. ' * 60}"
    assert "".join(piece.body for piece in split(text, limit=1_200)) == text
