"""Contents of people's own pages: open requests, threads, usage.

Each is looked at with the authority that rules on clicks and messages: what a person could not
answer or write to now does not stand on their page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from gateway.budgets.usage import UsageRules
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.items import with_names
from gateway.errors import NotFound
from gateway.homes import Home, HomeRequest, HomeThread, Visit
from gateway.registry import described
from gateway.runtime.lifecycle import GatewayParts
from gateway.sessions.human_requests import input_requested
from gateway.store.records import Request, Thread
from gateway.store.rulebook import UsageFound
from gateway.store.units import events as event_units
from gateway.store.units import homes, threads, usage
from gateway.surface import Card

MOST_REQUESTS, MOST_THREADS = 10, 10

Judge = Callable[[InboundMessage], Awaitable[InboundMessage]]


class Homes:
    """The contents of one gateway's pages; `judge` rules on messages."""

    def __init__(self, parts: GatewayParts, judge: Judge) -> None:
        self.parts = parts
        self._run = parts.store.run
        self._judge = judge

    async def open_requests(
        self, platform: str, known: Mapping[str, Request]
    ) -> dict[str, Request]:
        """The open requests of a platform, newest first."""
        found = dict[str, Request]()
        for each in await self._run(homes.open_requests, platform):
            try:
                found[each] = known.get(each) or await self._run(event_units.request, each)
            except NotFound:
                continue
        return found

    def is_theirs(self, author: Author, request: Request) -> bool:
        """True for an approval that they may decide, and their own question."""
        may = self.parts.using.access.operators.may_answer(author, request)
        return may and (request.kind == "approval" or request.asker == author.id)

    async def home(
        self, author: Author, platform: str, visit: Visit, requests: Mapping[str, Request]
    ) -> Home:
        """The person's page."""
        access, teams = self.parts.using.access, self.parts.using.teams
        here = ConversationKey(platform=platform, workspace=visit.workspace, channel="")
        direct = await self._may_write(author, here, direct=True)
        routes = access.open_to(author, here, direct=direct)
        names = [name for route in routes for name in (route.team or teams.default, *route.teams)]
        known = [teams.info(name) for name in dict.fromkeys(names) if name in teams.names()]
        shown, more = await self._requests(author, here, [*requests.values()])
        return Home(
            teams=tuple((each.name, described(each)) for each in known),
            direct=direct,
            channels=any(route.channels for route in routes),
            requests=tuple(shown),
            more=more,
            threads=tuple(await self._threads(author, here)),
            usage=await self._usage(author),
        )

    async def _requests(
        self, author: Author, here: ConversationKey, requests: list[Request]
    ) -> tuple[list[HomeRequest], bool]:
        shown: list[HomeRequest] = []
        now = self.parts.trust.now()
        for request in [each for each in requests if self.is_theirs(author, each)]:
            if request.expires_at is not None and request.expires_at <= now:
                continue
            thread = await self._thread_here(request.thread, here)
            named = author.id in request.approvers  # who may decide wherever they are asked
            if thread is None or not (named or await self._may_write_in(author, thread)):
                continue
            if len(shown) == MOST_REQUESTS:
                return shown, True
            names = self.parts.using.access.faces_of(thread.team).names
            card = Card(
                request=with_names(input_requested(request, ()), names),
                away=request.asker != author.id,
                link=await self._run(threads.link_of, request.turn),
            )
            shown.append(HomeRequest(card=card, key=thread.key))
        return shown, False

    async def _threads(self, author: Author, here: ConversationKey) -> list[HomeThread]:
        asked = await self._run(
            homes.asked_threads, author.id, here.platform, here.workspace, MOST_THREADS
        )
        found = [(await self._thread_here(each, here), link) for each, link in asked.items()]
        return [
            HomeThread(title=thread.title, link=link, waiting=thread.state == "waiting")
            for thread, link in found
            if thread is not None and await self._may_write_in(author, thread)
        ]

    async def _thread_here(self, thread: str, here: ConversationKey) -> Thread | None:
        """The thread with its place, if it is in this workspace."""
        try:
            found = await self._run(threads.thread, thread)
        except NotFound:
            return None
        place = (found.key.platform, found.key.workspace)
        return found if place == (here.platform, here.workspace) else None

    async def _may_write_in(self, author: Author, thread: Thread) -> bool:
        return await self._may_write(author, thread.key, direct=thread.direct)

    async def _may_write(self, author: Author, key: ConversationKey, *, direct: bool) -> bool:
        judged = await self._judge(InboundMessage(key=key, author=author, direct=direct))
        return judged.may_write

    async def _usage(self, author: Author) -> str:
        """The person's own use alone."""
        zone, now = self.parts.using.limits.timezone, self.parts.trust.now()
        rules = UsageRules(zone=zone, asker=author, operator=False, now=now)
        used = {
            each: await self._run(usage.spent, each.scope, each.name, each.since)
            for each in rules.queries(None)
        }
        return rules.text(UsageFound(thread=None, used=used))
