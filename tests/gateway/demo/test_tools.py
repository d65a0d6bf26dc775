"""The demo team's tools: a calculator, a clock and a file reader."""

# ruff: noqa: RUF001 (people write signs that look like others)

import os
import sys
import zoneinfo
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.demo.calculator import CalculationError, calculate
from gateway.demo.clock import UnknownPlace, time_in
from gateway.demo.files import LARGEST, Folder, NotReadable

NOON = datetime(2025, 7, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12*7+1", "85"),
        ("2+3*4", "14"),
        ("(2+3)*4", "20"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2^-1", "0.5"),
        ("-7//2", "-4"),
        ("-7%3", "2"),
        ("0.1+0.2", "0.3"),
        ("1/3", "0.333333333333333"),
        ("2**100", "1267650600228229401496703205376"),
        ("sqrt(16) × 3", "12"),
        ("2.50", "2.5"),
        ("sqrt(2)*sqrt(2)", "2"),
        ("0.1234567890123456789 + 1", "1.1234567890123456789"),
        ("1/7*7", "1"),
        ("3-3", "0"),
        ("10^30/7", "1.42857142857143e29"),
    ],
)
def test_it_calculates(expression: str, value: str):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("1/0", "divides by zero"),
        ("0/0", "no value"),
        ("sqrt(-1)", "no value"),
        ("9**9**9", "too large"),
        ("1+", "can't read"),
        ("(1", "can't read"),
        ("2(3)", "can't read"),
        ("foo(1)", "'foo"),
        ("sqrt(1, 2)", "can't read"),
        ("sqrt(**1)", "can't read"),
        ("sqrt", "can't read"),
        ("...", "can't read"),
        ("(" * 100 + "1" + ")" * 99, "can't read"),
        ("(" * 99 + "1" + ")" * 99 + "+", "can't read"),
        ("1" * 201, "longer"),
        ("__import__('os')", "can't read"),
        ("1 if 1 else 2", "can't read"),
        ("", "can't read"),
    ],
)
def test_it_says_why_it_cannot(expression: str, complaint: str):
    with pytest.raises(CalculationError, match=complaint):
        calculate(expression)


@given(st.text(max_size=60) | st.text("0123456789.+-*/%^() sqrt", max_size=60))
def test_any_text_has_a_value_or_a_complaint(text: str):
    with suppress(CalculationError):
        assert calculate(text)


@given(st.recursive(st.integers(0, 99).map(str), lambda inner: st.builds(
    "({} {} {})".format, inner, st.sampled_from("+-*"), inner), max_leaves=8))  # fmt: skip
def test_whole_numbers_are_exact(expression: str):
    if len(expression) <= 200:
        assert Fraction(calculate(expression)) == _value(expression)


def _value(expression: str) -> Fraction:
    """The value of a bracketed expression, read the slow way."""
    if not expression.startswith("("):
        return Fraction(expression)
    depth = 0
    for place, sign in enumerate(expression[1:-1], start=1):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 and sign == " ":
            left, operator, right = (
                expression[1:place],
                expression[place + 1],
                expression[place + 3 : -1],
            )
            break
    else:
        raise AssertionError(expression)
    one, two = _value(left), _value(right)
    return {"+": one + two, "-": one - two, "*": one * two}[operator]


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("Tokyo", "21:00 on Tuesday, 1 July 2025 (Asia/Tokyo, UTC+09:00)"),
        ("new york", "08:00 on Tuesday, 1 July 2025 (America/New_York, UTC-04:00)"),
        ("San Francisco", "05:00 on Tuesday, 1 July 2025 (America/Los_Angeles, UTC-07:00)"),
        ("Europe/Paris", "14:00 on Tuesday, 1 July 2025 (Europe/Paris, UTC+02:00)"),
        ("India?", "17:30 on Tuesday, 1 July 2025 (Asia/Kolkata, UTC+05:30)"),
        ("utc", "12:00 on Tuesday, 1 July 2025 (UTC)"),
    ],
)
def test_the_clock_knows_cities_countries_and_zones(place: str, shown: str):
    assert time_in(place, NOON) == shown


def test_the_clock_says_which_place_it_does_not_know():
    with pytest.raises(UnknownPlace, match="'Gotham'"):
        time_in("Gotham", NOON)


def test_without_a_table_of_zones_the_clock_says_so(monkeypatch: pytest.MonkeyPatch):
    for name in {"tzdata", *(each for each in sys.modules if each.startswith("tzdata."))}:
        monkeypatch.setitem(sys.modules, name, None)
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    try:
        with pytest.raises(UnknownPlace, match="tzdata"):
            time_in("Munich", NOON)
    finally:
        zoneinfo.reset_tzpath(to=before)


# Files


@pytest.fixture
def home_folder(tmp_path: Path) -> Path:
    """A folder to start in, within one that it must not leave."""
    folder = tmp_path / "start"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "notes.txt").write_text("Buy milk.")
    (folder / "docs" / "plan.md").write_text("# Plan")
    (folder / ".env").write_text("secret")
    (folder / ".git" / "config").write_text("secret")
    (folder / "config.toml").write_text("secret")
    (folder / "store").mkdir()
    (folder / "store" / "parley.db").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    return folder


@pytest.fixture
def folder(home_folder: Path) -> Folder:
    return Folder(home_folder, [home_folder / "config.toml", home_folder / "store"])


@pytest.mark.parametrize("path", ["notes.txt", "./notes.txt", "docs/../notes.txt"])
def test_files_below_the_folder_are_read(folder: Folder, home_folder: Path, path: str):
    assert folder.read(path) == "Buy milk."
    assert folder.read(str(home_folder / "docs" / "plan.md")) == "# Plan"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("../outside.txt", "outside"),
        ("../nothing.txt", "outside"),
        ("/etc/passwd", "outside"),
        (".env", "hidden"),
        (".git/config", "hidden"),
        (".git/../notes.txt", "hidden"),
        ("config.toml", "Parley itself"),
        ("docs/../config.toml", "Parley itself"),
        ("store/parley.db", "Parley itself"),
        ("nothing.txt", "no file"),
        ("docs", "no file"),
        ("no\0thing", "can't be read"),
        ("notes.txt/more", "can't be read"),
    ],
)
def test_everything_else_stays_closed(folder: Folder, path: str, complaint: str):
    with pytest.raises(NotReadable, match=complaint):
        folder.read(path)


def test_links_lead_nowhere_they_should_not(folder: Folder, home_folder: Path):
    links = {
        "out": "../outside.txt",
        "env": ".env",
        "git": ".git",
        "settings": "config.toml",
        "state": "store",
        "ring": "ring",
        "plan": "docs/plan.md",
        ".hidden-link": "notes.txt",
    }
    for name, target in links.items():
        (home_folder / name).symlink_to(target)
    os.link(home_folder / "config.toml", home_folder / "copy.toml")
    assert folder.read("plan") == "# Plan"
    closed = ["out", "env", "git/config", "settings", "state/parley.db", "ring", ".hidden-link"]
    for path in [*closed, "copy.toml"]:
        with pytest.raises(NotReadable):
            folder.read(path)


def test_only_text_of_a_reasonable_size_is_read(folder: Folder, home_folder: Path):
    (home_folder / "binary").write_bytes(b"\xff\xfe\x00")
    (home_folder / "null").write_bytes(b"a\0b")
    (home_folder / "large").write_text("x" * (LARGEST + 1))
    (home_folder / "largest").write_text("x" * LARGEST)
    os.mkfifo(home_folder / "pipe")
    assert len(folder.read("largest")) == LARGEST
    for path, complaint in [
        ("binary", "no text"),
        ("null", "no text"),
        ("large", "larger than 64 KB"),
        ("pipe", "no file"),
    ]:
        with pytest.raises(NotReadable, match=complaint):
            folder.read(path)


def test_a_hidden_place_of_the_folder_itself_does_not_matter(tmp_path: Path):
    root = tmp_path / ".work" / "start"
    root.mkdir(parents=True)
    (root / "notes.txt").write_text("Buy milk.")
    assert Folder(root).read("notes.txt") == "Buy milk."
    assert Folder(root).read(str(root / "notes.txt")) == "Buy milk."
