"""Style sheets that are the same in every test."""

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(autouse=True, scope="session")
def sheets_parsed_once() -> Iterator[None]:
    """Give all apps the first one's rules of a sheet.

    Textual keeps them for one app: parsing them again is a tenth of a test of the terminal.
    """
    parse = Stylesheet._parse_rules
    known: dict[Any, list[RuleSet]] = {}

    def rules(self: Stylesheet, *sheet: Any, **named: Any) -> list[RuleSet]:
        key = (frozenset(self._variables.items()), sheet, *named.items())
        if key not in known:
            known[key] = parse(self, *sheet, **named)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", rules)
        yield
