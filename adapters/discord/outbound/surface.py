"""Discord as a surface: messages, edits, cards and files in threads."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from adapters.bounded_cache import BoundedCache
from adapters.dead_ends import DeadEnds
from adapters.discord.config import PLATFORM
from adapters.discord.connection.message_body import CONTENT, Message, length, neutral
from adapters.discord.connection.rest import (
    OLD_MESSAGE_EDITS,
    THREAD_ARCHIVED,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    ApiError,
    Rest,
)
from adapters.discord.connection.values import snowflake
from adapters.discord.conversations.locked_threads import is_locked
from adapters.discord.conversations.threads import (
    LONGEST_NAME,
    UNTITLED,
    MessageTarget,
    MessageTargets,
)
from adapters.discord.outbound.avatars import Avatars
from adapters.discord.outbound.payloads import render_part, room_of, user_ids
from adapters.discord.outbound.progress import react
from adapters.discord.outbound.tables import render_tables
from adapters.discord.outbound.webhooks import LOST, Webhooks
from adapters.discord.read_message import read_message
from adapters.progress import Mark, ProgressMarks
from adapters.tolerated import tolerated
from gateway.adapter import AuthError
from gateway.errors import GatewayError
from gateway.pacing.limits import Caller, Rank
from gateway.render.links import dead_links
from gateway.render.sanitize import label
from gateway.surface import (
    AT_WORK,
    BusyState,
    Card,
    Document,
    MessageGone,
    Obstacle,
    OutcomeUnknown,
    Part,
    Place,
    RateLimited,
    Speech,
    TextLimits,
    Use,
)

LOG = logging.getLogger("adapters.discord")

LIMITS = TextLimits(
    message=CONTENT,
    messages=3,
    whole=6000,
    file=10_000_000,
    edit_within=3600,
    tells_length=True,
)

NONCE_SECONDS = 180.0
"""The seconds for which Discord knows a message's nonce and makes no second message for it."""
TYPING_SECONDS = 9.0
"""Discord shows for ten that somebody types."""
BUSY_SECONDS = 120.0
LOOKUP_MESSAGES = 100


class DiscordSurface:
    """A TextSurface that edits, finds, paces, shows typing, and names threads.

        async with DiscordSurface(rest, targets, user, live_links) as surface: ...

    `user` is the bot's own id; with `webhooks`, agents write under their own names. Without
    `dead_ends` nobody is told directly that a place can't be written to. `clock` gives the seconds
    since the epoch. Leaving it ends its typing.
    """

    people = PLATFORM
    avatars: Avatars | None = None
    """Pictures of agents; without them, nothing is uploaded."""
    mark: Mark
    length = staticmethod(length)
    room = staticmethod(room_of)

    def __init__(
        self,
        rest: Rest,
        targets: MessageTargets,
        user: str,
        live_links: Callable[[], Collection[str]],
        webhooks: Webhooks | None = None,
        *,
        limits: TextLimits = LIMITS,
        dead_ends: DeadEnds | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.limits = limits
        self.platform = rest.account
        self._clock = clock
        self.thumbs = False
        """Whole answers have buttons with which people rate them."""
        self._rest = rest
        self._targets = targets
        self._user = user
        self._live_links = live_links
        self._webhooks = webhooks
        self._dead_ends = dead_ends
        self._seen = BoundedCache[str, str](10_000)
        self.note_nonce = self._seen.put
        """Told the nonce and the id of a message of the bot's own."""
        self._names = BoundedCache[str, str](1_000)
        self._busy: dict[str, float] = {}
        self._group = asyncio.TaskGroup()
        self._typing: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        for task in self._typing.values():
            task.cancel()
        await self._group.__aexit__(*error)

    def show_progress(self) -> ProgressMarks:
        """Mark people's messages; whoever asks runs what comes back."""
        marks = ProgressMarks(partial(react, self._rest, self._find_target), self._clock)
        self.mark = marks.mark
        return marks

    def neutral(self, text: str) -> str:
        """An agent's text without pings or hidden links, with readable tables."""
        return render_tables(neutral(text))

    def _as_it_grows(self, part: Part) -> Part:
        """A part as it grows: with dead links."""
        speech = part.content
        if not isinstance(speech, Speech) or not speech.growing:
            return part
        text = dead_links(speech.text, self._live_links())
        return replace(part, content=replace(speech, text=text))

    def rendered(self, part: Part) -> str:
        """A growing part as it would be sent by now."""
        return str(self._render(part).body())

    def _render(self, part: Part, *, named: bool = True, mark: str = "") -> Message:
        grown = self._as_it_grows(part)
        return render_part(grown, named=named, mark=mark, thumbs=self.thumbs)

    async def post(self, place: Place, part: Part) -> str:
        """Write a new message; its id."""
        message: str = await self._in_place(place, lambda target: self._post(place, target, part))
        if self._dead_ends is not None:
            self._dead_ends.clear(place.key)
        return message

    async def root(self, place: Place, message: str) -> str:
        """The root of a fork: its thread or its first message."""
        target = await self._find_target(place)
        if target.thread:
            return target.channel
        with tolerated(LOG, "open the thread of a fork"):
            await self._targets.begin_fork(place.key, message, "".join(user_ids([place.asker])))
        return message

    async def edit(self, place: Place, message: str, part: Part) -> None:
        """Let a message say this instead."""
        rank = (
            Rank.LATER if isinstance(part.content, Speech) and part.content.growing else Rank.URGENT
        )
        named = "/" not in message
        mark = await self._mark(place, part) if named else ""
        body = self._render(part, named=named, mark=mark).body()

        async def edit(target: MessageTarget) -> None:
            if named:
                path = f"/channels/{target.channel}/messages/{message}"
                await self._rest.call("PATCH", path, json=body, rank=rank, caller=Caller.at(place))
            elif self._webhooks is None:
                raise MessageGone(LOST)
            else:
                await self._webhooks.edit(place, target, message, body, rank)

        try:
            await self._in_place(place, edit)
        except ApiError as error:
            if error.code == UNKNOWN_MESSAGE:
                raise MessageGone("The message was deleted.", deleted=True) from error
            if error.code == OLD_MESSAGE_EDITS:
                raise RateLimited(60.0) from error
            raise

    async def remove(self, place: Place, message: str) -> None:
        """Remove a message that `post` made."""

        async def remove(target: MessageTarget) -> None:
            if "/" not in message:
                path = f"/channels/{target.channel}/messages/{message}"
                await self._rest.call("DELETE", path, rank=Rank.URGENT)
            elif self._webhooks is not None:
                await self._webhooks.remove(place.key, target, message)

        try:
            await self._in_place(place, remove)
        except ApiError as error:
            if error.code == UNKNOWN_MESSAGE:
                raise MessageGone("The message was deleted.") from error
            raise

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        """The id of a message that was posted with this key.

        It is looked for even while Discord knows the nonce: whoever posts it again may wait, or be
        suspended, until Discord has forgotten it.
        """
        if seen := self._seen.get(key):
            return seen
        target = await self._find_target(place)
        messages = await self._rest.call(
            "GET",
            f"/channels/{target.channel}/messages",
            query={"after": str(snowflake(since - 60)), "limit": str(LOOKUP_MESSAGES)},
        )
        unknown = len(messages) == LOOKUP_MESSAGES
        for message in messages:
            match self._is_part(message, key, since):
                case True:
                    return self._id_of(message)
                case False:
                    continue
                case None:
                    unknown = True
        if unknown:
            raise OutcomeUnknown("Discord no longer tells which message it was.")
        return None

    def _is_part(self, message: Mapping[str, Any], key: str, since: float) -> bool | None:
        """True if the message is that part; None if unknown."""
        if message["author"]["id"] == self._user:
            if nonce := str(message.get("nonce") or ""):
                return nonce == key
            # While Discord knows the nonce, the same one again makes no second message.
            return False if self._clock() - since < NONCE_SECONDS else None
        return self._webhooks.is_part(message, key) if self._webhooks else False

    def _id_of(self, message: Mapping[str, Any]) -> str:
        own = message["author"]["id"] == self._user
        return str(message["id"]) if own else f"{message['webhook_id']}/{message['id']}"

    async def ready(self, place: Place, use: Use) -> None:
        """Wait until a call of this kind may be made."""
        try:
            path = await self._path(place, use)
        except AuthError:
            raise
        except GatewayError:
            return  # the call itself will say what is wrong
        caller = Caller.at(place)
        match use:
            case "post" | "card":
                rank = Rank.POST if use == "post" else Rank.URGENT
                await self._rest.reserve("POST", path, caller, rank)
            case "edit":
                await self._rest.reserve("PATCH", path, caller, Rank.LATER)
            case "final":
                await self._rest.reserve("PATCH", path, caller, Rank.URGENT)

    def limit(self, use: Use) -> str:
        """The limit that such a call waits for."""
        return "new messages" if use in ("post", "card") else "edits"

    async def _path(self, place: Place, use: Use) -> str:
        """Where such a call goes, most likely."""
        target = await self._find_target(place)
        hook = (
            await self._webhooks.find_hook(place.key) if self._webhooks and use != "card" else None
        )
        messages = f"/channels/{target.channel}/messages"
        if use in ("post", "card"):
            return hook.path if hook else messages
        return f"{hook.path}/messages/{_ANY}" if hook else f"{messages}/{_ANY}"

    async def busy(self, place: Place, state: BusyState) -> None:
        """Type while the team works."""
        key = str(place.key)
        if state not in AT_WORK:
            self._busy.pop(key, None)
            if task := self._typing.pop(key, None):
                task.cancel()
            return
        self._busy[key] = asyncio.get_running_loop().time() + BUSY_SECONDS
        if key not in self._typing:
            task = self._group.create_task(self._type(place, key), name=f"typing in {key}")
            self._typing[key] = task

    async def _type(self, place: Place, key: str) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < self._busy.get(key, 0.0):
            with suppress(GatewayError):
                target = await self._find_target(place)
                await self._rest.call("POST", f"/channels/{target.channel}/typing", rank=Rank.LATER)
            await asyncio.sleep(TYPING_SECONDS)
        self._busy.pop(key, None)
        self._typing.pop(key, None)

    async def tell_asker(self, place: Place, obstacle: Obstacle) -> None:
        """Tell the asker directly why nothing can be written there."""
        if self._dead_ends is not None:
            await self._dead_ends.tell(place.key, place.asker, obstacle)

    async def rename(self, place: Place, title: str, *, given: bool = False) -> None:
        """Give the thread a title, if it has another one."""
        name = label(title, LONGEST_NAME)
        with tolerated(LOG, "rename a thread"):
            target = await self._find_target(place)
            known = self._names.get(target.channel) or target.name
            if not (target.thread and name) or known == name:
                return
            channel = await self._rest.call("GET", f"/channels/{target.channel}")
            # What people have opened or named is theirs, and what is locked stays as it is.
            own = channel.get("owner_id") == self._user and not is_locked(channel)
            began = known or await self._targets.title(place.key) or UNTITLED
            ours = own and (given or channel.get("name") == began)
            if ours and channel.get("name") != name:
                await self._rest.call("PATCH", f"/channels/{target.channel}", json={"name": name})
            self._names.put(target.channel, name)

    async def _find_target(self, place: Place) -> MessageTarget:
        return await self._targets.find(place.key, asker="".join(user_ids([place.asker])))

    async def _in_place(self, place: Place, call: Callable[[MessageTarget], Any]) -> Any:
        """Make a call where a conversation stands, also where that has changed."""
        target = await self._find_target(place)
        if target.thread:
            await self._targets.locked.check(target.channel)
        try:
            return await call(target)
        except ApiError as error:
            if error.code == THREAD_ARCHIVED:
                await self._unarchive(target)
                return await call(target)
            if error.code == UNKNOWN_CHANNEL:
                self._targets.forget(place.key)
            raise

    async def _unarchive(self, target: MessageTarget) -> None:
        await self._targets.locked.check_again(target.channel)
        await self._rest.call("PATCH", f"/channels/{target.channel}", json={"archived": False})

    async def _mark(self, place: Place, part: Part) -> str:
        """The emoji before the name of a part's agent."""
        if not isinstance(part.content, Speech | Document):
            return ""
        face = place.faces.face(part.content.agent)
        return await self.avatars.mark(face) if self.avatars else face.character

    async def _post(self, place: Place, target: MessageTarget, part: Part) -> str:
        agent = part.content.agent if isinstance(part.content, Speech | Document) else ""
        hooks = self._webhooks if agent and not target.reply_to else None
        if hooks is not None and await hooks.find_hook(place.key) is not None:
            message = self._render(part, named=False)
            avatar = await self.avatars.address(place.faces.face(agent)) if self.avatars else ""
            return await hooks.post(place, target, part.key, agent, message, avatar)
        message = self._render(part, mark=await self._mark(place, part))
        body = message.body(nonce=part.key, below=target.reply_to)
        rank = Rank.URGENT if isinstance(part.content, Card) else Rank.POST
        path = f"/channels/{target.channel}/messages"
        posted = await self._rest.call(
            "POST", path, json=body, files=message.files, rank=rank, caller=Caller.at(place)
        )
        message_id = str(posted["id"])
        self.note_nonce(part.key, message_id)
        if not message.files and read_message(posted).text != read_message(body).text:
            # An earlier try has arrived, which said less.
            await self._rest.call("PATCH", f"{path}/{message_id}", json=message.body())
        return message_id


_ANY = "0" * 18
"""Stands for any message's id, in a route."""
