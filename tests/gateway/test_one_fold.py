"""Session events are told apart by the picture and their writers alone."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from gateway import events

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    each.__name__: field.default
    for each in get_args(events.SessionEvent)
    for field in fields(each)
    if field.name == "kind"
}
WORDS = re.compile("|".join(["gateway.events", *(f'"{kind}"' for kind in KINDS.values())]))
ROWS = {
    "gateway/events.py": "says which events show people a team's work",
    "gateway/picture.py": "the fold",
    "gateway/store/units/aside.py": "finds the offer about a text that was too long",
    "gateway/sessions/event_bus.py": "carries events: growing texts are joined, and end",
    "gateway/sessions/lanes.py": "logs that a limit holds a turn",
    "gateway/sessions/live_team.py": "tells a changed team what was said before, for models",
    "gateway/sessions/turn.py": "writes a turn's events, its growing text apart",
    "gateway/sessions/turn_log.py": "logs how long a turn waited",
    "gateway/sessions/turn_writer.py": "waits for the answer that a call waits for",
    "gateway/sessions/titles.py": "finds a thread's first question and answer, for a model",
    "gateway/store/units/threads.py": "finds a title that is kept",
    "gateway/store/units/forks.py": "copies a thread's events up to the end of a turn",
    "gateway/store/units/claims.py": "hands a turn what its earlier attempts have said",
    "gateway/store/units/events.py": "stores events, and a thread's preview",
    "gateway/store/units/turns.py": "stores events of a turn, and which calls have begun",
}


def told_apart(tree: ast.Module) -> Iterator[str]:
    """Events that are told apart by pattern, isinstance, type or kind."""
    for node in ast.walk(tree):
        match node:
            case ast.MatchClass(cls=cls):
                yield from names(cls)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                yield from names(kinds)
            case ast.Compare(left=left, comparators=others):
                sides = (left, *others)
                by_kind = any(
                    isinstance(each, ast.Attribute) and each.attr == "kind" for each in sides
                )
                for each in sides:
                    yield from names(each)
                    yield from kinds_in(each) if by_kind else ()
            case _:
                pass


def names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in KINDS:
                yield name
            case _:
                pass


def kinds_in(node: ast.AST) -> Iterator[str]:
    said = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    yield from (name for name, kind in KINDS.items() if kind in said)


@cache
def entrances() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in (*ROOT.glob("gateway/**/*.py"), *ROOT.glob("adapters/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if WORDS.search(text) and (here := set(told_apart(ast.parse(text)))):
            found[path.relative_to(ROOT).as_posix()] = here
    return found


def test_one_fold_reads_events_and_every_surface_its_items() -> None:
    found = entrances()
    strangers = {path: each for path, each in found.items() if path not in ROWS}
    assert not strangers, f"read the items of gateway/picture.py, or add a row: {strangers}"
    assert not set(ROWS) - set(found), "rows without an entrance"
    assert found["gateway/picture.py"] == set(KINDS), "an event that the picture does not know"


def test_one_fold_knows_when_a_turn_ends() -> None:
    ends = {path for path, each in entrances().items() if "TurnFinished" in each}
    fills = "gateway/store/units/events.py"  # how full contexts were then
    titles = "gateway/sessions/titles.py"  # what was stopped gives no title
    assert ends == {"gateway/picture.py", "gateway/sessions/event_bus.py", fills, titles}


@pytest.mark.parametrize(
    "line",
    [
        "match event:\n case TurnFinished(): pass",
        "match event:\n case events.TextDelta(text=text): pass",
        "match event:\n case Notice() | Usage(): pass",
        "isinstance(event, (TurnStarted, str))",
        "type(event) is MessageFinished",
        'event.kind != "text_delta"',
        'event.kind in ("turn_finished", "notice")',
    ],
)
def test_an_entrance_is_found(line: str) -> None:
    assert list(told_apart(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "match item:\n case TurnItem(): pass",
        'request.kind == "text"',
        "TurnFinished(outcome='done')",
    ],
)
def test_what_tells_no_events_apart_is_none(line: str) -> None:
    assert not list(told_apart(ast.parse(line)))
