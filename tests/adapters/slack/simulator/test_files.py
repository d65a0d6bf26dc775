"""Files: uploads in three steps, downloads with the token, and no further."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator


async def test_the_sdk_uploads_into_a_thread(slack: SlackSimulator, client: AsyncWebClient) -> None:
    asked = await slack.person("alice").says("general", "the plan?")
    uploaded: Any = await client.files_upload_v2(
        filename="plan.md",
        content="# Plan",
        channel="C0GENERAL",
        thread_ts=asked.ts,
        initial_comment="Here.",
    )
    _, reply = slack.messages("general", asked)
    assert (reply.text, reply.files) == ("Here.", ("plan.md",))
    info: Any = await client.files_info(file=uploaded["file"]["id"])
    assert info["file"]["size"] == 6
    assert info["file"]["mimetype"] == "text/markdown"


async def test_a_file_has_blocks_instead_of_a_comment(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    section = {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "Mine."},
        "block_id": "id",
    }
    sent: dict[str, Any] = {"filename": "a.md", "content": "a", "channel": "C0GENERAL"}
    sent["blocks"] = json.dumps([section, {"type": "markdown", "text": "x", "block_id": "gone"}])
    await client.files_upload_v2(**sent)
    await client.files_upload_v2(**sent, initial_comment="Said.")
    history: Any = await client.conversations_history(channel="C0GENERAL")
    said, mine = history["messages"]
    assert (said["text"], said.get("blocks", [])) == ("Said.", [])
    assert [block["block_id"] for block in mine["blocks"]] == ["id", "b1"]
    sent["blocks"] = json.dumps([{"type": "section"}])
    with pytest.raises(SlackApiError, match="invalid_blocks"):
        await client.files_upload_v2(**sent)


async def test_an_upload_without_its_bytes_is_not_complete(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    url: Any = await client.files_getUploadURLExternal(filename="a.txt", length=3)
    with pytest.raises(SlackApiError, match="file_upload_incomplete"):
        await client.files_completeUploadExternal(files=[{"id": url["file_id"], "title": "a"}])
    with pytest.raises(SlackApiError, match="file_not_found"):
        await client.files_info(file=url["file_id"])


async def test_a_download_needs_the_token(slack: SlackSimulator) -> None:
    shared = await slack.person("alice").uploads("general", "a.png", b"\x89PNG")
    url = slack.deliveries[0].event["files"][0]["url_private"]
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        async with session.get(url, headers=headers) as answer:
            assert await answer.read() == b"\x89PNG"
        async with session.get(url) as answer:
            assert answer.content_type == "text/html"
    assert shared.files[0].mimetype == "image/png"


async def test_whoever_waits_for_a_download_to_begin_is_woken_by_it(slack: SlackSimulator) -> None:
    await slack.person("alice").uploads("general", "a.png", b"\x89PNG")
    url = slack.deliveries[0].event["files"][0]["url_private"]
    slack.files.hold()

    async def download() -> int:
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            return answer.status

    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    downloading = asyncio.get_running_loop().create_task(download())
    await slack.until(lambda: slack.files.seen, within=5)
    slack.files.release()
    assert await downloading == 200


async def test_a_redirect_shows_whether_the_token_followed_it(slack: SlackSimulator) -> None:
    shared = await slack.person("alice").uploads("general", "a.txt", b"data")
    slack.move_file(shared.files[0])
    url = slack.deliveries[0].event["files"][0]["url_private"]
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        async with session.get(url, headers=headers, allow_redirects=False) as answer:
            assert answer.status == 302
            elsewhere = answer.headers["Location"]
        assert "localhost" in elsewhere
        async with session.get(elsewhere, headers=headers) as answer:
            assert await answer.read() == b"data"
    assert slack.files.leaks == [slack.files.seen[-1]]


async def test_a_file_that_lies_elsewhere_says_so(slack: SlackSimulator) -> None:
    await slack.person("alice").uploads(
        "general", "doc", b"", external="https://docs.example.com/d/1"
    )
    file = slack.deliveries[0].event["files"][0]
    assert file["is_external"]
    assert file["url_private"] == "https://docs.example.com/d/1"
