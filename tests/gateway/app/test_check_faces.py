"""`parley check` tells of faces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.discord import Config as Discord
from adapters.discord import build
from adapters.slack import Config as Slack
from gateway.app.adapters import AdapterSettings
from gateway.app.check_faces import check_faces
from gateway.app.load import load_config
from gateway.faces import drawn
from gateway.surface import CallRejected, PlatformUnreachable
from tests.gateway.config.test_faces import TEAMS

FACES = """
[faces.support.triage]
name = "Ann Lee"
emoji = ":owl:"
[faces.support.writer]
avatar = "https://a.example/p.png"
[faces.support.editor]
avatar = "p.png"
[adapters.slack]
bot_token = "xoxb-1"
app_token = "xapp-1"
[adapters.discord]
token = "abc"
[[routes]]
adapter = "slack"
team = "support"
dm = true
users = ["members"]
[[routes]]
adapter = "discord"
team = "support"
dm = true
guild = "80351110224678913"
users = ["members"]
"""


async def people(_config: Any, names: Sequence[str]) -> Sequence[str]:
    assert "Ann Lee" in names
    return ["ANN LEE", "writers"]


async def found(folder: Path, config: Any, search: Any, *, offline: bool = False) -> list[str]:
    (folder / "p.png").write_bytes(drawn("x"))
    (folder / "config.toml").write_text(TEAMS + FACES)
    settings = AdapterSettings(
        name=config.account,
        platform=config.account,
        config=config,
        build=build,
        people_named=search,
    )
    whole = load_config(folder / "config.toml").config
    findings = await check_faces(whole, [settings], offline=offline)
    return [each.text if each.good else f"FAILED {each.text}" for each in findings]


async def test_each_platform_says_what_an_agent_looks_like(tmp_path: Path) -> None:
    discord = Discord(token=SecretStr("abc"))
    assert await found(tmp_path, discord, None) == [
        "support: 🦉 Ann Lee; 🐭 writer (its picture needs webhooks = true); "
        "its picture as an emoji, editor"
    ]
    hooks = discord.model_copy(update={"webhooks": True})
    assert await found(tmp_path, hooks, None) == [
        "support: Ann Lee with its picture, which is drawn; "
        "writer with the picture at https://a.example/p.png; editor with its picture"
    ]
    slack = Slack(bot_token=SecretStr("xoxb-1"), app_token=SecretStr("xapp-1"))
    (text,) = await found(tmp_path, slack, None)
    assert text.startswith(
        "support: :owl: Ann Lee; writer with the picture at https://a.example/p.png"
    )
    assert "editor (its picture needs public_url)" in text
    reached = slack.model_copy(update={"public_url": "https://parley.example/"})
    assert (await found(tmp_path, reached, None))[0].endswith("; editor with its picture")


async def test_a_name_of_a_members_is_refused(tmp_path: Path) -> None:
    discord = Discord(token=SecretStr("abc"))
    _, taken = await found(tmp_path, discord, people)
    assert taken.startswith("FAILED 'Ann Lee' is also the name of the bot or of a member there")
    assert len(await found(tmp_path, discord, people, offline=True)) == 1


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (CallRejected("missing_scope: users:read"), "missing_scope: users:read"),
        (PlatformUnreachable("no way"), "no way"),
        (TimeoutError(), "no answer in 30 seconds"),
    ],
    ids=["refused", "unreachable", "timeout"],
)
async def test_a_search_that_fails_is_told_and_is_no_failure(
    tmp_path: Path, error: Exception, why: str
) -> None:
    async def nobody(_config: Any, _names: Sequence[str]) -> Sequence[str]:
        raise error

    _, told = await found(tmp_path, Discord(token=SecretStr("abc")), nobody)
    assert told == f"whether people there have the names of agents was not checked: {why}"
