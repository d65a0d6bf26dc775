"""A small bot on the real discord.py that records its events."""

from __future__ import annotations

from typing import Any

import discord as sdk
from discord import app_commands


class Bot(sdk.Client):
    def __init__(self, **settings: Any) -> None:
        intents = settings.pop("intents", sdk.Intents.all())
        super().__init__(intents=intents, guild_ready_timeout=0.05, **settings)
        self.tree = app_commands.CommandTree(self)
        self.heard: list[sdk.Message] = []
        self.events: list[tuple[str, Any]] = []

    async def on_message(self, message: sdk.Message) -> None:
        self.heard.append(message)
        self.events.append(("message", message))

    async def on_raw_message_edit(self, payload: sdk.RawMessageUpdateEvent) -> None:
        self.events.append(("edit", payload))

    async def on_raw_message_delete(self, payload: sdk.RawMessageDeleteEvent) -> None:
        self.events.append(("delete", payload))

    async def on_raw_bulk_message_delete(self, payload: sdk.RawBulkMessageDeleteEvent) -> None:
        self.events.append(("purge", payload))

    async def on_guild_remove(self, guild: sdk.Guild) -> None:
        self.events.append(("removed", guild))

    async def on_raw_reaction_add(self, payload: sdk.RawReactionActionEvent) -> None:
        self.events.append(("reaction", payload))

    async def on_thread_remove(self, thread: sdk.Thread) -> None:
        self.events.append(("left", thread))

    async def on_thread_create(self, thread: sdk.Thread) -> None:
        self.events.append(("thread", thread))

    async def on_resumed(self) -> None:
        self.events.append(("resumed", None))

    async def on_ready(self) -> None:
        self.events.append(("ready", None))

    async def on_interaction(self, interaction: sdk.Interaction) -> None:
        self.events.append(("interaction", interaction))

    def texts(self) -> list[str]:
        """Texts of people's messages."""
        return [each.content for each in self.heard if each.author != self.user]

    def events_named(self, kind: str) -> list[Any]:
        return [what for name, what in self.events if name == kind]
