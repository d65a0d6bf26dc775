"""People on the simulated Discord: they write, click, choose and submit."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from adapters.discord.simulator import components, interactions, message_actions, threads
from adapters.discord.simulator.errors import ApiError, Json
from adapters.discord.simulator.message_drafts import Draft, Upload
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Interaction,
    InteractionType,
    Message,
    Role,
    User,
)
from adapters.discord.simulator.permissions import Permission, may, sending
from adapters.discord.simulator.world import World
from adapters.discord.testing import inputs
from adapters.discord.testing.inputs import File, ImpossibleAction

LONGEST = 4000
"""Characters that a person with a subscription may write."""


class Person:
    """Somebody who uses Discord; every action takes effect at once."""

    def __init__(self, world: World, user: User) -> None:
        self._world = world
        self.user = user
        self.id = user.id
        self.name = user.name
        self.mention = user.mention
        """The mention of this person in a message's text."""

    @property
    def direct(self) -> Channel:
        """The conversation with the application alone."""
        return self._world.direct(self.user, self._world.bot)

    def closes_direct(self) -> None:
        """Take no direct messages any more."""
        self.user.reachable = False

    # Messages

    async def says(
        self,
        channel: Channel,
        text: str = "",
        *,
        reply_to: Message | None = None,
        files: Iterable[File] = (),
        **parts: Any,
    ) -> Message:
        """Write a message; `<@id>`, or `somebody.mention`, mentions.

        `parts` are what else Discord shows of it, such as its `poll` or `sticker_items`, or the
        `embeds` and `components` of an app.
        """
        self._check_may(channel, sending(channel))
        uploads = {str(n): Upload(*each) for n, each in enumerate(files)}
        reference: Json | None = reply_to and {"message_id": str(reply_to.id)}
        if reply_to is not None and reply_to.channel is not channel:
            raise ImpossibleAction("A reply stands in the channel of what it answers.")
        draft = Draft(content=text, uploads=uploads, reference=reference, parts=parts)
        return self._posts(channel, draft)

    async def mentions(self, channel: Channel, text: str, **how: Any) -> Message:
        """Write a message that begins with a mention of the application."""
        return await self.says(channel, f"{self._world.bot.mention} {text}", **how)

    async def forwards(self, message: Message, to: Channel) -> Message:
        """Forward a message."""
        self._check_may(to, sending(to))
        reference: Json = {
            "type": message_actions.FORWARD,
            "channel_id": str(message.channel.id),
            "message_id": str(message.id),
        }
        return self._posts(to, Draft(reference=reference))

    async def edits(self, message: Message, text: str, **parts: Any) -> Message:
        """Change an own message, and what else Discord shows of it."""
        self._check_own(message)
        message.parts = {**message.parts, **parts}
        return message_actions.edit(self._world, message, Draft(content=text))

    async def deletes(self, message: Message) -> None:
        """Delete an own message, or any with the permission to manage them."""
        if message.author is not self.user:
            self._check_may(message.channel, Permission.MANAGE_MESSAGES)
        message_actions.delete(self._world, message)

    async def reacts(self, message: Message, emoji: str) -> None:
        """Add a reaction."""
        self._check_may(message.channel, Permission.ADD_REACTIONS)
        message_actions.react(self._world, message, self.user, emoji)

    async def unreacts(self, message: Message, emoji: str) -> None:
        """Take an own reaction away."""
        message_actions.unreact(self._world, message, self.user, emoji)

    async def types(self, channel: Channel) -> None:
        """Be seen typing."""
        message_actions.type_in(self._world, channel, self.user)

    def sees(self, channel: Channel) -> list[Message]:
        """Messages in a channel that this person sees, ephemeral ones included."""
        if not may(channel, self.user, Permission.VIEW_CHANNEL):
            return []
        everything = channel.messages.values()
        return [each for each in everything if each.visible_to in (None, self.user)]

    # Threads

    async def opens_post(
        self, forum: Channel, title: str, text: str, *, files: Iterable[File] = (), **parts: Any
    ) -> Channel:
        """Begin a post in a forum."""
        self._check_may(forum, Permission.SEND_MESSAGES)
        if forum.type is not ChannelType.FORUM:
            raise ImpossibleAction(f"#{forum.name} is no forum.")
        uploads = {str(n): Upload(*each) for n, each in enumerate(files)}
        draft = Draft(content=text, uploads=uploads, parts=parts)
        with _client_errors():
            return threads.forum_post(self._world, forum, self.user, {"name": title}, draft)[0]

    async def starts_thread(self, message: Message, name: str) -> Channel:
        """Begin a thread at a message."""
        self._check_may(message.channel, Permission.CREATE_PUBLIC_THREADS)
        with _client_errors():
            return threads.from_message(self._world, message, self.user, {"name": name})

    async def adds(self, thread: Channel, other: Person) -> None:
        """Add somebody to a private thread.

        Discord's documentation, resource "Channel": unless it is `invitable`, only moderators add
        others.
        """
        if self.id not in thread.members or not thread.invitable:
            self._check_may(thread, Permission.MANAGE_THREADS)
        threads.add_member(self._world, thread, other.user)

    async def archives(self, thread: Channel, *, locked: bool = False) -> None:
        """Archive a thread."""
        if thread.owner is not self.user:
            self._check_may(thread, Permission.MANAGE_THREADS)
        settings: Json = {"archived": True, "locked": locked}
        threads.change(self._world, thread, self.user, settings)

    # Commands, buttons, selects, forms

    async def slash(self, channel: Channel, command: str, **options: Any) -> Interaction:
        """Use a slash command; sub-commands follow its name after a space."""
        name, *path = command.split()
        registered = self._command(channel, name, 1)
        data, known = inputs.command_data(registered), registered
        level = data
        for sub in path:
            known = inputs.find_option(known, sub)
            inner: Json = {"name": sub, "type": known["type"], "options": []}
            level["options"] = [inner]
            level = inner
        level["options"] = self._options(channel, data, known, options)
        inputs.check_all_given(known, options)
        return self._begin(InteractionType.COMMAND, channel, data, command=command)

    async def completes(self, channel: Channel, command: str, **options: Any) -> Interaction:
        """Type into an option with choices; the last one has focus."""
        registered = self._command(channel, command, 1)
        data = inputs.command_data(registered)
        data["options"] = self._options(channel, data, registered, options)
        data["options"][-1]["focused"] = True
        return self._begin(InteractionType.AUTOCOMPLETE, channel, data, command=command)

    async def menu(self, message: Message, command: str) -> Interaction:
        """Use a command from a message's context menu.

        The application gets a partial message: Discord's documentation, "Receiving and
        Responding", "Resolved Data Structure". Here it lacks the one that it replies to.
        """
        data = inputs.command_data(self._command(message.channel, command, 3))
        shown = self._world.renderer.message(message, nested=True)
        data |= {
            "target_id": str(message.id),
            "resolved": {"messages": {str(message.id): shown}},
        }
        return self._begin(InteractionType.COMMAND, message.channel, data, command=command)

    async def clicks(self, message: Message, button: str) -> Interaction:
        """Click a button, named by its custom id or its label."""
        found = self._component(message, button)
        if found["type"] != components.BUTTON or not found.get("custom_id"):
            raise ImpossibleAction(
                f"{button!r} can't be clicked so that the application hears of it."
            )
        data = inputs.component_data(found)
        return self._begin(InteractionType.COMPONENT, message.channel, data, message)

    async def clicks_gone(self, message: Message, custom_id: str) -> Interaction:
        """Click a button that the message has just lost.

        The client still showed it.
        """
        data: Json = {"custom_id": custom_id, "component_type": components.BUTTON, "id": 1}
        return self._begin(InteractionType.COMPONENT, message.channel, data, message)

    async def selects(
        self, message: Message, select: str, *values: str | Person | Role | Channel
    ) -> Interaction:
        """Choose from a select, named by its custom id or placeholder."""
        found = self._component(message, select)
        if found["type"] not in components.SELECTS:
            raise ImpossibleAction(f"{select!r} is no select.")
        if not found["min_values"] <= len(values) <= found["max_values"]:
            raise ImpossibleAction(
                f"{select!r} takes {found['min_values']} to {found['max_values']}."
            )
        data = inputs.component_data(found)
        chosen = [_user_of(each) for each in values]
        data["values"] = [
            inputs.chosen_value(message.channel, data, found, each) for each in chosen
        ]
        return self._begin(InteractionType.COMPONENT, message.channel, data, message)

    async def submits(self, interaction: Interaction, **values: str) -> Interaction:
        """Submit the form of an interaction; names are custom ids."""
        modal = interaction.modal
        if modal is None:
            raise ImpossibleAction("The application has shown no form.")
        known = components.custom_ids(modal["components"])
        for name in values:
            if name not in known:
                raise ImpossibleAction(f"The form has no field {name!r}.")
        data: Json = {
            "custom_id": modal["custom_id"],
            "components": inputs.fill_form(modal["components"], values),
        }
        return self._begin(InteractionType.MODAL, interaction.channel, data, interaction.message)

    # What it takes

    def _begin(
        self,
        kind: InteractionType,
        channel: Channel,
        data: Json,
        message: Message | None = None,
        command: str = "",
    ) -> Interaction:
        return interactions.begin(
            self._world, kind, self.user, channel, data, message=message, command=command
        )

    def _check_may(self, channel: Channel, needed: int) -> None:
        if channel.deleted:
            raise ImpossibleAction("The channel is deleted.")
        if not may(channel, self.user, Permission.VIEW_CHANNEL | needed):
            raise ImpossibleAction(f"{self.name} lacks {Permission(needed)!r} in {channel.name!r}.")

    def _check_own(self, message: Message) -> None:
        if message.author is not self.user or message.deleted:
            raise ImpossibleAction("Only an own message that is still there can be edited.")

    def _component(self, message: Message, name: str) -> Json:
        if message.deleted or message not in self.sees(message.channel):
            raise ImpossibleAction(f"{self.name} does not see the message.")
        found = components.find_component(message.components, name)
        if found is None:
            raise ImpossibleAction(f"The message has no {name!r}: {message.components}")
        if found.get("disabled"):
            raise ImpossibleAction(f"{name!r} is disabled.")
        return found

    def _command(self, channel: Channel, name: str, kind: int) -> Json:
        self._check_may(channel, Permission.USE_APPLICATION_COMMANDS if channel.guild else 0)
        scopes = (channel.guild.id, 0) if channel.guild else (0,)
        for command in [each for scope in scopes for each in self._world.commands.get(scope, [])]:
            if command["name"] == name and command["type"] == kind:
                needed = command["default_member_permissions"]
                if needed is not None and channel.guild and not self._has(channel, int(needed)):
                    raise ImpossibleAction(f"{self.name} may not use {name!r}.")
                return command
        raise ImpossibleAction(f"No command {name!r} of this kind is registered here.")

    def _has(self, channel: Channel, needed: int) -> bool:
        # Nothing needed means: administrators alone.
        return may(channel, self.user, needed or Permission.ADMINISTRATOR)

    def _options(self, channel: Channel, data: Json, known: Json, given: Json) -> list[Json]:
        return [
            inputs.option_data(
                self._world, channel, data, inputs.find_option(known, name), _user_of(value)
            )
            for name, value in given.items()
        ]

    def _posts(self, channel: Channel, draft: Draft) -> Message:
        text = draft.content or ""
        if len(text) > LONGEST or not (
            text.strip() or draft.uploads or draft.reference or draft.parts
        ):
            raise ImpossibleAction(f"A message has 1 to {LONGEST} characters.")
        with _client_errors():
            return message_actions.post(self._world, channel, self.user, draft)


def _user_of(value: Any) -> Any:
    return value.user if isinstance(value, Person) else value


@contextmanager
def _client_errors() -> Generator[None]:
    try:
        yield
    except ApiError as refused:
        raise ImpossibleAction(refused.message) from refused
