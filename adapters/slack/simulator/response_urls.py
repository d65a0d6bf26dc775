"""response_url: how an app answers an interaction without a token."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from adapters.slack.simulator.blocks import check_blocks, stored_blocks
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.state import Json, Message
from adapters.slack.simulator.world import ResponseUrl, World

MOST_USES = 5
LIFE = 30 * 60.0


class ResponseUrls:
    """Shows what the app posts to them."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Handle one answer; status 404 if the URL is used up."""
        reply = self._world.response_urls.get(request.path)
        late = reply is not None and self._world.clock.time() - reply.at > LIFE
        if reply is None or late or reply.uses >= MOST_USES:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        try:
            body: Any = json.loads(await request.text())
            self.show(reply, body)
        except (json.JSONDecodeError, ApiError) as error:
            return web.json_response({"ok": False, "error": str(error)}, status=400)
        reply.uses += 1
        return web.json_response({"ok": True})

    def show(self, reply: ResponseUrl, body: Json) -> None:
        """Show an answer as a new message, or in the clicked one."""
        world = self._world
        channel = world.channel(reply.workspace, reply.channel)
        clicked = channel.messages.get(reply.message)
        blocks: list[Json] = body.get("blocks") or []
        check_blocks(blocks)
        if clicked is not None and body.get("delete_original"):
            clicked.hidden = True
        elif clicked is not None and body.get("replace_original"):
            before = clicked.json()
            clicked.text, clicked.blocks = body.get("text", ""), stored_blocks(blocks)
            if not clicked.ephemeral:
                world.changed_message(channel, clicked, before)
        else:
            bot = world.bot(reply.workspace)
            everybody = body.get("response_type") == "in_channel"
            message = Message(
                ts=world.new_ts(),
                channel=channel.id,
                user=bot.id,
                team=reply.workspace,
                text=body.get("text", ""),
                blocks=stored_blocks(blocks),
                bot_id=bot.bot_id,
                app_id=bot.app_id,
                thread_ts=body.get("thread_ts", ""),
                ephemeral="" if everybody else reply.user,
            )
            channel.messages[message.ts] = message
            if everybody:
                world.new_message(channel, message)
        world.changed()
