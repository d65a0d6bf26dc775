"""The simulated Slack in a campaign."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial

from adapters.simulation.faults import PlannedFault
from adapters.slack.simulator.call import Call
from adapters.slack.simulator.deliveries import Attempt, Delivery
from adapters.slack.simulator.state import Channel, Json, Message
from adapters.slack.testing import (
    ConnectionReset,
    Fault,
    Person,
    ServerError,
    SlackSimulator,
    TooManyRequests,
)
from adapters.slack.testing.rendered_message import render_message
from gateway.missed import DAY
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.plan import CHANNELS, DIRECT, MODES, PEOPLE, Say, Trouble
from tests.chaos.campaign.platform import FILE, Post

SETTINGS = """
[adapters.slack]
bot_token = "{bot_token}"
app_token = "{app_token}"
api_url = "{url}"
"""
ROUTE = """
[[routes]]
adapter = "slack"
{place}
users = ["members"]
mode = "{mode}"
limits = {{ turns = 100000, parallel_turns = 50 }}
"""
DISTURBED = ("chat.postMessage", "chat.startStream", "chat.appendStream", "chat.update")
FAULTS: dict[Trouble, Fault] = {
    "refused": TooManyRequests(retry_after=1),
    "cut before": ConnectionReset(),
    "cut after": ConnectionReset(applied=True),
    "failed after": ServerError(applied=True),
}


class SlackPlatform:
    """A workspace with four people and three channels."""

    name = "slack"

    def __init__(self, slack: SlackSimulator, clock: MovedClock) -> None:
        self._slack = slack
        self._clock = clock
        self._messages: dict[int, Message] = {}
        self._closed = slack.faults.add(ServerError(), _connects, times=0)
        self._disturbed: list[PlannedFault[Fault, Call]] = []
        slack.add_channel("quiet")
        for name in PEOPLE:
            slack.join("quiet", slack.person(name))

    @property
    def settings(self) -> str:
        """The adapter's table and its routes, as TOML."""
        slack = self._slack
        table = SETTINGS.format(
            bot_token=slack.bot_token, app_token=slack.app_token, url=slack.api_url
        )
        places = {name: f'channels = ["{slack.channel(name).id}"]' for name in CHANNELS}
        places[DIRECT] = "dm = true"
        return table + "".join(
            ROUTE.format(place=place, mode=MODES[name]) for name, place in places.items()
        )

    @property
    def activity(self) -> int:
        """A number that grows with each call, event and connection."""
        slack = self._slack
        return len(slack.calls()) + len(slack.deliveries) + len(slack.sockets.connections)

    @property
    def connected(self) -> bool:
        """True while the process can be told what happens."""
        return len(self._slack.sockets.live) >= 2

    @property
    def gone(self) -> bool:
        """True once nothing is left of a process's connections."""
        return not self._slack.sockets.live

    @property
    def told(self) -> bool:
        """True if every event was acknowledged, put off, or given up."""
        return all(each.acked or each.attempts[-1].failure for each in self._slack.deliveries)

    async def say(self, said: Say, text: str, *, patience: float) -> bool:
        """Write; False if its thread is not there."""
        slack, person = self._slack, self._slack.person(said.person)
        channel = person.direct if said.where == DIRECT else slack.channel(said.where).id
        root = "" if said.opens else self._messages[said.thread]
        if root and patience and not await self._heard_of(root, patience):
            return False
        if said.opens and said.where != DIRECT:
            text = f"{slack.bot.mention} {text}"
        if said.kind == "file":
            name = f"f{said.n:04}.txt"
            message = await person.uploads(channel, name, FILE, text=text, thread=root)
        else:
            message = await person.says(channel, text, thread=root)
        self._messages[said.n] = message
        return True

    async def _heard_of(self, message: Message, patience: float) -> bool:
        """Wait until a message was acknowledged or given up.

        Nobody writes the next one before.
        """
        try:
            await self._slack.until(lambda: self._is_heard(message), patience)
        except TimeoutError:
            return False
        return True

    def _is_heard(self, message: Message) -> bool:
        told = [each for each in self._slack.deliveries if each.event.get("ts") == message.ts]
        return all(each.acked or each.lost for each in told)

    async def edit(self, n: int, text: str) -> None:
        """Change a message."""
        await self._author(n).edits(self._messages[n], text)

    async def delete(self, n: int) -> None:
        """Delete a message."""
        await self._author(n).deletes(self._messages[n])

    async def press(self, place: str, person: str, button: str) -> bool:
        """Press the last such button; False if there is none."""
        for channel, message in reversed([*self._written()]):
            shown = render_message(message, "")
            if _place(channel, message) == place and button in shown.buttons:
                await self._slack.person(person).clicks(message, button)
                return True
        return False

    def told_first(self, n: int) -> bool:
        """True if its text may have been heard before its deletion."""
        ts = self._messages[n].ts
        told = [each for each in self._slack.deliveries if each.kind == "events_api"]
        gone = [each for each in told if _deletes(each.event, ts)]
        made = [each for each in told if each not in gone and _tells(each.event, ts)]
        return any(
            attempt.via and not _is_known(gone, attempt)
            for each in made
            for attempt in each.attempts
        )

    def comes_later(self, n: int) -> bool:
        """True if the next attempt to deliver a message is due later."""
        ts = self._messages[n].ts
        return any(
            not (each.acked or each.lost)
            for each in self._slack.deliveries
            if each.event.get("ts") == ts
        )

    def message_id(self, n: int) -> str:
        """The platform's id of a message."""
        return self._messages[n].ts

    def person_of(self, author: str) -> str:
        """The name of a person, by the gateway's id."""
        return next(p.name for p in self._slack.people if p.id == author.rpartition(":")[2])

    def place_of(self, n: int) -> str:
        """The thread of a message."""
        message = self._messages[n]
        return f"{message.channel}/{message.root}"

    def posts(self) -> list[Post]:
        """Everything that the bot's messages say now."""
        return [
            Post(
                _place(channel, message),
                shown.text,
                shown.buttons,
                private=bool(message.ephemeral),
                id=f"{channel.id}/{message.ts}",
            )
            for channel, message in self._written()
            for shown in [render_message(message, "")]
        ]

    def calls(self) -> Sequence[object]:
        """All requests to the platform."""
        return self._slack.calls()

    def advance(self, seconds: float) -> None:
        """Move the platform's time on."""
        self._clock.advance(seconds)

    def disturb(self, how: Trouble, times: int) -> None:
        """Disturb some of the next calls that write."""
        for fault in self._disturbed:
            fault.times = 0
        self._disturbed = [
            self._slack.faults.add(FAULTS[how], partial(_calls, method), times=times)
            for method in DISTURBED
        ]

    def freeze(self) -> None:
        """Know nothing: what is sent is not acknowledged."""

    def sever(self, dice: random.Random) -> None:
        """Cut the connections, and let nobody in."""
        self._closed.times = -1
        self._slack.sockets.abort()

    @property
    def turned_away(self) -> bool:
        """True once somebody has tried to connect since."""
        return bool(self._slack.calls("apps.connections.open")[-1].fault)

    def mend(self) -> None:
        """Let the process connect again."""
        self._closed.times = 0

    def redeliver(self, dice: random.Random) -> None:
        """Deliver unacknowledged events and some others anew, in any order."""
        sent = [each for each in self._slack.deliveries if each.kind == "events_api"]
        # Apps may choose to get what was given up, too, once an hour for a day ("Delayed events",
        # docs.slack.dev/apis/events-api). What is older never comes.
        late = DAY if dice.random() < 0.25 else 0.0
        now = self._clock.time()
        open_ones = [
            each
            for each in sent
            if not each.acked and (not each.lost or now - each.attempts[0].at < late)
        ]
        again = [each for each in sent[-30:] if each.acked and dice.random() < 0.4]
        both = [*open_ones, *again]
        dice.shuffle(both)
        for delivery in both:
            if delivery.acked:
                self._slack.repeat(delivery)
            else:
                self._slack.world.deliveries.retry(delivery)

    def _author(self, n: int) -> Person:
        return self._slack.person(self.person_of(self._messages[n].user))

    def _written(self) -> Iterator[tuple[Channel, Message]]:
        bot = self._slack.bot.id
        for workspace in self._slack.world.workspaces.values():
            for channel in list(workspace.channels.values()):
                for message in list(channel.messages.values()):
                    if message.user == bot and not message.hidden:
                        yield channel, message


def _connects(call: Call) -> bool:
    return call.method == "apps.connections.open"


def _calls(method: str, call: Call) -> bool:
    return call.method == method


def _deletes(event: Json, ts: str) -> bool:
    """True of a deletion, also of one that leaves a tombstone."""
    said = event.get("message", {})
    tombstone = said.get("subtype") == "tombstone" and said.get("ts") == ts
    return event.get("deleted_ts") == ts or tombstone


def _tells(event: Json, ts: str) -> bool:
    """True of a message and its edits, which may replace it."""
    return ts in (event.get("ts"), event.get("message", {}).get("ts"))


def _is_known(gone: Sequence[Delivery], attempt: Attempt) -> bool:
    """True if a deletion was certainly heard before an attempt.

    It was acknowledged before, or went out before through the same connection: of two connections
    nobody knows which is read first.
    """
    return any(
        (each.acked_at is not None and each.acked_at <= attempt.at)
        or any(sent.via == attempt.via and sent.at <= attempt.at for sent in each.attempts)
        for each in gone
    )


def _place(channel: Channel, message: Message) -> str:
    return f"{channel.id}/{message.root}"
