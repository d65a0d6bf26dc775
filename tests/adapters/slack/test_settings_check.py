"""The app's setup: settings, manifest and `parley check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from adapters.slack import Config, check, people_named
from adapters.slack.manifest import NEW_APP, Reach, events_of, manifest_of, reach_of, scopes_of
from adapters.slack.testing import SlackSimulator
from gateway.app.load import load_config
from gateway.cli import main
from gateway.config.problems import ConfigError
from gateway.config.routes import Route
from tests.adapters.slack.serving import config_of, served

TOKENS = 'bot_token = "xoxb-1"\napp_token = "xapp-1"\n'


def problems(tmp_path: Path, table: str) -> str:
    path = tmp_path / "config.toml"
    path.write_text(f"[adapters.slack]\n{table}", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "adapters.slack.app_token is missing for mode"),
        ('app_token = "xapp-1"', "adapters.slack.bot_token is missing: install the app"),
        ('mode = "http"\nbot_token = "xoxb-1"', "signing_secret is missing for mode"),
        ('bot_token = "xoxp-1"\napp_token = "xapp-1"', "begins with xoxb-"),
        ('bot_token = "xoxb-1"\napp_token = "xoxb-1"', "begins with xapp-"),
        ('bot_token = "xoxb-1"\napp_token = "xapp-1, xapp-2"', "begins with xapp-"),
        (f'{TOKENS}command = "parley"', "a slash command such as '/parley'"),
        (f'{TOKENS}reactions = ["no emoji"]', "the name of an emoji"),
        (f'{TOKENS}api_url = "http://slack.example/api"', "begins with https://"),
        (f'{TOKENS}client_id = "1.2"', "found bot_token beside it, expected one"),
        ('app_token = "xapp-1"\nclient_id = "1.2"', "client_secret is missing beside client_id"),
        (
            'app_token = "xapp-1"\nclient_id = "1"\nclient_secret = "s3cret"\n'
            'public_url = "https://a.example"',
            "allowed_workspaces is missing beside client_id",
        ),
        (f'{TOKENS}allowed_workspaces = ["home"]', "the id of a workspace"),
        (f"{TOKENS}prot = 3000", "port"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(tmp_path: Path, table: str, said: str) -> None:
    text = " ".join(problems(tmp_path, table).split())
    assert said in text
    assert "s3cret" not in text


def test_several_tokens_stand_in_one_secret(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("BOTS", "xoxb-1, xoxb-2\nxoxb-3")
    path = tmp_path / "config.toml"
    path.write_text('[adapters.slack]\nbot_token_env = "BOTS"\napp_token = "xapp-1"\n')
    config = load_config(path).adapters["slack"].config
    assert isinstance(config, Config)
    assert config.bot_tokens == ["xoxb-1", "xoxb-2", "xoxb-3"]


def settings(**more: Any) -> Config:
    return Config.model_validate({"bot_token": "xoxb-1", "app_token": "xapp-1", **more})


def test_the_manifest_has_what_the_config_uses_and_no_more() -> None:
    plain = manifest_of(settings(), Reach(groups=False))
    assert plain["settings"]["socket_mode_enabled"] is True
    assert "request_url" not in plain["settings"]["interactivity"]
    assert "reactions:read" not in plain["oauth_config"]["scopes"]["bot"]
    assert "usergroups:read" not in plain["oauth_config"]["scopes"]["bot"]
    assert "reaction_added" not in plain["settings"]["event_subscriptions"]["bot_events"]
    rich = settings(
        mode="http",
        bot_token=None,
        signing_secret="s",
        client_id="1.2",
        client_secret="s",
        public_url="https://parley.example",
        allowed_workspaces=["E0ORG"],
        reactions=["eyes"],
        suggested_prompts=["What is new?"],
        command="/team",
    )
    found = manifest_of(rich, Reach())
    events = found["settings"]["event_subscriptions"]
    assert events["request_url"] == "https://parley.example/slack/events"
    assert {"reaction_added", "app_uninstalled", "tokens_revoked"} <= set(events["bot_events"])
    assert found["oauth_config"]["redirect_urls"] == ["https://parley.example/slack/oauth_redirect"]
    assert {"reactions:read", "usergroups:read"} <= set(found["oauth_config"]["scopes"]["bot"])
    assert found["settings"]["org_deploy_enabled"] is True
    assert found["settings"]["token_rotation_enabled"] is True
    assert found["features"]["slash_commands"][0]["command"] == "/team"
    assert found["features"]["agent_view"]["suggested_prompts"][0]["title"] == "What is new?"


async def test_an_app_made_of_the_manifest_is_all_that_is_needed(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        config = config_of(slack, reactions=["eyes"])
        await slack.use_app(slack.world.app.with_manifest(manifest_of(config, Reach())))
        ann = slack.person("ann")
        async with served(slack, tmp_path, settings={"reactions": ["eyes"]}) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            await ann.uploads(ann.direct, "a.txt", b"text")
            await ann.reacts(asked, "eyes")
            await ann.commands("general", "/parley", "help")
            await run.accepted(4)
            await run.settled()
            assert [each.error for each in slack.calls() if each.error == "missing_scope"] == []
        assert (await check(config, [])).problems == ()


def test_the_command_prints_it_without_secrets(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(
        '[adapters.slack]\nbot_token_env = "NOT_YET"\nreactions = ["eyes"]\n\n'
        '[[routes]]\nadapter = "slack"\nchannels = "*"\ngroups = ["S1"]\n'
    )
    result = CliRunner().invoke(main, ["slack", "manifest", "--name", "Ada"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["display_information"]["name"] == "Ada"
    [link] = [word for word in result.stderr.split() if word.startswith(NEW_APP)]
    assert json.loads(unquote(link.removeprefix(NEW_APP))) == found
    assert {"reactions:read", "usergroups:read"} <= set(found["oauth_config"]["scopes"]["bot"])
    assert "unset" not in result.output
    assert "Commands" in CliRunner().invoke(main, ["slack", "--help"]).output
    assert "slack" in CliRunner().invoke(main, ["--help"]).output
    assert CliRunner().invoke(main, ["stack"]).exit_code == 2


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--name", "x" * 36, "has 36 characters, but Slack takes 35"),
        ("--description", "x" * 141, "has 141 characters, but Slack takes 140"),
    ],
)
def test_what_slack_would_not_take_is_refused(option: str, text: str, said: str) -> None:
    result = CliRunner().invoke(main, ["slack", "manifest", option, text])
    assert result.exit_code == 2
    assert said in result.stderr


LONGEST = {
    ("display_information", "name"): 35,
    ("display_information", "description"): 140,
    ("features", "bot_user", "display_name"): 80,
    ("features", "agent_view", "agent_description"): 300,
    ("features", "slash_commands", 0, "command"): 32,
    ("features", "slash_commands", 0, "description"): 2000,
    ("features", "slash_commands", 0, "usage_hint"): 1000,
    ("features", "shortcuts", 0, "callback_id"): 255,
    ("features", "shortcuts", 0, "description"): 150,
}
"""Slack, "App manifest reference": characters of each field."""


def test_all_texts_of_the_manifest_are_short_enough() -> None:
    config = settings(command="/" + "x" * 31)
    found: Any = manifest_of(config, Reach(), name="x" * 35, description="x" * 140)
    for path, length in LONGEST.items():
        text = found
        for part in path:
            text = text[part]
        assert len(text) <= length, path


def test_it_is_printed_without_any_key(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(
        '[models.m]\nmodel = "gpt-4o"\napi_key_env = "NOT_YET"\n'
        '[models.n]\nmodel = "gpt-4o"\napi_key = "${NOT_YET}"\nbase_url = "${NO_ADDRESS}"\n'
        '[adapters.slack]\nbot_token_env = "NOT_YET"\napp_token = "${NOT_YET}"\n'
        '[[routes]]\nadapter = "slack"\ndm = true\nusers = "members"\n'
        '[store]\nkeys_file = "not-yet"\n'
    )
    result = CliRunner().invoke(main, ["slack", "manifest"])
    assert result.exit_code == 0, result.output
    scopes = json.loads(result.stdout)["oauth_config"]["scopes"]["bot"]
    assert "im:history" in scopes
    assert not [scope for scope in scopes if scope.startswith(("channels:", "mpim:", "app_"))]


PLACES: list[tuple[dict[str, Any], set[str], set[str]]] = [
    ({"dm": True}, {"im:history", "im:read"}, {"message.im"}),
    (
        {"channels": ["C1"]},
        {"channels:history", "channels:read", "groups:history", "groups:read", "app_mentions:read"},
        {"message.channels", "message.groups", "app_mention"},
    ),
]


@pytest.mark.parametrize(("place", "scopes", "events"), PLACES, ids=["direct", "channel"])
async def test_the_manifest_has_what_the_routes_need_and_no_more(
    tmp_path: Path, place: dict[str, Any], scopes: set[str], events: set[str]
) -> None:
    async with SlackSimulator(rates=False) as slack:
        if "channels" in place:
            place = {"channels": [slack.channel("general").id]}
        route = {"adapter": "slack", "users": ["members"], **place}
        config = config_of(slack)
        reach = reach_of(config, [Route.model_validate(route)])
        made = manifest_of(config, reach)
        everything = {*scopes_of(config, Reach(groups=False))}
        of_places = ("im:", "mpim:", "channels:", "groups:", "app_mentions:")
        kept = {each for each in everything if not each.startswith(of_places)}
        assert {*made["oauth_config"]["scopes"]["bot"]} == kept | scopes
        subscribed = made["settings"]["event_subscriptions"]["bot_events"]
        of_messages = {each for each in subscribed if each.startswith(("message.", "app_mention"))}
        assert of_messages == events
        await slack.use_app(slack.world.app.with_manifest(made))
        ann = slack.person("ann")
        async with served(slack, tmp_path, routes=[route]) as run:
            where = "general" if "channels" in place else ann.direct
            asked = await ann.asks(where, "hello")
            await run.until(lambda: slack.messages(where, asked)[1:])
            await run.settled()
            assert [each.error for each in slack.calls() if each.error == "missing_scope"] == []
        assert (await check(config, [Route.model_validate(route)])).problems == ()


async def test_check_names_bots_that_are_named_by_no_id() -> None:
    bots = ["B0123", "slack:T1:U0BOT", "jenkins"]
    route = Route.model_validate({"adapter": "slack", "channels": ["*"], "bots": bots})
    async with SlackSimulator() as slack:
        (problem,) = (await check(config_of(slack), [route])).problems
    assert problem.startswith("a route lets in the bot 'jenkins', which is no id")


async def test_check_names_people_who_are_nobody() -> None:
    async with SlackSimulator() as slack:
        users = [
            slack.person("ann").id,
            f"slack:T0HOME:{slack.person('bob').id}",
            "U0GONE",
            "members",
        ]
        route = Route.model_validate({"adapter": "slack", "dm": True, "users": users})
        problems = (await check(config_of(slack), [route])).problems
    assert problems == ("a route lets in U0GONE, but T0HOME has no such user",)


async def test_check_names_channels_in_which_the_bot_can_not_work() -> None:
    async with SlackSimulator() as slack:
        for name in ("good", "old", "left"):
            slack.add_channel(name)
        slack.archive("old")
        slack.remove_app_from("left")
        secret = slack.add_channel("secret", kind="group")
        slack.remove_app_from("secret")
        ids = [slack.channel(name).id for name in ("good", "old", "left")]
        table = {"adapter": "slack", "channels": [*ids, secret.id, "C0GONE"], "users": "members"}
        routes = [Route.model_validate({**table, **more}) for more in ({}, {"team": "other"})]
        config = config_of(slack)
        checked = await check(config, routes)
        old, left, hidden, gone = checked.problems
        assert old.startswith(f"#old ({ids[1]}) of a route is archived: unarchive it, or")
        assert left == f"the bot is not in #left ({ids[2]}) of a route: write /invite @parley there"
        for said, channel in ((hidden, secret.id), (gone, "C0GONE")):
            assert said.startswith(f"a route names the channel {channel}, which the bot can't find")
        scopes = {*scopes_of(config, reach_of(config, routes))} - {"channels:read"}
        await slack.use_app(
            slack.world.app.with_manifest(
                {"oauth_config": {"scopes": {"bot": sorted(scopes)}}, "settings": {}}
            )
        )
        said = "\n".join((await check(config, routes[:1])).problems)
        assert "the scope channels:read is missing, to check public channels of routes" in said
        assert "#old" not in said
        assert "C0GONE" in said


async def test_check_says_what_is_missing_in_words() -> None:
    routes = [
        Route.model_validate({"adapter": "slack", "dm": True, "groups": ["S1"], **more})
        for more in ({}, {"workspace": "T0GONE"})
    ]
    async with SlackSimulator() as slack:
        config = config_of(slack)
        good = await check(config, routes[:1])
        assert good.problems == ()
        assert "Home (T0HOME)" in good.text
        assert all(
            event in good.text
            for event in events_of(config, Reach(channels=False, group_messages=False))
        )
        await slack.use_app(
            slack.world.app.with_manifest(
                {"oauth_config": {"scopes": {"bot": ["chat:write"]}}, "settings": {}}
            )
        )
        said = "\n".join((await check(config, routes)).problems)
        assert "the scope files:read is missing, to receive attached files" in said
        assert "chat:write is missing" not in said
        assert all(
            scope in said
            for scope in scopes_of(config, reach_of(config, routes))
            if scope != "chat:write"
        )
        assert "a route names the workspace T0GONE" in said
        assert "Socket Mode has to be on" in said
        slack.revoke()
        assert "Slack refused bot_token" in str((await check(config, [])).problems)
    assert "could not be reached" in str((await check(config, [])).problems)


def test_check_asks_the_platform_unless_it_is_offline(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[adapters.slack]\n{TOKENS}api_url = "http://127.0.0.1:9/api/"\n'
        '[models.default]\nprovider = "demo"\n'
        '[[routes]]\nadapter = "slack"\nchannels = "*"\nusers = "members"\n'
    )
    online = CliRunner().invoke(main, ["check", "--config", str(path)])
    assert online.exit_code == 1
    assert "chat    slack" in online.output
    assert "could not be reached" in online.output
    offline = CliRunner().invoke(main, ["check", "--offline", "--config", str(path)])
    assert "could not be reached" not in offline.output


async def test_names_of_people_are_looked_up_on_all_pages(slack: SlackSimulator) -> None:
    for n in range(250):
        slack.person(f"person-{n}")
    found = await people_named(config_of(slack), ["Ann Lee"])
    assert {"Person-7", "person-0", "person-249", slack.bot.name} <= {*found}
    assert len(slack.calls("users.list")) == 2
