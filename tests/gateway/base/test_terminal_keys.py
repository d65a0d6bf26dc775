"""Keys that a person chose for the terminal, and those refused."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.base.terminal_keys import USUAL_KEYS, chosen_keys, key_mistakes, keys_in


@pytest.mark.parametrize(
    ("table", "command", "keys"),
    [
        ({"sessions": "f2"}, "sessions", ("f2",)),
        ({"sessions": ["F2", "Alt+S"]}, "sessions", ("f2", "alt+s")),
        ({"sessions": "f2"}, "find", ("ctrl+f",)),
        ({"find": "ctrl+s", "sessions": "ctrl+f"}, "find", ("ctrl+s",)),
        ({"mouse": []}, "mouse", ()),
        ({"mouse": ""}, "mouse", ()),
        ({"usage": "ctrl+u"}, "usage", ("ctrl+u",)),
        ({}, "new", ()),
    ],
)
def test_a_command_has_its_usual_keys_or_those_that_a_person_chose(
    table: dict[str, Any], command: str, keys: tuple[str, ...]
) -> None:
    assert chosen_keys(table).of(command) == keys


@pytest.mark.parametrize(
    ("table", "command", "told"),
    [
        ({"sesions": "f2"}, "sesions", "found 'sesions', expected a command of the terminal; did"),
        ({"zzz": "f2"}, "zzz", "/ in the terminal lists them"),
        ({"find": "s"}, "find", "found 's', expected F1 to F24"),
        ({"find": "enter"}, "find", "found 'enter', expected F1"),
        ({"find": "ctrl+i"}, "find", "found 'ctrl+i', expected F1"),
        ({"find": "f25"}, "find", "found 'f25', expected F1"),
        ({"find": "strg+f"}, "find", "found 'strg+f', expected F1"),
        ({"find": "ctrl+j"}, "find", "expected another key: this one begins a new line"),
        ({"find": "ctrl+s"}, "find", "expected another key: it is that of sessions"),
        ({"find": "f2", "copy": "f2"}, "copy", "expected another key: it is that of find"),
        ({"quit": []}, "quit", "without it you can't quit"),
        ({"answer": ""}, "answer", "without it you can't decide an approval"),
        ({"quit": "ctrl+t"}, "quit", "it is that of answer"),
    ],
)
def test_a_map_that_nobody_could_use_is_refused_and_not_taken(
    table: dict[str, Any], command: str, told: str
) -> None:
    chose = {name: keys_in(value) for name, value in table.items()}
    [(wrong, said)] = key_mistakes(chose)
    assert wrong == command
    assert told in said
    assert chosen_keys(table) is USUAL_KEYS


@pytest.mark.parametrize("table", [None, "f2", ["f2"], 3, {"find": 3}, {"find": [["f2"]]}])
def test_what_is_no_map_leaves_the_usual_keys(table: object) -> None:
    assert chosen_keys(table).of("find") == ("ctrl+f",)


def test_keys_are_shown_as_people_write_them() -> None:
    keys = chosen_keys({"help": ["f2", "alt+h"], "mouse": []})
    assert keys.labels("help") == ["F2", "alt+h"]
    assert keys.hint("help", "help") == "F2 help"
    assert keys.hint("mouse", "mouse") == ""
    assert keys.keymap == {"help": "f2,alt+h", "mouse": "none"}
