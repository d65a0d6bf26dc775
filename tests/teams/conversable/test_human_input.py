"""Ends of conversations, and questions to people."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from teams.conversable import IOStream
from tests.teams.conversable.pairs import Screen, agent, contents

ALWAYS = (
    "Replying as al. Provide feedback to bo. Press enter to skip and use auto-reply, or type "
    "'exit' to end the conversation: "
)
AT_LIMIT = (
    "Please give feedback to bo. Press enter to skip and use auto-reply, or type 'exit' to stop "
    "the conversation: "
)
AT_END = "Please give feedback to bo. Press enter or type 'exit' to stop the conversation: "
BO = agent("bo")
SKIPPED = "\n>>>>>>>> NO HUMAN INPUT RECEIVED.\n"
AUTO = "\n>>>>>>>> USING AUTO REPLY...\n"


class Case:
    """An agent at a point of a conversation with bo."""

    def __init__(self, mode: str, *, counter: int = 0, limit: int = 5, ended: bool = False) -> None:
        self.agent = agent("al", human_input_mode=mode, max_consecutive_auto_reply=9)
        self.message: dict[str, Any] = {"role": "user", "content": "hi"}
        self.screen = Screen(*[""] * counter)
        for _ in range(counter):
            self.ask()
        self.agent.update_max_consecutive_auto_reply(limit)
        self.message["content"] = "TERMINATE" if ended else "hi"
        self.screen = Screen()

    def ask(self, *answers: str, sync: bool = True) -> tuple[bool, Any]:
        self.screen.answers += answers
        with IOStream.set_default(self.screen):
            if sync:
                return self.agent.check_termination_and_human_reply([self.message], BO)
            return asyncio.run(self.agent.a_check_termination_and_human_reply([self.message], BO))

    @property
    def counter_is_zero(self) -> bool:
        """True if the whole limit is left."""
        self.agent.human_input_mode = "NEVER"
        self.agent.update_max_consecutive_auto_reply(1)
        self.message["content"] = "hi"
        return self.ask() == (False, None)


CASES: list[tuple[Any, ...]] = [
    # mode, counter, limit, ended, answer or None, prompt or None, outcome
    ("ALWAYS", 0, 5, False, "text", ALWAYS, "text"),
    ("ALWAYS", 0, 5, False, "", ALWAYS, "auto"),
    ("ALWAYS", 0, 5, False, "exit", ALWAYS, "exit"),
    ("ALWAYS", 0, 5, True, "", ALWAYS, "exit"),
    ("ALWAYS", 0, 5, True, "text", ALWAYS, "text"),
    ("ALWAYS", 5, 5, False, "", ALWAYS, "auto"),
    ("ALWAYS", 0, 0, False, "", ALWAYS, ""),
    ("NEVER", 0, 5, False, None, None, "auto"),
    ("NEVER", 4, 5, False, None, None, "auto"),
    ("NEVER", 5, 5, False, None, None, "exit"),
    ("NEVER", 0, 0, False, None, None, "exit"),
    ("NEVER", 0, 5, True, None, None, "exit"),
    ("TERMINATE", 0, 5, False, None, None, "auto"),
    ("TERMINATE", 5, 5, False, "", AT_LIMIT, "auto"),
    ("TERMINATE", 5, 5, False, "text", AT_LIMIT, "text"),
    ("TERMINATE", 5, 5, False, "exit", AT_LIMIT, "exit"),
    ("TERMINATE", 5, 5, True, "", AT_END, "exit"),
    ("TERMINATE", 5, 5, True, "text", AT_END, "text"),
    ("TERMINATE", 0, 5, True, "", AT_END, "exit"),
    ("TERMINATE", 0, 5, True, "exit", AT_END, "exit"),
    ("TERMINATE", 0, 5, True, "text", AT_END, "text"),
    ("TERMINATE", 0, 0, False, "", AT_LIMIT, ""),
    ("TERMINATE", 0, 0, True, "", AT_END, "exit"),
]


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize(("mode", "counter", "limit", "ended", "said", "prompt", "expected"), CASES)
def test_the_questions_in_their_order(
    mode: str,
    counter: int,
    limit: int,
    ended: bool,
    said: str | None,
    prompt: str | None,
    expected: str,
    sync: bool,
):
    case = Case(mode, counter=counter, limit=limit, ended=ended)
    outcome = case.ask(*([] if said is None else [said]), sync=sync)
    assert case.screen.prompts == ([] if prompt is None else [prompt])
    match expected:
        case "auto":
            assert outcome == (False, None)
        case "exit":
            assert outcome == (True, None)
        case text:
            assert outcome == (True, {"role": "user", "content": text})
    shown = SKIPPED * (said == "") + AUTO * (expected == "auto" and mode != "NEVER")
    assert case.screen.text == shown
    assert case.counter_is_zero is (expected != "auto")


def test_without_a_sender_it_is_the_sender():
    al, screen = agent("al", human_input_mode="ALWAYS"), Screen("x")
    with IOStream.set_default(screen):
        al.check_termination_and_human_reply([{"role": "user", "content": "hi"}])
    assert screen.prompts[0].startswith("Replying as al. Provide feedback to the sender. ")


def test_without_messages_the_conversation_with_the_sender_is_looked_at():
    al, bo = agent("al"), agent("bo")
    bo.send("TERMINATE", al)
    assert al.check_termination_and_human_reply(sender=bo) == (True, None)


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        (
            {"function_call": {"name": "f", "arguments": "{}"}},
            [{"role": "function", "name": "f", "content": "USER INTERRUPTED"}],
        ),
        (
            {"tool_calls": [{"id": "1"}, {"id": "2"}]},
            [
                {"role": "tool", "tool_call_id": "1", "content": "USER INTERRUPTED"},
                {"role": "tool", "tool_call_id": "2", "content": "USER INTERRUPTED"},
            ],
        ),
    ],
)
def test_a_person_s_text_interrupts_calls(calls: dict[str, Any], results: list[dict[str, Any]]):
    case = Case("ALWAYS")
    case.message = {"role": "assistant", "content": None, **calls}
    assert case.ask("stop that") == (
        True,
        {"role": "user", "content": "stop that", "tool_responses": results},
    )


async def test_an_async_chat_counts_each_reply_once():
    al = agent("al", max_consecutive_auto_reply=4)
    result = await al.a_initiate_chat(agent("bo"), message="hi", silent=True)
    assert contents(result.chat_history).count("I am al") == 4
