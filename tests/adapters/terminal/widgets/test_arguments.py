"""Arguments on a card: values in a line, texts as lines."""

import json

from adapters.terminal.widgets.arguments import CARD_LINES, card_widgets
from adapters.terminal.widgets.request_card import body_of
from gateway.items import Agent, RequestItem
from tests.adapters.terminal.running import approval

PROGRAM = "".join(f"def step_{n}():\n    return {n}\n" for n in range(200))


def asked_for(arguments: str, prompt: str = "") -> RequestItem:
    return RequestItem.of(
        approval("coder", "r1", "write_file", arguments, prompt=prompt), Agent(name="coder")
    )


def shown(arguments: str) -> list[str]:
    return [str(widget.content) for widget in card_widgets(asked_for(arguments).arguments)]


def test_a_text_is_shown_as_its_lines():
    path, size, text, more = shown(json.dumps({"path": "steps.py", "content": PROGRAM}))
    assert (path, size) == ("path: steps.py", "content  400 lines")
    assert text.splitlines() == PROGRAM.splitlines()[:CARD_LINES]
    assert more == "… 360 more lines, enter opens all of them"


def test_invisible_characters_are_written_out():
    assert shown('{"path": "a\\u202e\u200bb"}') == ["path: a⟨U+202E⟩⟨U+200B⟩b"]


def test_a_card_says_why_the_tool_is_asked_for():
    because = "It needs approval because this conversation contains results of fetch."
    said = f"coder wants to use write_file. {because}"
    assert because in body_of(asked_for("{}", said)).plain


def test_what_the_title_says_already_is_not_said_again():
    assert body_of(asked_for('{"a": 1}', "coder wants to use write_file.")).plain == ""
    assert body_of(asked_for("{}")).plain == "no arguments"
