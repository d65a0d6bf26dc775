"""Termination conditions of the config, from text to a conversation's end."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from gateway.config.expressions import ExpressionError
from gateway.factory.conditions import build_condition
from teams.base import TerminationCondition
from teams.messages import BaseChatMessage, HandoffMessage, TextMessage


def said_stop(messages: Sequence[Any]) -> bool:
    return any(message.content == "stop" for message in messages)


def load(path: str) -> Callable[..., Any]:
    if path != "parts:said_stop":
        raise ValueError(f"there is no {path}")
    return said_stop


def text(content: str, source: str = "a") -> TextMessage:
    return TextMessage(content=content, source=source)


async def ends_after(condition: TerminationCondition, messages: Sequence[BaseChatMessage]) -> int:
    """The number of messages until termination; 0 if there is none."""
    for count, message in enumerate(messages, 1):
        if await condition([message]):
            return count
    return 0


@pytest.mark.parametrize(
    ("expression", "messages", "count"),
    [
        ("MaxMessage(2)", [text("1"), text("2"), text("3")], 2),
        ("MaxMessageTermination(max_messages=1)", [text("1")], 1),
        ("TextMention('DONE')", [text("no"), text("it's DONE")], 2),
        ("TextMention('DONE', sources=['b'])", [text("DONE"), text("DONE", "b")], 2),
        ("TextMention('DONE') | MaxMessage(3)", [text("a"), text("b"), text("c")], 3),
        ("TextMention('DONE') & MaxMessage(2)", [text("DONE"), text("b"), text("c")], 2),
        ("SourceMatch(['b']) | TextMessage('c')", [text("a"), text("1", "c")], 2),
        (
            "Handoff('user')",
            [text("a"), HandoffMessage(content="x", source="a", target="user")],
            2,
        ),
        ("Functional('parts:said_stop')", [text("go"), text("stop")], 2),
        ("StopMessage() | External() | TokenUsage(max_total_token=9)", [text("a")], 0),
        ("Timeout(60) | Timeout(0.5) | FunctionCall('f')", [text("a")], 0),
    ],
)
async def test_an_expression_ends_a_conversation(expression, messages, count):
    assert await ends_after(build_condition(expression, load), messages) == count


@pytest.mark.parametrize(
    ("expression", "problem", "column"),
    [
        ("MaxMesage(3)", "there is no condition 'MaxMesage'; did you mean 'MaxMessage'?", 0),
        ("A() | MaxMessage(3)", "there is no condition 'A'; known are External, FunctionCall, ", 0),
        ("MaxMessage()", "MaxMessage needs 'max_messages'", 0),
        ("MaxMessage(max_message=3)", "MaxMessage has no argument 'max_message'; did you mean", 11),
        ("StopMessage(3)", "StopMessage takes no arguments", 12),
        ("MaxMessage(3, true, 4)", "MaxMessage takes 2 arguments", 20),
        ("MaxMessage(3, max_messages=4)", "'max_messages' is given twice", 14),
        ("MaxMessage('3')", "'max_messages': Input should be a valid integer", 11),
        ("MaxMessage(2.5)", "'max_messages': Input should be a valid integer", 11),
        ("TextMention(3)", "'text': Input should be a valid string", 12),
        ("TextMention('x', sources=[1])", "'sources': Input should be a valid string", 17),
        ("TextMention('x', sources='a')", "'sources': ", 17),
        ("Functional('parts:nope')", "'func': there is no parts:nope", 11),
        ("Functional(3)", "'func': Input should be callable", 11),
        ("MaxMessage(1) | TokenUsage()", "TokenUsage: ", 16),
    ],
)
def test_a_mistake_names_problem_and_position(expression, problem, column):
    with pytest.raises(ExpressionError) as caught:
        build_condition(expression, load)
    assert caught.value.problem.startswith(problem)
    assert caught.value.span.start == column
