"""`/model`: permission, refusals, and the models of turns."""

import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from gateway.access.authority import Access, Admission
from gateway.app.load import load_config
from gateway.client import Answer
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import (
    InputRequested,
    MessageFinished,
    Notice,
    SessionEvent,
    SpeakerStarted,
    TurnFinished,
)
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from gateway.inbound.model_choice import (
    ALREADY,
    ALREADY_OWN,
    CHOSEN_OWN,
    GIVES_BACK,
    MODEL_IN_THREAD,
    MODEL_NOT_YOURS,
    NO_MODELS,
    OWN_NOT_YOURS,
    TeamModels,
    choose,
)
from gateway.registry import ModelChoice, ToolRule
from gateway.store.decisions import CommandReply, ModelChange
from gateway.store.records import Thread
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, model, of, opened, solo, turn, until

ANN, BOSS = Author(id="x:ann", name="Ann"), Author(id="x:boss", name="Boss")
KEY = ConversationKey(platform="x", root="1")
CHOICES = (
    ModelChoice(name="strong", label="big-1"),
    ModelChoice(name="quick", label="small-1"),
    ModelChoice(name="talker", label="talk-1", problem="'a' has tools"),
)
MODELS = TeamModels(own=(("a", "big-1"),), choices=CHOICES)


class Everybody(Access):
    def judge(self, message):
        return Admission(may_set_mode=True)


def thread(model: str = "") -> Thread:
    return Thread(id="t", title="", team="d", state="idle", updated_at=0, key=KEY, model=model)


def decide(word: str, model: str = "", *, allowed: bool = True) -> Any:
    found = choose(word, thread(model), MODELS, allowed=allowed)
    return found.reply if isinstance(found, CommandReply) else found


def test_a_name_means_a_model_of_the_config_for_those_who_may():
    chosen = decide("Quick")
    assert isinstance(chosen, ModelChange)
    assert (chosen.model, "'quick' (small-1)" in chosen.notice) == ("quick", True)
    assert decide("default", "quick") == ModelChange(model="", notice=CHOSEN_OWN)
    assert decide("default") == ALREADY_OWN
    assert decide("quick", "quick") == ALREADY.format(name="quick")
    assert decide("qick") == (
        "There is no model 'qick'; did you mean 'quick'? "
        "The models are strong, quick, talker, default."
    )
    assert decide("talker") == "The team can't use the model 'talker': 'a' has tools."
    assert decide("quick", allowed=False) == MODEL_NOT_YOURS
    nowhere = choose("quick", None, MODELS, allowed=True)
    assert nowhere == CommandReply(reply=MODEL_IN_THREAD)


def test_without_a_name_it_lists_the_models_for_everybody():
    listed = decide("", allowed=False).splitlines()
    assert listed == [
        "Each agent uses its own model: a big-1.",
        "The models are:",
        "strong: big-1",
        "quick: small-1",
        "talker: talk-1 (not here: 'a' has tools)",
    ]
    assert decide("", "quick").startswith("All agents use the model 'quick' (small-1).")
    assert choose("", None, TeamModels(), allowed=True) == CommandReply(reply=NO_MODELS)


def on_route(word: str, named: tuple[str, ...], model: str = "") -> Any:
    """An outcome for people of a route that names some models."""
    found = choose(word, thread(model), replace(MODELS, named=named), allowed=True)
    return found.reply if isinstance(found, CommandReply) else found


def test_a_routes_models_hold_for_the_way_back_to_the_agents_own_too():
    back = ModelChange(model="", notice=CHOSEN_OWN)
    assert on_route("default", ("quick",), "quick") == OWN_NOT_YOURS
    assert on_route("DEFAULT", ("quick",), "strong") == OWN_NOT_YOURS
    assert on_route("default", ("strong", "quick"), "quick") == back
    assert on_route("default", ("quick",)) == ALREADY_OWN
    assert on_route("strong", ("quick",)) == "There is no model 'strong'; the models are quick."


def test_a_list_for_a_route_says_what_is_used_and_what_may_be_chosen():
    assert on_route("", ("quick",), "strong").splitlines() == [
        "All agents use the model 'strong' (big-1).",
        "The models are:",
        "quick: small-1",
    ]
    assert on_route("", ("gone",), "quick").splitlines() == [
        "All agents use the model 'quick' (small-1).",
        NO_MODELS,
    ]
    both = on_route("", ("strong", "quick"), "quick").splitlines()
    assert both[0].endswith(f"(small-1). {GIVES_BACK}")
    assert len(both) == 4


PARTS = """
from teams.models.replay import ReplayChatCompletionClient
from teams.models import ModelInfo

HEARD = []


class Client(ReplayChatCompletionClient):
    def __init__(self, model=""):
        super().__init__([model] * 9, ModelInfo(
            vision=False, function_calling=True, json_output=True, family="unknown",
            structured_output=False))
        self.model = model

    async def create(self, messages, **more):
        HEARD.append([str(message.content) for message in messages])
        return await super().create(messages, **more)
"""

CONFIG = """
    [models.strong]
    provider = "own_models:Client"
    model = "big-1"
    [models.{second}]
    provider = "own_models:Client"
    model = "small-1"
    [teams.t]
    type = "round_robin"
    participants = ["a"]
    termination = "MaxMessage(2)"
    [teams.t.agents.a]
    model_client_stream = false
"""


def source(folder: Path, second: str = "quick") -> TeamFactory:
    (folder / "own_models.py").write_text(PARTS)
    (folder / "config.toml").write_text(dedent(CONFIG.format(second=second)))
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


def gateway(folder: Path, teams: TeamFactory, **more) -> Gateway:
    return Gateway(new_store(folder / "store"), teams, **more)


def heard() -> list[str]:
    """All that a model was given at the last call."""
    return sys.modules["own_models"].HEARD[-1]


def answers(events) -> list[tuple[str, str]]:
    models = [event.model for event in of(SpeakerStarted, events)]
    return [*zip(models, [event.text for event in of(MessageFinished, events)], strict=True)]


async def test_a_chosen_model_survives_restarts_with_the_memory_until_the_config_loses_it(
    tmp_path, fresh_imports
):
    teams = source(tmp_path)
    async with gateway(tmp_path, teams) as there:
        told = (await there.client.create_thread()).id
        assert answers(await turn(there, told, "one")) == [("big-1", "big-1")]
        receipt = await there.client.send(told, "/model quick")
        assert (receipt.outcome, receipt.reply) == ("command", "")
        assert answers(await turn(there, told, "two")) == [("small-1", "small-1")]
        assert (await there.client.thread(told)).model == "quick"

    async with gateway(tmp_path, source(tmp_path)) as there:
        assert answers(await turn(there, told, "three")) == [("small-1", "small-1")]
    assert heard()[-5:] == ["one", "big-1", "two", "small-1", "three"]

    async with gateway(tmp_path, source(tmp_path, "other")) as there:
        lost = await turn(there, told, "four")
        again = await turn(there, told, "five")
        assert answers(lost) == answers(again) == [("big-1", "big-1")]
        assert [notice.text for notice in of(Notice, lost + again)] == [
            "The model 'quick' can't be used here any more: it is not in the config. "
            "Each agent uses its own."
        ]
        assert (await there.client.thread(told)).model == ""
    assert heard()[-2:] == ["big-1", "five"]


def asks(event: SessionEvent) -> bool:
    return isinstance(event, InputRequested)


def is_over(event: SessionEvent) -> bool:
    return isinstance(event, TurnFinished) and event.outcome == "done"


async def test_a_turn_that_waits_goes_on_with_its_model_and_the_next_takes_the_chosen(tmp_path):
    async def delete() -> str:
        """Delete."""
        return "deleted"

    client = model(calls("delete"), "Done.", "Next.")
    teams = ScriptedTeams(
        lambda: solo(client, tools=[delete]),
        rules={"delete": ToolRule(action="ask")},
        choices=CHOICES,
        participants=("a",),
    )
    async with opened(tmp_path, teams, access=Everybody(["x:boss"])) as gate:
        first = await gate.accept(InboundMessage(key=KEY, author=ANN, text="go", dedupe=("1",)))
        events = await until(gate, first.thread, asks)

        async def say(author: Author, text: str) -> str:
            return (await gate.accept(InboundMessage(key=KEY, author=author, text=text))).reply

        assert await say(ANN, "/model quick") == MODEL_NOT_YOURS
        assert (await say(ANN, "/model")).startswith("Each agent uses its own model")
        assert await say(BOSS, "/model quick") == ""
        await gate.client.answer(of(InputRequested, events)[0].request, Answer(kind="approve"))
        await until(gate, first.thread, is_over)
        assert teams.built_on == [""]
        assert await gate.client.agents(model="quick") == {"a": "quick"}
        assert await gate.client.agents(model="gone") == {"a": "replay"}
        await turn(gate, first.thread, "and now?")
        assert teams.built_on == ["", "quick"]
