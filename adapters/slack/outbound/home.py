"""A person's own page: Slack's Home tab.

See https://docs.slack.dev/surfaces/app-home and
https://docs.slack.dev/reference/methods/views.publish: 100 blocks, and none of those that
messages alone take.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.slack.action_ids import HOME, Block, plain, section
from adapters.slack.connection.web_api import Calls, Refusal
from adapters.slack.outbound.arguments import argument_blocks
from adapters.slack.outbound.blocks import (
    LINK,
    Own,
    asking,
    context,
    mrkdwn,
    pieces,
    request_buttons,
)
from gateway.adapter import NOT_ALLOWED
from gateway.conversation import Author
from gateway.homes import Home, HomeRequest, HomeThread, Visit
from gateway.render.arguments import plain_text
from gateway.render.plain_words import without_marks
from gateway.render.sanitize import label, sanitize

LOG = logging.getLogger("adapters.slack")

WAITING_VISITS = 1_000
"""Visits that wait to be looked at; of more, the newest are left out."""
MOST_TEAMS = 10
PIECE = 2_000
"""Characters of the teams together, of the threads, and of the usage."""
LONG = 1_500
"""Characters of a question or of arguments, above which they stand in the thread alone."""
ROOM = 6_000
"""Characters, as JSON's, of all requests: messages take about 13,000, and pages are not known to
take more.
"""
MOST_BLOCKS = 80
"""Blocks above the threads and the usage, which have at most 10."""
OFF = (
    "the Home tab is off, so that people see no page: switch it on under App Home "
    "(`parley slack manifest` prints all settings)"
)
DIRECT = "Write to me under *Messages*, or reply in a thread of mine."
MENTION = "Mention me in a channel that I am in, or reply in a thread of mine."
BOTH = "Write to me under *Messages*, or mention me in a channel that I am in."
IN_THREAD = "Answer it in its thread, which shows all of it."

WhoIs = Callable[[str, str], Awaitable[Author]]


class HomeTabs:
    """The Home tabs of all people, as the gateway's own pages.

    `who_is` looks up a person of a workspace, `remark` tells the operator what Slack did not
    permit, `own` writes a line of the gateway's own as mrkdwn.
    """

    def __init__(
        self, calls: Calls, who_is: WhoIs, remark: Callable[[str], None], own: Own
    ) -> None:
        self._calls = calls
        self._who_is = who_is
        self._remark = remark
        self._own = own
        self._visits = asyncio.Queue[tuple[str, str]](WAITING_VISITS)

    def visit(self, team: str, user: str) -> None:
        """Note that somebody opens their page."""
        if not self._visits.full():
            self._visits.put_nowait((team, user))

    async def next_visit(self) -> Visit:
        """Wait for the next person who opens their page."""
        team, user = await self._visits.get()
        return Visit(person=(await self._who_is(team, user)).id, workspace=team)

    async def visitor(self, visit: Visit) -> Author:
        """The person as Slack knows them now."""
        return await self._who_is(visit.workspace, _user(visit))

    async def show_home(self, visit: Visit, home: Home) -> None:
        """Publish a person's page."""
        view = {"type": "home", "callback_id": HOME, "blocks": home_blocks(home, self._own)}
        try:
            await self._calls.write(
                visit.workspace, "views.publish", user_id=_user(visit), view=view
            )
        except Refusal as error:
            if error.code == "not_enabled":
                self._remark(OFF)
            raise


def _user(visit: Visit) -> str:
    return visit.person.rpartition(":")[2]


def home_blocks(home: Home, own: Own) -> list[Block]:
    """The blocks of a page. Pure."""
    blocks = [*_teams(home), {"type": "divider"}, _header("Waiting for you")]
    more, room = home.more, ROOM
    for number, request in enumerate(home.requests):
        found = _request(request, number)
        room -= len(str(found))
        if room < 0 or len(blocks) + len(found) > MOST_BLOCKS:
            more = True
            break
        blocks += found
    if not home.requests:
        blocks.append(context("No request waits for you."))
    if more:
        blocks.append(context("More requests wait: see their threads."))
    if home.threads:
        blocks += [_header("Your last threads"), *_piece(_threads(home.threads))]
    if home.usage:
        blocks += [_header("Your usage"), *_piece(own(home.usage))]
    return blocks


def _header(text: str) -> Block:
    return {"type": "header", "text": plain(text)}


def _teams(home: Home) -> list[Block]:
    """The teams, and ways to ask them."""
    if not (home.teams or home.direct):
        return [section(NOT_ALLOWED)]
    lines = [
        f"*{mrkdwn(label(name, 80))}*" + (f": {mrkdwn(label(about, 250))}" if about else "")
        for name, about in home.teams[:MOST_TEAMS]
    ]
    how = BOTH if home.direct and home.channels else DIRECT if home.direct else MENTION
    return [_header("Ask the team"), *_piece("\n".join(lines)), section(how)]


def _request(asked: HomeRequest, number: int) -> list[Block]:
    """An open request with its buttons, which say where it is."""
    card, request = asked.card, asked.card.request
    where = f" <{card.link}|Open the thread>" if LINK.fullmatch(card.link) else ""
    blocks = [section(asking(card) + where)]
    if request.request_kind == "approval":
        if len(plain_text(request.shown_arguments)) > LONG:
            return [*blocks, context(IN_THREAD)]
        blocks += argument_blocks(request.shown_arguments) if request.tool else []
    else:
        said = mrkdwn(without_marks(sanitize(request.prompt)))
        if len(said) > LONG or request.request_kind == "choices":
            return [*blocks, *map(section, pieces(said, LONG)[:1]), context(IN_THREAD)]
        blocks += [section(said)] if said.strip() else []
    place = f"{asked.key.channel}/{asked.key.root}/{number}"
    buttons: list[dict[str, Any]] = [
        each for each in request_buttons(request) if each["type"] == "actions"
    ]
    rows = [each | {"block_id": f"{place}/{row}"} for row, each in enumerate(buttons)]
    return [*blocks, *rows]


def _piece(text: str) -> list[Block]:
    return [*map(section, pieces(text, PIECE)[:1])]


def _threads(threads: tuple[HomeThread, ...]) -> str:
    """The threads in lines, as mrkdwn."""
    lines: list[str] = []
    for each in threads:
        title = mrkdwn(label(each.title, 80)).replace("|", "\u2223") or "A thread"
        name = f"<{each.link}|{title}>" if LINK.fullmatch(each.link) else title
        lines.append(f"\u2022 {name}" + (" (waits for an answer)" if each.waiting else ""))
    return "\n".join(lines)
