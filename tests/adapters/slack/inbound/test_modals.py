"""Forms as Slack's views."""

from dataclasses import replace

import pytest

from adapters.slack.inbound.modals import BLOCK, INPUT, ModalPlace, view_of
from gateway.interactions import FormSpec

PLACE = ModalPlace(kind="text", request="r1", channel="C1", message="1.1", thread="1.0")
FORM = FormSpec(
    request="r1",
    kind="text",
    title="Your answer",
    prompt="Which <@U1> & *one*?",
    label="Answer",
    send="Send",
    required=True,
)


def test_a_form_shows_its_question_as_text() -> None:
    view = view_of(FORM, PLACE)
    asked, field = view["blocks"]
    assert asked["text"] == {"type": "plain_text", "text": "Which <@U1> & *one*?", "emoji": False}
    assert (field["block_id"], field["element"]["action_id"]) == (BLOCK, INPUT)
    assert ModalPlace.load(view["private_metadata"]) == PLACE


@pytest.mark.parametrize(("required", "prompt", "blocks"), [(True, "a", 2), (False, " \n", 1)])
def test_a_form_may_be_optional_and_have_no_question(
    required: bool, prompt: str, blocks: int
) -> None:
    view = view_of(replace(FORM, required=required, prompt=prompt), PLACE)
    assert len(view["blocks"]) == blocks
    assert view["blocks"][-1]["optional"] is not required
