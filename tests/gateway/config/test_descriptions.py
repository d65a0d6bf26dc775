"""Descriptions of settings, read from the source."""

from gateway.config.descriptions import described_fields
from gateway.config.teams import RoundRobinTeam
from teams.kinds import Section


class Plain(Section):
    first: str = ""
    """One line.

    And more.
    """

    second: int = 0


class Further(Plain):
    second: int = 1
    """Here it is said."""


def test_a_setting_is_described_below_it_also_in_the_table_that_a_table_extends():
    fields = described_fields(Further)
    assert [(name, field.description) for name, field in fields.items()] == [
        ("first", "One line.\n\nAnd more."),
        ("second", "Here it is said."),
    ]
    assert described_fields(Plain)["second"].description is None
    assert described_fields(RoundRobinTeam)["max_turns"].description


def test_a_table_from_nowhere_has_no_descriptions():
    made = type("Made", (Plain,), {"__module__": "nowhere"})
    assert described_fields(made)["first"].description == "One line.\n\nAnd more."
