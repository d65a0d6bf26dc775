"""Rows of a store, as values."""

from __future__ import annotations

from typing import Literal

import pytest

from gateway.client import Answer, AnswerKind
from gateway.conversation import ConversationKey
from gateway.store.records import MetTool, Request, Situation, Thread, UsageTotals, lane_groups_of
from gateway.values import Origin

SLACK = ConversationKey(platform="slack", workspace="T1", channel="C1")
LOCAL = ConversationKey.local("t")


def thread(key: ConversationKey, mode: str = "queue") -> Thread:
    return Thread(
        id="t",
        title="",
        team="demo",
        state="idle",
        updated_at=0.0,
        key=key,
        config="/a.toml",
        config_digest="d",
        mode=mode,
    )


def test_only_the_terminals_threads_belong_to_a_config() -> None:
    assert thread(LOCAL).is_foreign(Origin(path="/b.toml", digest="e"))
    assert not thread(LOCAL).is_foreign(Origin(path="/b.toml", digest="d"))
    assert not thread(SLACK).is_foreign(Origin(path="/b.toml", digest="e"))


@pytest.mark.parametrize(
    ("mode", "is_all"), [("queue", False), ("steer", False), ("collect", True), ("interrupt", True)]
)
def test_two_modes_take_all_messages(mode: str, is_all: bool) -> None:
    assert thread(LOCAL, mode).takes_all is is_all


def test_a_thread_is_of_its_team_and_workspace() -> None:
    assert lane_groups_of("demo", SLACK) == (("team", "demo"), ("workspace", "slack:T1"))


def test_a_request_has_an_answer_once_there_is_one() -> None:
    def request(kind: AnswerKind | Literal[""]) -> Request:
        return Request(
            id="r",
            engine_id="e",
            thread="t",
            turn="u",
            kind="text",
            agent=("a",),
            prompt="Why?",
            asked_at=0.0,
            answer_kind=kind,
            answer_text="So.",
        )

    assert request("").answer is None
    assert request("text").answer == Answer(kind="text", text="So.")


def test_a_tool_is_named_by_its_server_without_the_team() -> None:
    met = MetTool(server="demo/files", tool="read", digest="", text="")
    assert met.full_name == "files/read"


def test_tokens_are_those_read_and_written() -> None:
    assert UsageTotals(prompt_tokens=3, completion_tokens=4).tokens == 7


@pytest.mark.parametrize(("waiting", "is_busy"), [(0, False), (1, True)])
def test_a_thread_with_waiting_messages_is_busy(waiting: int, is_busy: bool) -> None:
    empty = Situation(
        thread=None, status=None, waiting=waiting, asker="", requests=(), named=None, told=None
    )
    assert empty.busy is is_busy
