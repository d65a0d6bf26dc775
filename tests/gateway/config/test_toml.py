"""TOML with lines of keys and variables in texts."""

from __future__ import annotations

import pytest

from gateway.config.toml import DEEPEST, KeyPath, locate, read_toml, substitute, variables_in

TEXT = """\
a = 1
[t."b.c"]
d = [
  1,
  { e = 2 },
]
[[r]]
[[r]]
f.g = '''
x'''
h = 3
"""


def test_a_text_is_read_as_tables() -> None:
    assert read_toml("a.b = [1]\n") == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "Invalid value"),
        ("a = 9223372036854775808", "more than 64 bits"),
        (f"a = {'[' * DEEPEST}{']' * DEEPEST}", f"more than {DEEPEST} levels"),
        (f"a = {'[' * 9999}", f"more than {DEEPEST} levels"),
    ],
)
def test_a_text_that_no_config_needs_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_toml(text)


def test_variables_become_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "x")
    unset: list[tuple[KeyPath, str]] = []
    data = {"a": ["${HERE}-$${HERE}", "${AWAY}"], "b": 1}
    made = substitute(data, lambda path, name: unset.append((path, name)))
    assert made == {"a": ["x-${HERE}", "${AWAY}"], "b": 1}
    assert unset == [(("a", 1), "AWAY")]


def test_variables_are_named_wherever_they_are() -> None:
    assert [*variables_in({"a": ["${B}", {"c": "${D} and ${E}"}], "f": 1})] == ["B", "D", "E"]


def test_each_key_and_item_has_a_line() -> None:
    assert locate(TEXT) == {
        ("a",): 1,
        ("t",): 2,
        ("t", "b.c"): 2,
        ("t", "b.c", "d"): 3,
        ("t", "b.c", "d", 0): 4,
        ("t", "b.c", "d", 1): 5,
        ("t", "b.c", "d", 1, "e"): 5,
        ("r",): 7,
        ("r", 0): 7,
        ("r", 1): 8,
        ("r", 1, "f"): 9,
        ("r", 1, "f", "g"): 9,
        ("r", 1, "h"): 11,
    }
