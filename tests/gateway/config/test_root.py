"""Names of the whole config."""

from __future__ import annotations

from gateway.config.root import OPENAI_MODEL, Config


def test_without_a_file_there_is_a_model_and_a_team() -> None:
    config = Config()
    assert [config.team_name(), config.model_name()] == ["demo", "auto"]
    assert config.models["auto"].model == OPENAI_MODEL


def test_a_name_is_the_given_one_or_the_default_or_the_first() -> None:
    teams = {"one": {"type": "demo"}, "two": {"type": "demo"}}
    models = {name: {"provider": "auto", "model": "m"} for name in ("a", "b")}
    first = Config.model_validate({"teams": teams, "models": models})
    second = Config.model_validate(
        {"teams": teams, "models": models, "default_team": "two", "default_model": "b"}
    )
    assert [first.team_name(), second.team_name(), second.team_name("one")] == ["one", "two", "one"]
    assert [first.model_name(), second.model_name(), second.model_name("a")] == ["a", "b", "a"]


def test_an_account_is_of_a_platform() -> None:
    config = Config(adapters={"slack": {}, "support": {"platform": "slack"}})
    assert config.platforms == {"slack": "slack", "support": "slack"}
