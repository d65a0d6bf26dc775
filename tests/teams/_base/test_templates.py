from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest

from teams._base.templates import checked_template, fill

KEY = UUID(int=1)
"""An object of a class in Python: its methods lead to all modules."""


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{city}: {degrees} degrees", "Oslo: 3.25 degrees"),
        ("{degrees:.1f} {degrees!r:>6} {{}}", "3.2   3.25 {}"),
        ("{day:%Y/%m}", "2026/01"),
        ("{where[name]}, {rows[1]}", "Oslo, b"),
        ("{where[a.b]}", "dotted"),
        ("{city:>{width}}", "  Oslo"),
        ("", ""),
    ],
)
def test_a_template_is_filled_as_by_format(template: str, text: str):
    fields = {
        "city": "Oslo",
        "degrees": 3.25,
        "day": date(2026, 1, 2),
        "where": {"name": "Oslo", "a.b": "dotted"},
        "rows": ["a", "b"],
        "width": 6,
        "template": "a field may have this name",
    }
    assert fill(template, **fields) == text == template.format(**fields)
    assert checked_template("text", template) == template


@pytest.mark.parametrize(
    "template",
    [
        "{key.__class__}",
        "{key.__init__.__globals__[os].environ[HOME]}",
        "{key.hex}",
        "{where[key].__class__}",
        "{where[key].__init__.__globals__[sys].modules}",
        "{city:{key.__class__}}",
        "{city!r:{key.int}}",
        "{.x}",
        "{0.__class__}",
    ],
)
def test_a_template_reaches_no_attribute(template: str):
    with pytest.raises(ValueError, match="no attribute"):
        checked_template("text", template)
    with pytest.raises((ValueError, IndexError)):
        fill(template, key=KEY, city="Oslo", where={"key": KEY})


@pytest.mark.parametrize("template", ["{city:>99999999999}", "{city:{width}}", "{rate:.99999f}"])
def test_a_template_asks_for_no_endless_text(template: str):
    with pytest.raises(ValueError, match="wide"):
        fill(template, city="Oslo", rate=0.5, width=10**10)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{city[x.__class__}", "The text is no valid template: "),
        ("{", "The text is no valid template: "),
        ("{a:{b:{c}}}", "nested too deep"),
        ("{a:" * 50_000 + "}" * 50_000, "nested too deep"),
        ("{c} {b} {a}", r"unknown fields: 'b', 'c'. Known are {a}; write a brace"),
        ("{}", "unknown fields: ''"),
    ],
)
def test_a_template_is_checked_before_it_is_used(template: str, problem: str):
    with pytest.raises(ValueError, match=problem):
        checked_template("text", template, ("a",))
