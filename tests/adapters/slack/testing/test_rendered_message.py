"""Messages as people see them."""

from __future__ import annotations

from typing import Any

from adapters.slack.simulator.state import Message
from adapters.slack.testing.rendered_message import render_message


def message(*blocks: Any, **more: Any) -> Message:
    return Message(
        ts="1.0", channel="C1", user="U1", team="T1", text="fallback", blocks=[*blocks], **more
    )


def test_blocks_are_read_line_by_line() -> None:
    button = {"type": "button", "text": {"text": "Go"}, "action_id": "go"}
    shown = render_message(
        message(
            {"type": "section", "text": {"text": "One"}, "accessory": button},
            {"type": "markdown", "text": "two &amp; `&amp;`"},
            {"type": "task_card", "title": "look", "status": "complete"},
            {"type": "actions", "elements": [button]},
        ),
        "Ann",
    )
    assert shown.text == "One\ntwo & `&amp;`\n[complete] look"
    assert (shown.buttons, shown.tasks) == (("Go", "Go"), (("look", "complete"),))
    assert (shown.name, shown.fallback, shown.stream, shown.edited) == (
        "Ann",
        "fallback",
        None,
        False,
    )


def test_without_blocks_the_text_is_read_under_the_name_that_it_has() -> None:
    shown = render_message(message(username="Writer", reactions={"eyes": ["U2"]}), "Ann")
    assert (shown.text, shown.name, shown.reactions) == ("fallback", "Writer", ("eyes",))
