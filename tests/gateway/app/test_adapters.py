"""Accounts of a config: their platforms, names, people, apps and ports."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.load import load_config
from gateway.app.rules import check_people
from gateway.app.stores import product_of
from gateway.cli import main
from gateway.config.problems import ConfigError

TEAM = """
[models.m]
provider = "demo"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
"""
SLACK = """
[adapters.{name}]
platform = "slack"
bot_token = "xoxb-{n}-{n}-secretsecret"
app_token = "xapp-1-A0{n}-{n}-secret"
[[routes]]
adapter = "{name}"
channels = ["*"]
users = ["members"]
"""
TWO = SLACK.format(name="slack", n=11) + SLACK.format(name="support", n=22)


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(TEAM + text)
    return path


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(written(folder, text))
    return [f"{'.'.join(map(str, each.path))}: {each.text}" for each in caught.value.problems]


def test_each_account_has_its_name_and_its_platforms_adapter(tmp_path: Path) -> None:
    loaded = load_config(written(tmp_path, TWO))
    assert {name: each.platform for name, each in loaded.adapters.items()} == {
        "slack": "slack",
        "support": "slack",
    }
    assert [each.adapter().name for each in loaded.adapters.values()] == ["slack", "support"]
    assert product_of(loaded).ids >= {"slack: app A011", "slack: app A022"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            TWO.replace("22-22", "11-11").replace("A022", "A011"),
            "adapters.support: found the app A011 of [adapters.slack], expected one of its own",
        ),
        (
            SLACK.format(name="discord", n=1),
            "adapters.discord: 'discord' can't be the name of an account on slack",
        ),
        (
            SLACK.format(name="local", n=1),
            "adapters.local: 'local' can't be the name of an account on slack",
        ),
        (
            SLACK.format(name="a", n=1).replace("adapters.a", 'adapters."a:b"'),
            "adapters.a:b: 'a:b' can't be the name of an account on slack",
        ),
        (
            SLACK.format(name="a", n=1).replace('platform = "slack"', 'platform = "slac"'),
            "adapters.a: there is no chat platform 'slac'; did you mean 'slack'?",
        ),
        (
            SLACK.format(name="a", n=1).replace('"members"', '"a:T1:U1"'),
            "routes.0.users.0: found 'a:T1:U1', expected the id of a person, such as",
        ),
        (
            TWO + '[policies]\noperators = ["support:T1:U1"]',
            "policies.operators.0: found 'support:T1:U1', expected slack:...",
        ),
        (
            TWO + '[policies]\napprovals = ["support:T1:nowhere"]',
            "policies.approvals.0: found 'support:T1:nowhere', expected the id of a channel, such "
            "as 'support:",
        ),
    ],
)
def test_what_can_not_be_is_said(tmp_path: Path, text: str, found: str) -> None:
    assert any(each.startswith(found) for each in problems(tmp_path, text)), problems(
        tmp_path, text
    )


def test_two_accounts_that_listen_need_ports_of_their_own(tmp_path: Path) -> None:
    http = TWO.replace("[[routes]]", 'mode = "http"\nsigning_secret = "xyz"\n[[routes]]')
    (found,) = problems(tmp_path, http)
    assert (
        found
        == "adapters.support.port: found 3000 as in [adapters.slack], expected a port of its own"
    )
    load_config(written(tmp_path, http.replace("[[routes]]", "port = 3001\n[[routes]]", 1)))


def test_people_are_known_by_their_platform_whatever_its_account_is_called(tmp_path: Path) -> None:
    text = SLACK.format(name="support", n=1) + '[policies]\noperators = ["slack:T1:U1"]'
    loaded = load_config(written(tmp_path, text))
    assert not [*check_people(loaded.config)]


def test_a_platforms_command_is_for_its_only_account_or_the_one_named(tmp_path: Path) -> None:
    one = SLACK.format(name="support", n=1).replace("[[routes]]", 'command = "/two"\n[[routes]]')

    def manifest(*more: str) -> str:
        path = str(written(tmp_path, text))
        return CliRunner().invoke(main, ["slack", "manifest", "--config", path, *more]).output

    text = one
    assert "/two" in manifest()
    text = one + SLACK.format(name="other", n=2)
    assert "Say which account, with --account: support, other." in manifest()
    assert "/two" in manifest("--account", "support")
    assert "/parley" in manifest("--account", "other")
    assert "[adapters.nobody] is no account on slack" in manifest("--account", "nobody")
