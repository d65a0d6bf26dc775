"""Slack's history in pages: lists of channels, channels and threads.

A channel is read from its newest message on, down to those that are older than what is offered:
each shows whether its thread went on. Threads that began before are a place of their own, so that
they hold up no later pause: those that the team is in are looked for, a page of the channel at a
time. A thread that went on becomes a gap of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adapters.awaited_files import AwaitedFiles
from adapters.slack.connection.payload import Payload, number_at, tables_at, text_at, ts_at
from adapters.slack.connection.rate_limits import CONVERSATIONS, HISTORY, REPLIES
from adapters.slack.connection.web_api import Refusal, is_final
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.history import History
from adapters.slack.inbound.missed_cards import before, card_blocks, find_card
from adapters.slack.inbound.parse_events import as_edit, parse_history_message
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.read_rates import MINUTE, PAGE, ReadRates
from adapters.slack.inbound.replies import Replies
from gateway.adapter import AdapterHost
from gateway.base.clock import Clock
from gateway.client import Receipt
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.history import Found, OfferCard, Page, PlatformHistory
from gateway.missed import DAY, OpenGap
from gateway.surface import CallRejected, RateLimited

KINDS = {"public_channel": "channels:", "private_channel": "groups:", "mpim": "mpim:", "im": "im:"}
"""Kinds of conversations, and the beginning of their scopes."""
LIST = "list:"
"""The beginning of cursors in the list of channels."""
OLDER = "older"
"""Root in the name of the place that is a channel's older threads."""

UNLISTED = (
    "after a pause, new channels can't be looked for, because the app may not list them: add the"
    " scopes channels:read, groups:read, im:read and mpim:read, and install the app again"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Parts with which Slack's history is read and taken."""

    host: AdapterHost
    rates: ReadRates
    drafts: Drafts
    threads: History
    fetching: AwaitedFiles
    replies: Replies


class SlackHistory(PlatformHistory[Draft]):
    """Slack's history, in all workspaces of the app."""

    def __init__(self, reading: Reading, clock: Clock) -> None:
        super().__init__(reading.rates.calls.clients.account, clock)
        self._host = reading.host
        self._rates = reading.rates
        self._calls = reading.rates.calls
        self._drafts = reading.drafts
        self._threads = reading.threads
        self._fetching = reading.fetching
        self._replies = reading.replies
        self.backfill = reading.host.backfill(self)
        """Its reader."""

    def workspaces(self) -> Sequence[str]:
        """The workspaces of the app."""
        return [each.id for each in self._calls.clients.workspaces]

    def is_final(self, error: GatewayError) -> bool:
        """True if Slack will refuse the same again."""
        return is_final(error)

    # --- pages ---

    async def read_page(self, gap: OpenGap) -> Page[Draft]:
        """Read a gap's next page; nothing of a channel that is gone."""
        try:
            match gap.place:
                case ConversationKey(channel=""):
                    return await self._list(gap)
                case ConversationKey(root=""):
                    return await self._channel(gap)
                case ConversationKey(root=root) if root == OLDER:
                    return await self._older(gap)
                case _:
                    return await self._thread(gap)
        except CallRejected as error:
            if is_final(error) and not isinstance(error, Refusal):  # it needs nobody's help
                return Page()
            raise

    def _kinds(self, team: str) -> str:
        """Kinds of conversations that the app has any scope for.

        The manifest leaves out those that no route needs.
        """
        granted = self._drafts.me(team).scopes
        served = [
            kind
            for kind, start in KINDS.items()
            if any(scope.startswith(start) for scope in granted)
        ]
        return ",".join(served or KINDS)

    async def _list(self, gap: OpenGap) -> Page[Draft]:
        """Channels and direct conversations that the bot is in."""
        team = gap.place.workspace
        try:
            answer = await self._rates.read_in_turn(
                team,
                CONVERSATIONS,
                types=self._kinds(team),
                exclude_archived=True,
                limit=PAGE,
                cursor=gap.cursor.removeprefix(LIST) or None,
            )
        except Refusal as error:
            if error.code == "invalid_cursor" and gap.cursor:  # it has expired
                return Page(cursor="")
            if not is_final(error):
                raise
            self._host.health.remark(self.account, UNLISTED)
            return Page()
        further: dict[ConversationKey, float] = {}
        for each in tables_at(answer, "channels"):
            channel, created = text_at(each, "id"), float(number_at(each, "created"))
            if channel and self._host.policy.serves(gap.place.platform, team, [channel]):
                further[replace(gap.place, channel=channel)] = created * (created > gap.since)
        cursor = text_at(answer, "response_metadata", "next_cursor")
        return Page(cursor=f"{LIST}{cursor}" if cursor else None, further=further)

    async def _channel(self, gap: OpenGap) -> Page[Draft]:
        """A channel's messages without replies, and threads that went on."""
        answer = await self._rates.read_in_turn(
            gap.place.workspace,
            HISTORY,
            channel=gap.place.channel,
            oldest=self._floor(gap, gap.returned),
            # Without an end, Slack gives the page that is next to `oldest`.
            latest=gap.cursor or f"{self.clock.time() + DAY:.6f}",
            limit=PAGE,
        )
        said = sorted(tables_at(answer, "messages"), key=_at)
        further = {_thread(gap, each): news for each in said if (news := _news(each)) > gap.since}
        alone = [each for each in said if _at(each) > gap.since >= _news(each)]
        found = self._found(gap.place, alone)
        if said and text_at(answer, "response_metadata", "next_cursor"):
            cursor, newest = ts_at(said[0], "ts"), _at(said[0])
            return Page(said=found, cursor=cursor, newest=newest, further=further)
        if older := await self._next_older(gap, self._floor(gap, gap.until)):
            further[replace(gap.place, root=OLDER)] = float(older)
        return Page(said=found, further=further)

    async def _older(self, gap: OpenGap) -> Page[Draft]:
        """Messages of a channel from a known thread's root on down."""
        root = gap.cursor or await self._next_older(gap, self._floor(gap, gap.until))
        if not root:
            return Page()
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
        return Page(cursor=older or None, newest=float(older or "0"), further=further)

    async def _thread(self, gap: OpenGap) -> Page[Draft]:
        """Messages of a thread, in their order."""
        after = gap.cursor or f"{gap.since:.6f}"
        answer = await self._rates.read_in_turn(
            gap.place.workspace,
            REPLIES,
            channel=gap.place.channel,
            ts=gap.place.root,
            oldest=after,
            limit=PAGE,
        )
        said = [each for each in tables_at(answer, "messages") if _at(each) > float(after)]
        more = said and text_at(answer, "response_metadata", "next_cursor")
        cursor = ts_at(said[-1], "ts") if more else None
        return Page(said=self._found(gap.place, said), cursor=cursor)

    def _floor(self, gap: OpenGap, back: float) -> str:
        """The age limit of a channel's messages, as a time."""
        return f"{min(gap.since, back - self._host.limits.missed.offer):.6f}"

    async def _next_older(self, gap: OpenGap, before: str) -> str:
        """The root of the next known thread below, or ""."""
        known = await self.backfill.known_threads(gap.place, before=before, limit=1)
        return known[0].place.root if known else ""

    def _found(
        self, place: ConversationKey, said: Iterable[Payload]
    ) -> list[Found[Draft] | OfferCard]:
        found: list[Found[Draft] | OfferCard] = []
        for each in said:
            if card := find_card(each, place):
                found.append(card)
                continue
            me = self._drafts.me(place.workspace)
            draft = parse_history_message(each, place.workspace, place.channel, me)
            if isinstance(draft, Draft):
                message = draft.message
                found.append(
                    Found(
                        key=message.key,
                        id=message.message_id,
                        at=message.at,
                        said=draft,
                        edited=float(ts_at(each, "edited", "ts") or "0"),
                    )
                )
        return found

    # --- messages ---

    async def prepare(self, found: Found[Draft], *, joined: bool) -> InboundMessage | None:
        """The judged message, if it is for the team."""
        if not await self._drafts.is_meant(found.said, joined=joined):
            return None
        return await self._drafts.judged(found.said)

    async def edit(self, found: Found[Draft]) -> InboundMessage | None:
        """Edit of a taken message, if the team is to know it."""
        draft = as_edit(found.said, f"{found.edited:.6f}")
        return await self._drafts.message(draft) if await self._drafts.is_meant(draft) else None

    async def complete(
        self, message: InboundMessage, said: Draft, *, first: bool
    ) -> InboundMessage:
        """The whole message, with its thread before the `first` one."""
        return await self._drafts.message(said, first=first)

    async def tell(self, message: InboundMessage, said: Draft, receipt: Receipt) -> None:
        """Fetch a message's files, and send its author a reply."""
        if message.awaited:
            await self._fetching.look()
        if receipt.reply and said.user and not said.bot:
            await self._replies.send(replace(said, message=message), receipt.reply)

    # --- cards ---

    async def offer(self, card: OfferCard, key: ConversationKey, text: str) -> str:
        """Post a card in a thread."""
        posted = await self._calls.write(
            key.workspace,
            "chat.postMessage",
            channel=key.channel,
            thread_ts=key.root,
            text=text,
            blocks=card_blocks(text, before(card.first)),
        )
        return ts_at(posted, "ts") or "0"

    async def offered(self, card: OfferCard, cursor: str) -> Page[Draft]:
        """Messages that a card offers, as far as readable now."""
        after = before(card.first)
        excerpt = None if cursor else await self._threads.read(card.place, after=after)
        if excerpt is None:
            raise RateLimited(MINUTE)
        said = [each for each in excerpt.messages if _at(each) > float(after)]
        cursor = "" if excerpt.whole else ts_at(excerpt.messages[-1], "ts")
        return Page(said=self._found(card.place, said), cursor=cursor or None)

    async def settle(self, card: OfferCard, text: str, *, rest: str = "") -> None:
        """Let a card say that it was used."""
        place, blocks = card.place, card_blocks(text, rest)
        where = {"channel": place.channel, "ts": card.id}
        await self._calls.write(place.workspace, "chat.update", **where, text=text, blocks=blocks)


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
