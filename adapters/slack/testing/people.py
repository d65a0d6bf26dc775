"""People in Slack: they write, edit, react, upload, click and submit."""

from __future__ import annotations

import mimetypes
import re
import uuid
from html import unescape
from typing import Any

from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.methods.views import view_json
from adapters.slack.simulator.response_urls import ResponseUrls
from adapters.slack.simulator.state import Channel, File, Json, Message, User
from adapters.slack.simulator.world import HOME, ResponseUrl
from adapters.slack.testing.directory import Directory
from adapters.slack.testing.modals import Modals, find_element

MENTION = re.compile(r"(?<![\w<])@([\w-]+)")
LINK = re.compile(r"<@(\w+)>")
MARK = re.compile(r"<([^<>\n]+)>")


class Person(Modals):
    """Somebody in the workspace; no action waits for the app.

    A channel is named by its name or id, a message by itself or its ts, a button by its label or
    action_id.
    """

    def __init__(self, directory: Directory, user: User) -> None:
        super().__init__(directory.world, user)
        self._directory = directory

    @property
    def id(self) -> str:
        """Their user id."""
        return self._user.id

    @property
    def name(self) -> str:
        """Their name, which `@name` mentions."""
        return self._user.name

    @property
    def mention(self) -> str:
        """The mention of this person in a text."""
        return f"<@{self.id}>"

    def __repr__(self) -> str:
        return f"<Person {self._user.name} {self.id}>"

    async def says(
        self,
        channel: str,
        text: str,
        *,
        thread: str | Message = "",
        broadcast: bool = False,
        client_msg_id: str = "",
        **parts: Any,
    ) -> Message:
        """Write a message; `@name` mentions who has that name, `@parley` the app.

        `parts` are its blocks and attachments, where the editor makes others.
        """
        return self._write(
            channel,
            text,
            thread=thread,
            subtype="thread_broadcast" if broadcast else "",
            client_msg_id=client_msg_id,
            **parts,
        )

    async def asks(self, channel: str, text: str, *, thread: str | Message = "") -> Message:
        """Mention the app, and say something to it."""
        return await self.says(channel, f"<@{self._world.bot(HOME).id}> {text}", thread=thread)

    async def tells(self, text: str, *, thread: str | Message = "") -> Message:
        """Write to the app directly."""
        return await self.says(self.direct, text, thread=thread)

    @property
    def direct(self) -> str:
        """The id of their direct messages with the app."""
        return self._world.direct(self._user.team, self.id).id

    async def uploads(
        self,
        channel: str,
        name: str,
        data: bytes,
        *,
        text: str = "",
        thread: str | Message = "",
        mimetype: str = "",
        external: str = "",
        facts: Json | None = None,
    ) -> Message:
        """Share a file; `external` is the URL of one that lies elsewhere.

        `facts` are further fields, such as those of a canvas or a voice message.
        """
        file = self._directory.file(
            name,
            data,
            user=self._user,
            mimetype=mimetype or mimetypes.guess_type(name)[0] or "application/octet-stream",
            external=external,
        )
        file.facts = facts or {}
        return self._write(channel, text, thread=thread, subtype="file_share", files=[file])

    async def shares(
        self, message: str | Message, channel: str, text: str = "", *, thread: str | Message = ""
    ) -> Message:
        """Share somebody's message, with its blocks and files.

        As `MessageAttachment` of the SDK's types and shared messages show it.
        """
        home, found = self._directory.find(message)
        body = found.json()
        shown = {"team": home.team, "channel": home.id, "ts": found.ts}
        shared: Json = {
            "ts": found.ts,
            "author_id": found.user,
            "author_name": self._world.user(found.user).name,
            "channel_id": home.id,
            "channel_team": home.team,
            "is_msg_unfurl": True,
            "is_share": True,
            "text": found.text,
            "fallback": f"[{found.ts}] {found.text}",
            "message_blocks": [shown | {"message": {"blocks": body.get("blocks", [])}}],
            "files": body.get("files", []),
        }
        return self._write(channel, text, thread=thread, attachments=[shared])

    async def edits(self, message: str | Message, text: str) -> Message:
        """Change what they wrote."""
        channel, found = self._directory.find(message)
        before = found.json()
        found.text = self._resolved(text)
        found.blocks = rich_text(found.text)
        found.edited = {"user": self.id, "ts": self._world.new_ts()}
        self._world.changed_message(channel, found, before)
        return found

    async def deletes(self, message: str | Message) -> None:
        """Delete what they wrote."""
        channel, found = self._directory.find(message)
        self._world.delete(channel, found)

    async def reacts(self, message: str | Message, name: str) -> None:
        """Add a reaction."""
        channel, found = self._directory.find(message)
        found.reactions.setdefault(name, []).append(self.id)
        self._reaction("reaction_added", channel, found, name)

    async def unreacts(self, message: str | Message, name: str) -> None:
        """Take a reaction back."""
        channel, found = self._directory.find(message)
        found.reactions[name].remove(self.id)
        self._reaction("reaction_removed", channel, found, name)

    async def clicks(
        self, message: str | Message, button: str, *, values: Json | None = None
    ) -> Delivery:
        """Press a button, or choose an option by its label.

        `values` is the state of the message's fields. Raises LookupError where there is no such
        button.
        """
        channel, found = self._directory.find(message)
        element, block = find_element(found.blocks, button)
        container: Json = {
            "type": "message",
            "message_ts": found.ts,
            "channel_id": channel.id,
            "is_ephemeral": bool(found.ephemeral),
        }
        if found.thread_ts:
            container["thread_ts"] = found.thread_ts
        payload = self._interaction("block_actions") | {
            "container": container,
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            "state": {"values": values or {}},
            "response_url": self._response_url("actions", channel, found),
            "actions": [self._action(element, block, button)],
        }
        if not found.ephemeral:
            payload["message"] = channel.read(found)
        return self._interact(payload)

    async def chooses(self, message: str | Message, *labels: str, button: str) -> Delivery:
        """Choose several options of a menu, and press a button."""
        _, found = self._directory.find(message)
        menu, block = find_element(found.blocks, labels[0])
        options = [each for each in menu["options"] if each["text"]["text"] in labels]
        chosen = {"type": menu["type"], "selected_options": options}
        values = {block["block_id"]: {menu["action_id"]: chosen}}
        return await self.clicks(message, button, values=values)

    async def commands(self, channel: str, command: str, text: str = "") -> Delivery:
        """Use a slash command."""
        place = self._directory.channel(channel)
        workspace = self._world.workspaces[self._user.team]
        reply = ResponseUrl(
            workspace=workspace.id, channel=place.id, user=self.id, at=self._world.clock.time()
        )
        payload: Json = {
            "token": "simulated-verification-token",
            "team_id": workspace.id,
            "team_domain": workspace.domain,
            "channel_id": place.id,
            "channel_name": place.name or "directmessage",
            "user_id": self.id,
            "user_name": self._user.name,
            "command": command,
            "text": text,
            "api_app_id": self._world.app.id,
            "is_enterprise_install": "false",
            "response_url": self._world.response_url("commands", reply),
            "trigger_id": self._world.trigger(self.id, workspace.id),
        }
        if command not in self._world.app.commands:
            raise LookupError(f"the app has no command {command!r}")
        return self._world.deliver(
            "slash_commands", payload, lambda done: self._respond(reply, done.response)
        )

    async def uses_shortcut(self, message: str | Message, callback_id: str) -> Delivery:
        """Use a message's shortcut."""
        channel, found = self._directory.find(message)
        payload = self._interaction("message_action") | {
            "callback_id": callback_id,
            "action_ts": self._world.new_ts(),
            "message_ts": found.ts,
            "message": channel.read(found),
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            "response_url": self._response_url("app", channel, found),
        }
        return self._interact(payload)

    async def stops(self, channel: str, thread: str | Message) -> Delivery | None:
        """Press Stop, which a thread shows while the agent works in it."""
        place, root = self._directory.channel(channel), _ts(thread)
        session = self._world.workspaces[place.team].sessions.get((place.id, root))
        offered = "agent_session_stopped" in self._world.app.events
        if not offered or session is None or session.status != "processing":
            raise LookupError("there is no Stop button")
        stopped: list[str] = []
        for message in place.thread(root):
            if message.stream is not None and message.stream.state == "streaming":
                message.stream.state = "stopped_by_user"
                stopped.append(message.ts)
        event: Json = {
            "type": "agent_session_stopped",
            "channel": place.id,
            "user": self.id,
            "thread_ts": root,
            "streaming_message_ts": stopped,
            "event_ts": self._world.new_ts(),
        }
        return self._world.emit(place.team, event, about=place)

    async def renames(self, channel: str, thread: str | Message, title: str) -> Delivery | None:
        """Give a session another title."""
        place, root = self._directory.channel(channel), _ts(thread)
        session = self._world.workspaces[place.team].sessions.get((place.id, root))
        if session is None or not session.made:
            raise LookupError("there is no session to rename")
        before, session.title = session.title, title
        event: Json = {
            "type": "agent_session_title_changed",
            "channel": place.id,
            "user": self.id,
            "thread_ts": root,
            "title": title,
            "team_id": place.team,
            "event_ts": self._world.new_ts(),
        }
        if before:
            event["previous_title"] = before
        return self._world.emit(place.team, event, about=place)

    async def opens_app(self, tab: str = "messages") -> Delivery | None:
        """Open the app's own page: its direct messages, or its home tab."""
        event: Json = {
            "type": "app_home_opened",
            "user": self.id,
            "channel": self.direct,
            "tab": tab,
            "event_ts": self._world.new_ts(),
        }
        if tab == "home":
            if not self._world.app.home:
                raise LookupError("the app has no Home tab")
            if self.home is not None:  # https://docs.slack.dev/reference/events/app_home_opened
                event["view"] = view_json(self._world, self.home)
        return self._world.emit(self._user.team, event)

    def _write(
        self,
        channel: str,
        text: str,
        *,
        thread: str | Message = "",
        subtype: str = "",
        client_msg_id: str = "",
        files: list[File] | None = None,
        attachments: list[Json] | None = None,
        blocks: list[Json] | None = None,
    ) -> Message:
        place = self._directory.channel(channel)
        if self.id not in place.members:
            raise LookupError(f"{self._user.name} is not in {place.name or place.id}")
        resolved = self._resolved(text)
        message = Message(
            ts=self._world.new_ts(),
            channel=place.id,
            user=self.id,
            team=self._user.team,
            text=resolved,
            thread_ts=_ts(thread),
            blocks=blocks or (rich_text(resolved) if resolved else []),
            files=files or [],
            attachments=attachments or [],
            subtype=subtype,
            bot_id=self._user.bot_id,
            app_id=self._user.app_id,
            client_msg_id="" if self._user.bot_id else client_msg_id or str(uuid.uuid4()),
        )
        place.messages[message.ts] = message
        self._world.new_message(place, message)
        self._mentioned(place, message)
        return message

    def _mentioned(self, place: Channel, message: Message) -> None:
        """Send the mention's second event; direct messages have none."""
        team = self._directory.home_of(place)
        mentioned = LINK.findall(message.text)
        called = [each for each in self._world.apps if each.bot(team).id in mentioned]
        if place.kind == "im" or not called:
            return
        event = message.json() | {"type": "app_mention", "channel": place.id}
        event["event_ts"] = message.ts
        event.pop("subtype", None)
        if message.team != place.team or place.shared:
            event |= {"user_team": message.team, "source_team": message.team}
        for each in called:
            each.emit(team, event, about=place)

    def _resolved(self, text: str) -> str:
        return MENTION.sub(lambda found: self._directory.mention_of(found[1]) or found[0], text)

    def _reaction(self, kind: str, channel: Channel, message: Message, name: str) -> None:
        event: Json = {
            "type": kind,
            "user": self.id,
            "reaction": name,
            "item_user": message.user,
            "item": {"type": "message", "channel": channel.id, "ts": message.ts},
            "event_ts": self._world.new_ts(),
        }
        self._world.publish(self._directory.home_of(channel), event, channel)

    def _respond(self, reply: ResponseUrl, response: Json | None) -> None:
        """Show what the app answered to a command in its acknowledgement."""
        if response:
            ResponseUrls(self._world).show(reply, response)

    def _response_url(self, kind: str, channel: Channel, message: Message) -> str:
        reply = ResponseUrl(
            workspace=self._user.team,
            channel=channel.id,
            user=self.id,
            at=self._world.clock.time(),
            message=message.ts,
            thread_ts=message.thread_ts,
        )
        return self._world.response_url(kind, reply)


def _ts(message: str | Message) -> str:
    return message.root if isinstance(message, Message) else message


def rich_text(text: str) -> list[Json]:
    """The block that Slack's own editor makes of a text."""
    parts: list[Json] = []
    end = 0
    for found in MARK.finditer(text):
        parts += [_text(text[end : found.start()]), _marked(found[1])]
        end = found.end()
    parts = [each for each in (*parts, _text(text[end:])) if each.get("text") != ""]
    section = {"type": "rich_text_section", "elements": parts}
    return [{"type": "rich_text", "block_id": "r0", "elements": [section]}]


def _text(text: str) -> Json:
    return {"type": "text", "text": unescape(text)}


def _marked(mark: str) -> Json:
    """An element of rich text (https://docs.slack.dev/reference/block-kit/block-elements)."""
    target, _, label = mark.partition("|")
    match target[0]:
        case "@":
            return {"type": "user", "user_id": target[1:]}
        case "#":
            return {"type": "channel", "channel_id": target[1:]}
        case "!" if target.startswith("!subteam^"):
            return {"type": "usergroup", "usergroup_id": target.removeprefix("!subteam^")}
        case "!":
            return {"type": "broadcast", "range": target[1:]}
        case _:
            link: Json = {"type": "link", "url": target}
            return link | ({"text": unescape(label)} if label else {})
