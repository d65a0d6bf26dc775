"""`/team`, and the models that people of a route may choose."""

from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.app.load import load_config
from gateway.app.servable import served_teams
from gateway.config.problems import ConfigError
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.inbound.model_choice import OWN_NOT_YOURS
from gateway.inbound.team_choice import BEGUN, LISTED, NONE, choose_team
from gateway.registry import ModelChoice
from gateway.store.decisions import CommandReply, NewConversation
from tests.gateway.scripted import ScriptedTeams, opened, solo, turn

ANN, BOSS, EVE = (Author(id=f"x:{name}", name=name) for name in ("ann", "boss", "eve"))
KEY = ConversationKey(platform="x", workspace="w", channel="c", root="1")
TEAMS = {"teams": ["other"], "models": ["small"]}


def access(**more) -> Access:
    route = Route(adapter="x", channels=["*"], users=["x:ann"], **more)
    return Access(["x:boss"], routes=[route])


@pytest.mark.parametrize(
    ("word", "reply"),
    [
        ("", LISTED.format(team="demo", names="demo, other")),
        ("othr", "There is no team 'othr'; did you mean 'other'? The teams are demo, other."),
        ("x" * 99, f"There is no team '{'x' * 40}'; the teams are demo, other."),
        ("other demo", "There is no team 'other demo'; the teams are demo, other."),
    ],
)
def test_a_word_that_names_no_offered_team_is_answered(word: str, reply: str) -> None:
    found = choose_team(word, ("demo", "other"), "demo")
    assert isinstance(found, CommandReply)
    assert found.reply == reply


def test_a_team_is_named_in_any_capitals_and_only_where_there_is_a_choice() -> None:
    begun = NewConversation(reply=BEGUN.format(team="other"))
    assert choose_team("OTHER", ("demo", "other"), "demo") == begun
    assert choose_team("other", (), "demo") == CommandReply(reply=NONE)


async def test_a_choice_begins_a_new_thread_in_the_same_place_and_the_old_one_stays(
    tmp_path: Path,
) -> None:
    teams = ScriptedTeams(lambda: solo("Hello."))
    async with opened(tmp_path, teams, access=access(**TEAMS)) as gateway:

        async def say(text: str, author: Author = ANN):
            return await gateway.accept(InboundMessage(key=KEY, author=author, text=text))

        first = (await say("hi")).thread
        assert (await say("!team")).reply == LISTED.format(team="demo", names="demo, other")
        assert (await say("!team other", EVE)).outcome == "refused"
        for author in (ANN, BOSS):
            receipt = await say("!team Other", author)
            assert (receipt.outcome, receipt.thread != first) == ("command", True)
        second = await gateway.conversations.thread_at(KEY)
        assert second is not None
        assert second.team == "other"
        await turn(gateway, second.id, "hello")
        assert (await say("and now?")).thread == second.id
        assert (await gateway.client.thread(first)).team == "demo"
        assert (await say("!new")).outcome == "command"
        third = await gateway.conversations.thread_at(KEY)
        assert third is not None
        assert third.team == "demo"


async def test_without_teams_on_the_route_there_is_no_choice(tmp_path: Path) -> None:
    async with opened(tmp_path, lambda: solo("Hello."), access=access()) as gateway:
        for author in (ANN, BOSS):
            message = InboundMessage(key=KEY, author=author, text="/team other")
            assert (await gateway.accept(message)).reply == NONE


async def test_people_choose_among_the_models_of_their_route(tmp_path: Path) -> None:
    choices = tuple(ModelChoice(name=name, label=f"replay-{name}") for name in ("small", "large"))
    teams = ScriptedTeams(lambda: solo("Hello."), choices=choices)
    async with opened(tmp_path, teams, access=access(**TEAMS)) as gateway:

        async def say(text: str, author: Author = ANN) -> str:
            return (await gateway.accept(InboundMessage(key=KEY, author=author, text=text))).reply

        await say("hi")
        assert "large" not in await say("/model")
        assert (await say("/model large")).startswith("There is no model 'large'")
        assert await say("/model small") == ""
        assert await say("/model default") == OWN_NOT_YOURS
        assert await say("/model default", BOSS) == ""
        assert await say("/model large", BOSS) == ""
        listed = await say("/model")
        assert listed.splitlines()[0] == "All agents use the model 'large' (replay-large)."
        assert "small: " in listed


def test_teams_and_models_of_a_route_are_those_of_the_config(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = """
    [models.small]
    provider = "openai"
    model = "gpt-4o"
    api_key = "k"
    [teams.demo]
    type = "demo"
    [teams.other]
    type = "demo"
    [adapters.discord]
    token = "abc"
    [[routes]]
    adapter = "discord"
    dm = true
    users = ["80351110224678913"]
    teams = "{team}"
    models = ["{model}"]
    """
    path.write_text(text.format(team="other", model="small"))
    assert served_teams(load_config(path).config) == ["demo", "other"]
    path.write_text(text.format(team="othr", model="smal"))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert [each.path for each in caught.value.problems] == [
        ("routes", 0, "teams", 0),
        ("routes", 0, "models", 0),
    ]
