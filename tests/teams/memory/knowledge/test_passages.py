"""Passages of a text, and queries made of people's words."""

import sqlite3
import time

import pytest

from teams.memory.knowledge._passages import LONGEST, indexed_form, match_of, passages_of


def found(question: str, *texts: str) -> set[int]:
    """The texts that an index of SQLite finds for the question."""
    with sqlite3.connect(":memory:") as base:
        base.execute(
            'CREATE VIRTUAL TABLE t USING fts5(x, tokenize="unicode61 remove_diacritics 2")'
        )
        base.executemany("INSERT INTO t VALUES (?)", [(indexed_form(each),) for each in texts])
        query = "SELECT rowid FROM t WHERE t MATCH ?"
        hits = {row[0] - 1 for row in base.execute(query, (match_of(question),))}
    base.close()
    return hits


def test_a_passage_begins_at_a_heading_and_knows_its_lines():
    first, second = "word " * 50, "other " * 50
    text = f"# One\n\n{first}\n\n# Two\n{second}\n\n"
    passages = list(passages_of(text))
    assert [(each.line, each.end_line) for each in passages] == [(1, 3), (5, 6)]
    lines = text.split("\n")
    for each in passages:
        assert each.text.split("\n")[0] == lines[each.line - 1].rstrip()
        assert each.text.split("\n")[-1] == lines[each.end_line - 1].rstrip()


def test_short_sections_stay_together():
    assert [each.text for each in passages_of("# A\none\n# B\ntwo")] == ["# A\none\n# B\ntwo"]


def test_long_texts_are_cut_at_paragraphs_and_long_lines_anywhere():
    paragraphs = "\n\n".join(["x" * 500] * 4)
    assert [(each.line, each.end_line) for each in passages_of(paragraphs)] == [(1, 3), (5, 7)]
    pieces = list(passages_of("y" * (LONGEST * 2 + 1)))
    assert [len(each.text) for each in pieces] == [LONGEST, LONGEST, 1]
    assert {(each.line, each.end_line) for each in pieces} == {(1, 1)}


@pytest.mark.parametrize("text", ["", "\n\n\n", " \t \n"])
def test_an_empty_text_has_no_passage(text: str):
    assert list(passages_of(text)) == []


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Antrag", "Die Anträge sind zu stellen."),
        ("Anträge", "Ein ANTRAG genügt."),
        ("Urlaub", "Das Urlaubsformular liegt aus."),
        ("Straße?", "die strasse und die Straße"),
        ("reports", "Write a report."),
        ("café", "the cafe is open"),
        ("東京の天気", "今日の東京は晴れです"),
        ("首都", "北京是中国的首都。"),
        ("晴", "今日の東京は晴れです"),
        ("Как работает отпуск?", "Отпуск оформляется заранее."),
        ("การลา", "ระเบียบการลาหยุด"),
        ("휴가 신청", "휴가는 미리 신청합니다"),
        ("छुट्टी के नियम", "यहाँ छुट्टी मिलती है"),
        ("cafe", "the cafe\u0301 is open"),
        ("cafe\u0301", "the caf\u00e9 is open"),
        ("v2.10 API", "Changes of API v2.10"),
    ],
)
def test_words_of_many_scripts_are_found(question: str, text: str):
    assert found(question, text, "nothing of that 中 kind") == {0}


@pytest.mark.parametrize(
    "question",
    [
        '"',
        'a" OR "b',
        "NEAR(a b)",
        "x:y",
        "-a",
        "^a",
        "*",
        "(",
        ")",
        "a AND",
        "{a}",
        "\ud800",
        "\0",
    ],
)
def test_syntax_in_a_question_is_no_syntax(question: str):
    found(question, "text")


def test_operators_are_words():
    assert found("NOT near", "not here", "far") == {0}


def test_a_long_question_takes_little_time_and_few_words():
    began = time.perf_counter()
    match = match_of("word" * 100_000 + " 東" * 50_000 + "東" * 100_000)
    assert time.perf_counter() - began < 5
    assert match_of(" ".join(map(str, range(1000)))).count(" OR ") < 100
    assert match


def test_odd_texts_take_linear_time():
    began = time.perf_counter()
    for piece in ("#", "# ", "\n", "a\n\n", "東", " "):
        list(passages_of(piece * 100_000))
    assert time.perf_counter() - began < 8
