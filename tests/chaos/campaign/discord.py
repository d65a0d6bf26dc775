"""The simulated Discord in a campaign."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.sessions import Session
from adapters.discord.testing import (
    Channel,
    ConnectionReset,
    DiscordSimulator,
    Fault,
    Message,
    ServerError,
    TooManyRequests,
)
from adapters.discord.testing.inputs import ImpossibleAction
from adapters.simulation.faults import PlannedFault
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.plan import CHANNELS, DIRECT, MODES, PEOPLE, Say, Trouble
from tests.chaos.campaign.platform import FILE, Post

SETTINGS = """
[adapters.discord]
token = "{token}"
api_url = "{url}"
gateway_url = "{gateway}"
"""
ROUTE = """
[[routes]]
adapter = "discord"
guild = "{guild}"
{place}
users = ["members"]
mode = "{mode}"
limits = {{ turns = 100000, parallel_turns = 50 }}
"""
UNLIMITED = 100_000
FAULTS: dict[Trouble, Fault] = {
    "refused": TooManyRequests(0.5),
    "cut before": ConnectionReset(),
    "cut after": ConnectionReset(committed=True),
    "failed after": ServerError(committed=True),
}


class DiscordPlatform:
    """A server with four people and three channels."""

    name = "discord"

    def __init__(self, discord: DiscordSimulator, clock: MovedClock) -> None:
        self._discord = discord
        self._clock = clock
        self._messages: dict[int, Message] = {}
        self._turned_away = 0
        self._sessions: dict[int, list[tuple[Session, int]]] = {}
        """The sessions that hold the creation of a message, and how often they were resumed before.
        """
        self._disturbed: list[PlannedFault[Fault, Call]] = []
        for name in CHANNELS:
            discord.channel(name)
        for name in PEOPLE:
            discord.person(name)
        discord.limits.set_global(UNLIMITED)
        for route in (
            "POST /channels/{channel_id}/messages",
            "PATCH /channels/{channel_id}/messages/{message_id}",
            "POST /channels/{channel_id}/messages/{message_id}/threads",
            "POST /channels/{channel_id}/typing",
        ):
            discord.limits.set(route, UNLIMITED, 1.0)

    @property
    def settings(self) -> str:
        """The adapter's table and its routes, as TOML."""
        discord = self._discord
        table = SETTINGS.format(
            token=discord.token, url=discord.api_url, gateway=discord.gateway_url
        )
        places = {name: f'channels = ["{discord.channel(name).id}"]' for name in CHANNELS}
        places[DIRECT] = "dm = true"
        return table + "".join(
            ROUTE.format(guild=discord.home.id, place=place, mode=MODES[name])
            for name, place in places.items()
        )

    @property
    def activity(self) -> int:
        """A number that grows with each call, event and connection."""
        gateway = self._discord.gateway
        events = sum(each.sequence for each in gateway.sessions.values())
        calls = [each for each in self._discord.calls() if not each.route.endswith("/typing")]
        return len(calls) + events + gateway.identifies + gateway.resumes

    @property
    def connected(self) -> bool:
        """True while the process can be told what happens."""
        return bool(self._discord.gateway.open_sessions)

    @property
    def gone(self) -> bool:
        """True once nothing is left of a process's connections."""
        return not self._discord.gateway.connections

    @property
    def told(self) -> bool:
        """Discord waits for no acknowledgement."""
        return True

    async def say(self, said: Say, text: str, *, patience: float) -> bool:
        """Write; False if its thread does not come in time."""
        person = self._discord.person(said.person)
        files = [(f"f{said.n:04}.txt", FILE, "text/plain")] if said.kind == "file" else []
        if said.where == DIRECT:
            message = await person.says(person.direct, text, files=files)
        elif said.opens:
            channel = self._discord.channel(said.where)
            message = await person.mentions(channel, text, files=files)
        else:
            thread = await self._thread(said.thread, patience)
            if thread is None:
                return False
            message = await person.says(thread, text, files=files)
        self._messages[said.n] = message
        sessions = self._discord.gateway.sessions.values()
        self._sessions[said.n] = [
            (each, each.resumes - (each.connection is not None)) for each in sessions
        ]
        return True

    async def _thread(self, n: int, patience: float) -> Channel | None:
        root = self._messages[n]
        try:
            return await self._discord.until(lambda: root.thread, seconds=patience)
        except TimeoutError:
            return None

    async def edit(self, n: int, text: str) -> None:
        """Change a message."""
        message = self._messages[n]
        await self._discord.person(message.author.name).edits(message, text)

    async def delete(self, n: int) -> None:
        """Delete a message."""
        message = self._messages[n]
        await self._discord.person(message.author.name).deletes(message)

    async def press(self, place: str, person: str, button: str) -> bool:
        """Press the last such button; False if there is none."""
        for message in reversed([*self._written()]):
            if _place(message) == place and button in _buttons(message):
                try:
                    await self._discord.person(person).clicks(message, button)
                except ImpossibleAction:
                    continue
                return True
        return False

    def told_first(self, n: int) -> bool:
        """True if a session was told the creation, maybe when resumed.

        Missed events are replayed in their order (docs.discord.com, Gateway, "Resuming"), also to a
        process that begins again and goes on with the session of one that was killed.
        """
        return any(session.resumes > before for session, before in self._sessions[n])

    def comes_later(self, n: int) -> bool:
        """False: Discord tells everything once."""
        return False

    def message_id(self, n: int) -> str:
        """The platform's id of a message."""
        return str(self._messages[n].id)

    def person_of(self, author: str) -> str:
        """The name of a person, by the gateway's id."""
        wanted = int(author.rpartition(":")[2])
        return next(name for name in PEOPLE if self._discord.person(name).id == wanted)

    def place_of(self, n: int) -> str:
        """The thread of a message, numbered as its first one."""
        return _place(self._messages[n])

    def posts(self) -> list[Post]:
        """Everything that the bot's messages say now."""
        return [
            Post(
                _place(message),
                message.content,
                _buttons(message),
                private=message.ephemeral,
                id=str(message.id),
            )
            for message in self._written()
        ]

    def calls(self) -> Sequence[object]:
        """All requests to the platform."""
        return self._discord.calls()

    def advance(self, seconds: float) -> None:
        """Move the platform's time on."""
        self._clock.advance(seconds)
        self._discord.advance(seconds)

    def disturb(self, how: Trouble, times: int) -> None:
        """Disturb some of the next calls that write."""
        for fault in self._disturbed:
            fault.times = 0
        self._disturbed = [
            self._discord.faults.plan(FAULTS[how], method=method, path="/messages", times=times)
            for method in ("POST", "PATCH")
        ]

    def freeze(self) -> None:
        """Know nothing: what is sent waits in the connection."""

    def sever(self, dice: random.Random) -> None:
        """Cut the connections and let nobody in; sessions may be lost."""
        self._turned_away = self._discord.gateway.turned_away
        self._discord.gateway.down = True
        self._discord.gateway.abort()
        if dice.random() >= 0.5:
            self._discord.gateway.forget()

    @property
    def turned_away(self) -> bool:
        """True once somebody has tried to connect since."""
        return self._discord.gateway.turned_away > self._turned_away

    def mend(self) -> None:
        """Let the process connect again."""
        self._discord.gateway.down = False

    def redeliver(self, dice: random.Random) -> None:
        """Send some of the next events twice, some in another order."""
        if dice.random() < 0.5:
            self._discord.gateway.duplicate(dice.randint(1, 10))
        if dice.random() < 0.5:
            self._discord.gateway.reorder(2)

    def _written(self) -> Iterator[Message]:
        for channel in list(self._discord.world.channels.values()):
            for message in list(channel.messages.values()):
                if message.application and not message.deleted:
                    yield message


def _place(message: Message) -> str:
    """The thread of a message, or which it begins or replies to."""
    channel = message.channel
    if channel.guild is None or channel.is_thread:
        return str(channel.id)
    return str((message.referenced or message).id)


def _buttons(message: Message) -> tuple[str, ...]:
    return tuple(_labels(message.components))


def _labels(parts: list[Json]) -> Iterator[str]:
    for part in parts:
        if part.get("label") and not part.get("disabled"):
            yield str(part["label"])
        yield from _labels(part.get("components") or [])
