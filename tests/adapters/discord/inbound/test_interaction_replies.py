"""Forms as Discord's modals."""

from dataclasses import replace

import pytest

from adapters.discord.inbound.interaction_replies import modal
from gateway.interactions import FormSpec

FORM = FormSpec(
    request="r1",
    kind="note",
    title="Deny with a note",
    prompt="",
    label="Reason, for the team",
    send="Deny",
    required=False,
)


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("Which one?", ["Which one?"]),
        ("*not* bold", ["\\*not\\* bold"]),
        ("# no title", ["\\# no title"]),
        ("@everyone <@1>", ["\uff20everyone \u2039@1\\>"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_form_shows_its_question_as_text(prompt: str, shown: list[str]) -> None:
    *asked, field = modal(replace(FORM, prompt=prompt))["components"]
    assert [each["content"] for each in asked] == shown
    assert field["label"] == "Reason, for the team"
    assert field["component"]["required"] is False


def test_a_long_question_is_cut() -> None:
    asked, _ = modal(replace(FORM, prompt="*" * 4000))["components"]
    assert len(asked["content"]) <= 4000
