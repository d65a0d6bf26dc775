"""Threads titled by a model: once, paid for, beside the turn."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gateway.app.assemble import limits_of, team_factory
from gateway.app.load import load_config
from gateway.events import MessageFinished, Notice, ThreadRenamed, TurnFinished
from gateway.gateway import Gateway
from gateway.store.units import events as event_units
from gateway.store.units import usage
from tests.fakes.new_store import new_store
from tests.gateway.scripted import of, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
from teams.models.replay import ReplayChatCompletionClient

MADE = {}


class Model(ReplayChatCompletionClient):
    def __init__(self, name, answers):
        super().__init__(answers)
        self.set_cached_bool_value(False)
        self.model = name
        MADE[name] = self
"""
CONFIG = """
title_model = "cheap"
default_model = "large"
[models.large]
provider = "parts:Model"
options = { name = "large-1", answers = ["Because of the rust.", "B", "C", "D", "E"] }
[models.cheap]
provider = "parts:Model"
options = { name = "cheap-1", answers = ANSWERS }
[teams.t]
type = "round_robin"
agents.a = {}
"""


def gateway(folder: Path, answers: str, more: str = "") -> Gateway:
    (folder / "parts.py").write_text(PARTS)
    text = dedent(CONFIG).replace("ANSWERS", answers) + more
    (folder / "config.toml").write_text(text)
    loaded = load_config(folder / "config.toml")
    teams = team_factory(loaded, folder / "store")
    return Gateway(new_store(folder / "store"), teams, limits=limits_of(loaded.config))


def asked(model: str) -> list[Any]:
    return sys.modules["parts"].MADE[model].create_calls


def is_made(event: Any) -> bool:
    return isinstance(event, ThreadRenamed) and event.made


async def titled(running: Gateway, text: str = "Why is it red?") -> str:
    """A new thread, once a model has titled it."""
    thread = (await running.client.create_thread()).id
    await turn(running, thread, text)
    await until(running, thread, is_made)
    return thread


async def test_a_thread_has_its_title_after_the_first_answer_once_and_after_a_restart(tmp_path):
    async with gateway(tmp_path, '["\\"Rust on the **gate**.\\"", "Other"]') as running:
        thread = await titled(running)
        assert (await running.client.thread(thread)).title == "Rust on the gate"
        [call] = asked("cheap-1")
        shown = call["messages"][1].content
        assert all(f"\n{text}\n" in shown for text in ("Why is it red?", "Because of the rust."))
        spent = await running.store.run(usage.spent, "thread", thread, 0.0)
        own = asked("large-1")[0]["messages"]
        assert spent.turns == 1
        assert spent.tokens > sum(len(str(each.content).split()) for each in own) + 40
        await turn(running, thread, "And now?")
        await titled(running, "Another thread")
    assert len(asked("cheap-1")) == 2
    async with gateway(tmp_path, '["Third"]') as running:
        await turn(running, thread, "Still?")
        other = await titled(running)
        assert (await running.client.thread(thread)).title == "Rust on the gate"
        assert (await running.client.thread(other)).title == "Third"
    assert len(asked("cheap-1")) == 1


async def test_a_title_that_a_person_gave_stays(tmp_path: Path) -> None:
    async with gateway(tmp_path, '["Rust", "Other"]') as running:
        thread = (await running.client.create_thread()).id
        await running.client.rename_thread(thread, "Mine")
        await turn(running, thread, "Why is it red?")
        await titled(running)
        assert (await running.client.thread(thread)).title == "Mine"
    assert len(asked("cheap-1")) == 1


async def test_a_model_that_fails_costs_the_turn_nothing_and_is_left_alone_in_the_end(tmp_path):
    async with gateway(tmp_path, "[]") as running:
        thread = (await running.client.create_thread()).id
        for number in range(5):
            events = await turn(running, thread, f"Why {number}?")
            assert [event.outcome for event in of(TurnFinished, events)] == ["done"]
            assert of(MessageFinished, events)
        assert (await running.client.thread(thread)).title == "Why 0?"


async def test_no_title_is_made_over_a_budget(tmp_path: Path) -> None:
    budget = '\n[[budgets]]\nper = "thread"\nwindow = "day"\ntokens = 1\n'
    async with gateway(tmp_path, '["Rust"]', budget) as running:
        thread = (await running.client.create_thread()).id
        await turn(running, thread, "Why is it red?")
        events = await turn(running, thread, "And now?")
        assert [event.outcome for event in of(TurnFinished, events)] == ["failed"]
        assert (await running.client.thread(thread)).title == "Why is it red?"
    assert asked("cheap-1") == []


async def test_what_a_title_brings_near_its_budget_is_told(tmp_path: Path) -> None:
    budget = '\n[[budgets]]\nper = "thread"\nwindow = "day"\ntokens = 190\n'
    async with gateway(tmp_path, '["Rust"]', budget) as running:
        thread = await titled(running)
        events = await running.store.run(event_units.events, thread)
    [told] = of(Notice, events)
    assert "190" in told.text
