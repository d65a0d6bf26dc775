"""Pictures and emoji of agents on Slack."""

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from adapters.slack.outbound.avatars import avatar_address, avatar_page
from adapters.slack.testing import SlackSimulator
from gateway.faces import GivenFace, TeamFaces, drawn
from tests.adapters.slack.process import free_port
from tests.adapters.slack.serving import served

PICTURE = drawn("of the operator")
URL = "https://parley.example/bot/"


def face(**given):
    return TeamFaces({"ann": GivenFace(**given)}).face("ann")


def test_a_file_has_an_address_where_slack_reaches_this_process() -> None:
    assert avatar_address(face(), URL) == avatar_address(face(picture=PICTURE), None) == ""
    address = avatar_address(face(picture=PICTURE), URL)
    assert address.startswith(f"{URL}slack/avatars/")
    assert address == avatar_address(face(picture=PICTURE, name="Ann"), URL)
    assert avatar_address(face(address="https://a.example/p.png"), URL) == "https://a.example/p.png"


@pytest.mark.parametrize("path", ["/", "/slack/avatars/", "/slack/avatars/x.png", "/slack/events"])
def test_no_other_path_leads_to_a_picture(path: str) -> None:
    assert avatar_page([face(), face(picture=PICTURE)], path) is None


@pytest.mark.parametrize(
    ("given", "icons"),
    [
        (GivenFace(emoji="owl"), {"icon_emoji": ":owl:"}),
        (GivenFace(address="https://a.example/p.png"), {"icon_url": "https://a.example/p.png"}),
        (GivenFace(emoji="owl", picture=PICTURE), None),
    ],
    ids=["emoji", "address", "file"],
)
async def test_a_message_bears_its_agents_name_and_picture(
    slack: SlackSimulator, tmp_path: Path, given: GivenFace, icons: dict[str, str] | None
) -> None:
    slack.add_channel("team")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    settings = {"public_url": url, "port": port}
    async with served(slack, tmp_path, answers=["Hello."], settings=settings) as run:
        run.gateway.policy.use_faces({"demo": TeamFaces({"solo": replace(given, name="Sol")})})
        thread = await slack.person("ann").asks("team", "hi")
        await run.until(lambda: slack.messages("team", thread)[-1].text.startswith("Hello."))
        await run.delivered()
        (call,) = [
            each
            for each in slack.calls()
            if each.text("username") and each.method.startswith("chat.")
        ]
        icons = icons or {"icon_url": avatar_address(face(picture=PICTURE), url)}
        shown = {name: call.text(name) for name in ("username", "icon_url", "icon_emoji")}
        assert {name: value for name, value in shown.items() if value} == {
            "username": "Sol"
        } | icons
        if given.picture:
            async with aiohttp.ClientSession() as web, web.get(icons["icon_url"]) as got:
                assert (await got.read(), got.content_type) == (PICTURE, "image/png")
                assert got.headers["X-Content-Type-Options"] == "nosniff"
