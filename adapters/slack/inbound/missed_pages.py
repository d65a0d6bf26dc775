"""Pages of gaps: lists of channels, messages of channels and of threads.

A channel is read from its newest message on, down to those that are older than what is offered:
each shows whether its thread went on. Threads that began before are a place of their own, so that
they hold up no later pause: those that the team is in are looked for, a page of the channel at a
time. A thread that went on becomes a gap of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.slack.connection.payload import Payload, number_at, tables_at, text_at, ts_at
from adapters.slack.connection.web_api import Refusal
from adapters.slack.inbound.missed_messages import MissedMessages, offered_after
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.read_rates import HISTORY, PAGE, REPLIES, ReadRates
from gateway.adapter import AdapterHost
from gateway.base.clock import Clock
from gateway.conversation import ConversationKey
from gateway.missed import DAY, MissedOutcome, MissedVerdict, OpenGap, ReadPage

CONVERSATIONS = "users.conversations"
KINDS = {"public_channel": "channels:", "private_channel": "groups:", "mpim": "mpim:", "im": "im:"}
"""Kinds of conversations, and the beginning of their scopes."""
LIST = "list:"
"""The beginning of cursors in the list of channels."""
OLDER = "older"
"""Root in the name of the place that is a channel's older threads."""


class MissedPages:
    """Reads pages of gaps, and hands in what they show."""

    def __init__(
        self, host: AdapterHost, rates: ReadRates, missed: MissedMessages, clock: Clock
    ) -> None:
        self._host = host
        self._rates = rates
        self._missed = missed
        self._clock = clock

    async def read(self, gap: OpenGap) -> ReadPage:
        """Read a gap's next page. Raises GatewayError."""
        if not gap.place.channel:
            try:
                return await self._list(gap)
            except Refusal as error:
                if error.code == "invalid_cursor" and gap.cursor:  # it has expired
                    return ReadPage(gap=gap, cursor="", newest=gap.newest)
                raise
        if gap.place.root == OLDER:
            return await self._older(gap)
        if gap.place.root:
            return await self._thread(gap)
        return await self._channel(gap)

    def _kinds(self, team: str) -> str:
        """Kinds of conversations that the app has any scope for.

        The manifest leaves out those that no route needs.
        """
        granted = self._rates.scopes(team)
        served = [
            kind
            for kind, start in KINDS.items()
            if any(scope.startswith(start) for scope in granted)
        ]
        return ",".join(served or KINDS)

    async def _list(self, gap: OpenGap) -> ReadPage:
        """Channels and direct conversations that the bot is in."""
        team = gap.place.workspace
        answer = await self._rates.read_in_turn(
            team,
            CONVERSATIONS,
            types=self._kinds(team),
            exclude_archived=True,
            limit=PAGE,
            cursor=gap.cursor.removeprefix(LIST) or None,
        )
        further: dict[ConversationKey, float] = {}
        for each in tables_at(answer, "channels"):
            channel, created = text_at(each, "id"), float(number_at(each, "created"))
            if channel and self._host.serves(gap.place.platform, team, [channel]):
                further[replace(gap.place, channel=channel)] = created * (created > gap.since)
        cursor = text_at(answer, "response_metadata", "next_cursor")
        return ReadPage(
            gap=gap,
            cursor=f"{LIST}{cursor}" if cursor else None,
            newest=gap.newest,
            further=further,
        )

    async def _channel(self, gap: OpenGap) -> ReadPage:
        """Messages of a channel, from the newest on."""
        floor = self._floor(gap, gap.returned)
        answer = await self._rates.read_in_turn(
            gap.place.workspace,
            HISTORY,
            channel=gap.place.channel,
            oldest=floor,
            # Without an end, Slack gives the page that is next to `oldest`.
            latest=gap.cursor or f"{self._clock.time() + DAY:.6f}",
            limit=PAGE,
        )
        said = sorted(tables_at(answer, "messages"), key=_at)
        found, further = await self._roots(gap, said)
        if said and text_at(answer, "response_metadata", "next_cursor"):
            cursor, newest = ts_at(said[0], "ts"), _at(said[0])
            return ReadPage(gap=gap, cursor=cursor, newest=newest, found=found, further=further)
        if older := await self._next_older(gap, self._floor(gap, gap.until)):
            further[replace(gap.place, root=OLDER)] = float(older)
        return ReadPage(gap=gap, cursor=None, found=found, further=further)

    async def _older(self, gap: OpenGap) -> ReadPage:
        """Messages of a channel from a known thread's root on down."""
        root = gap.cursor or await self._next_older(gap, self._floor(gap, gap.until))
        if not root:
            return ReadPage(gap=gap, cursor=None)
        answer = await self._rates.read_in_turn(
            gap.place.workspace,
            HISTORY,
            channel=gap.place.channel,
            latest=root,
            inclusive=True,
            limit=PAGE,
        )
        said = sorted(tables_at(answer, "messages"), key=_at)
        lowest = min([root, *(ts_at(each, "ts") for each in said[:1])], key=float)
        older = await self._next_older(gap, lowest)
        further = {_thread(gap, each): news for each in said if (news := _news(each)) > gap.since}
        newest = float(older or "0")
        return ReadPage(gap=gap, cursor=older or None, newest=newest, further=further)

    def _floor(self, gap: OpenGap, back: float) -> str:
        """The age limit of a channel's messages, as a time."""
        return f"{min(gap.since, back - self._host.missed.offer):.6f}"

    async def _next_older(self, gap: OpenGap, before: str) -> str:
        """The root of the next known thread below, or ""."""
        known = await self._host.known_threads(gap.place, before=before, limit=1)
        return known[0].place.root if known else ""

    async def _roots(
        self, gap: OpenGap, said: Sequence[Payload]
    ) -> tuple[Counter[MissedOutcome], dict[ConversationKey, float]]:
        """Take messages without replies; the counts, and the threads that go on."""
        found, further = Counter[MissedOutcome](), dict[ConversationKey, float]()
        for each in said:
            news = _news(each)
            if news > gap.since:
                further[_thread(gap, each)] = news
            elif _at(each) > gap.since:
                await self._root(gap, each, found)
        return found, further

    async def _verdict(self, gap: OpenGap, said: Payload) -> MissedVerdict:
        return await self._host.missed_verdict(gap, _at(said), now=self._clock.time())

    async def _root(self, gap: OpenGap, said: Payload, found: Counter[MissedOutcome]) -> None:
        draft = await self._missed.wanted(said, gap.place.workspace, gap.place.channel)
        if draft is None:
            return
        match verdict := await self._verdict(gap, said):
            case "answer":
                found.update(await self._missed.hand_in([draft]))
            case "offer":
                found[await self._missed.offer(draft.message.key, ts_at(said, "ts"), 1)] += 1
            case "too_old":
                found[verdict] += 1

    async def _thread(self, gap: OpenGap) -> ReadPage:
        """Messages of a thread, in their order."""
        place = gap.place
        rest = _Rest.parse(gap.cursor, f"{gap.since:.6f}")
        answer = await self._rates.read_in_turn(
            place.workspace,
            REPLIES,
            channel=place.channel,
            ts=place.root,
            oldest=rest.after,
            limit=PAGE,
        )
        said = [each for each in tables_at(answer, "messages") if _at(each) > float(rest.after)]
        found = Counter[MissedOutcome]()
        recent: list[Draft] = []
        for each in said:
            rest.after = ts_at(each, "ts")
            if after := offered_after(each):
                # Of this page, which was not finished; or of another gap, with its end alone.
                if rest.first and float(rest.first) > float(after):
                    found["offer"] += rest.count
                    rest.first, rest.count = "", 0
                continue
            joined = bool(recent or rest.first)
            draft = await self._missed.wanted(each, place.workspace, place.channel, joined=joined)
            if draft is None:
                continue
            match verdict := await self._verdict(gap, each):
                case "answer":
                    recent.append(draft)
                case "offer":
                    rest.first, rest.count = rest.first or rest.after, rest.count + 1
                case "too_old":
                    found[verdict] += 1
        found.update(await self._missed.hand_in(recent))
        if said and text_at(answer, "response_metadata", "next_cursor"):
            return ReadPage(gap=gap, cursor=str(rest), newest=gap.newest, found=+found)
        if rest.count:
            found[await self._missed.offer(place, rest.first, rest.count)] += rest.count
        return ReadPage(gap=gap, cursor=None, found=+found)


@dataclass(slots=True)
class _Rest:
    """The rest of a thread, and what is offered at its end."""

    after: str
    first: str = ""
    count: int = 0

    @classmethod
    def parse(cls, cursor: str, since: str) -> _Rest:
        after, first, count = cursor.split(" ") if cursor else (since, "", "0")
        return cls(after, first, int(count))

    def __str__(self) -> str:
        return f"{self.after} {self.first} {self.count}"


def _at(said: Payload) -> float:
    return float(ts_at(said, "ts") or "0")


def _news(said: Payload) -> float:
    """When a message's thread went on last; 0 if it has none.

    A reply that was also sent to the channel is its thread's.
    """
    if _root_of(said) != ts_at(said, "ts"):
        return _at(said)
    return float(ts_at(said, "latest_reply") or "0")


def _root_of(said: Payload) -> str:
    return ts_at(said, "thread_ts") or ts_at(said, "ts")


def _thread(gap: OpenGap, said: Payload) -> ConversationKey:
    return replace(gap.place, root=_root_of(said))
