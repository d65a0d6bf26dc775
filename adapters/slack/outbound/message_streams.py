"""Agents' messages: streamed where possible, else posted and updated.

A stream is appended to only while it is known what it shows. After anything else (no answer came,
Slack has ended it, the text was changed) it is stopped, and one chat.update sets it right. So is a
text with a table or a task list: a block of Markdown shows them, which nobody promises for streamed
text (https://docs.slack.dev/reference/block-kit/blocks/markdown-block).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

from adapters.slack.connection.rate_limits import APPEND, START, STOP
from adapters.slack.connection.web_api import Refusal
from adapters.slack.outbound.blocks import metadata, speech_blocks
from adapters.slack.outbound.notification import summary
from adapters.slack.outbound.own_messages import MessageRef, Messages
from adapters.slack.outbound.paced_calls import PacedCalls
from adapters.slack.outbound.refusals import Refusals
from adapters.slack.outbound.stream import Chunk, Stream, closing, fence_chunks
from adapters.slack.outbound.text import needs_block, opening
from adapters.slack.outbound.thread_status import ThreadStatuses
from gateway.adapter import AuthError
from gateway.base.describe import describe
from gateway.errors import GatewayError
from gateway.pacing.limits import Rank
from gateway.render.links import dead_links
from gateway.render.split import with_closed_fence
from gateway.surface import (
    MessageFull,
    OutcomeUnknown,
    Part,
    Place,
    PlatformUnreachable,
    RateLimited,
    Speech,
)

LOG = logging.getLogger("adapters.slack")

ENOUGH = 0.25
"""Level that chat.startStream's bucket needs for one more stream."""
LIFETIME = 600.0
"""Seconds after which a stream that we know nothing of runs no more for sure."""

FORGOTTEN = 3600.0
"""Seconds after which a stream is none any more to us."""

ENDED = "message_not_in_streaming_state"
LEFT = "stopped_by_user"
CONFLICT = "streaming_state_conflict"
_TOO_LONG = frozenset({"msg_too_long", "msg_blocks_too_long", "msg_blocks_too_many"})

LONGEST = 11_500
"""Characters of a text that is not streamed while it grows: dead links take two more each."""


class MessageStreams:
    """The streams of agents' messages."""

    def __init__(self, calls: PacedCalls, messages: Messages, statuses: ThreadStatuses) -> None:
        self._calls = calls
        self._messages = messages
        self._statuses = statuses
        self._streams: dict[MessageRef, Stream] = {}
        self._refusals = Refusals(calls)

    def open_stream_at(self, place: Place) -> Stream | None:
        """A message that grows in the place's thread, the newest."""
        streams = self._streams.values()
        found = [s for s in streams if s.place.key == place.key and s.phase == "open"]
        return found[-1] if found else None

    def knows(self, ref: MessageRef) -> bool:
        """True if this process has made the message as a stream."""
        return ref in self._streams

    def count_open(self, team: str) -> int:
        """Number of open streams in a workspace."""
        streams = self._streams.values()
        return sum(s.place.key.workspace == team and s.phase == "open" for s in streams)

    def as_it_grows(self, speech: Speech) -> Speech:
        """An agent's text; while it grows, with dead links."""
        if not speech.growing:
            return speech
        text = dead_links(speech.text, self._calls.live_links())
        return replace(speech, text=text[:LONGEST])

    def may_stream(self, place: Place) -> bool:
        """True if a new message here would be streamed now."""
        if not place.key.root or self._refusals.hold(place):
            return False
        return self._calls.bucket(place, START).level >= ENOUGH

    async def try_reserve(self, place: Place) -> bool:
        """Reserve a stream for the next message; False if not possible."""
        if not place.key.root or self._refusals.hold(place):
            return False
        return await self._calls.try_reserve(place, START, above=ENOUGH)

    def begins(self, place: Place, speech: Speech) -> bool:
        """True if a stream can begin with this text.

        Where it is posted and updated, any text can.
        """
        if not speech.growing or not place.key.root or self._refusals.hold(place):
            return True
        return bool(self._begun(place, Part(key="", content=speech), speech)[2])

    def _begun(self, place: Place, part: Part, speech: Speech) -> tuple[Stream, str, list[Chunk]]:
        """A new stream with its first text and chunks.

        No chunks: it is not known how it begins before the next token.
        """
        now = self._calls.clock.time()
        stream = Stream(
            place=place,
            channel=place.key.channel,
            ts="",
            key=part.key,
            opened=now,
            touched=now,
        )
        text = opening(speech.text)
        return stream, text, self._next_chunks(stream, part, speech, text)

    async def start(self, place: Place, part: Part, speech: Speech) -> str | None:
        """Start a stream; None where it can't be streamed."""
        key = place.key
        hosts = self._calls.live_links()
        stream, text, chunks = self._begun(place, part, speech)
        if not chunks:  # it may not have been asked whether it begins
            return None
        team, user = self._calls.asker(place)
        arguments: dict[str, Any] = {
            "channel": key.channel,
            "thread_ts": key.root,
            "recipient_team_id": team,
            "recipient_user_id": user,
            "chunks": chunks,
            **self._calls.looks(place, speech.agent),
        }
        await self._statuses.open(place)
        try:
            answer = await self._calls.write(place, START, **arguments)
        except RateLimited:
            return None
        except Refusal as error:
            if (owner := self._refusals.note(place, error)) is None:
                raise
            LOG.warning(
                "Slack does not stream in %s/%s for this %s (%s): it is posted and updated",
                *(key.workspace, key.channel, owner, error.code),
            )
            return None
        stream.ts, stream.channel = str(answer["ts"]), str(answer.get("channel") or key.channel)
        stream.mark_sent(speech, text, self._calls.clock.time(), hosts=hosts)
        self._streams[stream.ref] = stream
        return self._messages.id_of(place, stream.channel, stream.ts)

    async def edit(self, place: Place, ref: MessageRef, part: Part, speech: Speech) -> None:
        """Change an agent's message."""
        stream = self._streams.get(ref)
        if stream is None:
            await self._edit_posted(place, ref, part, speech)
            return
        async with stream.lock:
            stream.place = place
            try:
                await self._edit(stream, part, speech)
            except asyncio.CancelledError:  # what was under way may have arrived
                stream.phase = "broken"
                raise

    async def _edit(self, stream: Stream, part: Part, speech: Speech) -> None:
        match stream.phase:
            case "open" if speech.growing:
                await self._grow(stream, part, speech)
            case "open":
                await self._finish(stream, part, speech)
            case "user_stopped" if speech.growing:
                return
            case _:
                await self._repair(stream, part, speech)

    async def end(self, place: Place, ref: MessageRef) -> None:
        """End a message's stream as it is, and forget it."""
        stream = self._streams.get(ref)
        if stream is None:
            if not self._messages.is_ours(ref):
                await self._stop_unknown(place, ref)
            return
        async with stream.lock:
            if stream.phase in ("open", "broken"):
                await self._stop_bare(stream)
            self._forget(stream)

    async def stop_idle(self) -> None:
        """Stop idle and old streams; forget dead ones."""
        now = self._calls.clock.time()
        for stream in [*self._streams.values()]:
            if stream.phase == "open" and (stream.is_idle(now) or stream.is_old(now)):
                await self._close_idle(stream)
            elif now - stream.touched > FORGOTTEN:
                self._streams.pop(stream.ref, None)

    async def stop_all(self) -> None:
        """Stop every stream; the texts go on after a restart."""
        async with asyncio.TaskGroup() as group:
            for stream in self._streams.values():
                if stream.phase == "open":
                    group.create_task(self._close_idle(stream), name=f"stops {stream.ts}")

    async def _grow(self, stream: Stream, part: Part, speech: Speech) -> None:
        """Append new text, or move on to a new message."""
        now = self._calls.clock.time()
        if stream.is_idle(now):
            await self._roll_over(stream, part, speech, text=stream.sent)
        elif stream.is_old(now):
            await self._roll_over(stream, part, speech, text=stream.final_text(speech.text))
        elif stream.extended_by(speech.text):  # else the end sets it right
            text = stream.stable_text(speech.text)
            if chunks := self._next_chunks(stream, part, speech, text):
                await self._append(stream, part, speech, text=text, chunks=chunks)

    def _next_chunks(self, stream: Stream, part: Part, speech: Speech, text: str) -> list[Chunk]:
        named, hosts = self._calls.named(stream.place), self._calls.live_links()
        return stream.next_chunks(part, speech, text, named=named, hosts=hosts)

    async def _append(
        self,
        stream: Stream,
        part: Part,
        speech: Speech,
        *,
        text: str,
        chunks: list[Chunk],
    ) -> None:
        try:
            await self._calls.write(
                stream.place, APPEND, channel=stream.channel, ts=stream.ts, chunks=chunks
            )
        except Refusal as error:
            if error.code == LEFT:
                stream.phase = "user_stopped"
                return
            if error.code in _TOO_LONG:
                await self._roll_over(stream, part, speech, text=stream.sent)
            if error.code != ENDED:
                LOG.warning("a stream was broken off: %s", describe(error))
            stream.phase = "stopped" if error.code == ENDED else "broken"
            await self._repair(stream, part, speech)
        except OutcomeUnknown:
            stream.phase = "broken"
            await self._repair(stream, part, speech)
        else:
            hosts = self._calls.live_links()
            stream.mark_sent(speech, text, self._calls.clock.time(), hosts=hosts)

    async def _roll_over(self, stream: Stream, part: Part, speech: Speech, *, text: str) -> None:
        """End the message with as much of the text. Raises MessageFull."""
        rest = replace(speech, text=text, growing=False)
        if stream.extended_by(speech.text):
            await self._finish(stream, part, rest, feedback=False)
        else:
            stream.phase = "broken"
            rest = replace(rest, text=stream.final_text(speech.text))
            await self._repair(stream, part, rest, feedback=False)
        raise MessageFull(rest.text)

    async def _finish(
        self, stream: Stream, part: Part, speech: Speech, *, feedback: bool = True
    ) -> None:
        """Stop the stream with all of the text; repair it if needed."""
        chunks: list[Chunk] = []
        extended = stream.extended_by(speech.text)
        if extended:
            chunks = self._next_chunks(stream, part, speech, speech.text)
            chunks += fence_chunks(speech.text)
        below = closing(part, speech, feedback=feedback)
        try:
            await self._stop(stream, chunks=chunks or None, blocks=below or None)
        except Refusal as error:
            if error.code in _TOO_LONG and extended and speech.text != stream.sent:
                if not await self._stop_bare(stream):
                    raise PlatformUnreachable("Slack has not ended a stream yet.") from error
                self._forget(stream)
                raise MessageFull(stream.sent) from error
            if error.code != ENDED:
                LOG.warning("a stream could not be ended: %s", describe(error))
            stream.phase = "stopped" if error.code == ENDED else "broken"
        except OutcomeUnknown:
            stream.phase = "broken"
        else:
            redone = needs_block(speech.text) or stream.has_dead_links
            if extended and not speech.resuming and not redone:
                self._forget(stream)
                return
            stream.phase = "stopped"
        await self._repair(stream, part, speech, feedback=feedback)

    async def _repair(
        self, stream: Stream, part: Part, speech: Speech, *, feedback: bool = True
    ) -> None:
        """Update a stopped message to its text.

        Raises MessageFull where the text goes on: the next of it is a new stream.
        """
        whole = stream.is_whole(speech.text)
        if stream.phase == "broken":
            await self._stop_bare(stream)
            stream.phase = "broken"  # until the update has said what it shows
        text = speech.text
        if speech.growing:
            text = stream.sent if whole else stream.final_text(text)
        redone = needs_block(text) or stream.has_dead_links
        if not (speech.growing and whole and stream.has_sent(speech)) or redone:
            shown = replace(speech, text=text, growing=False)
            feedback = feedback and not speech.growing
            try:
                await self._update(stream.place, stream.ref, part, shown, feedback=feedback)
            except Refusal as error:
                if error.code != CONFLICT:
                    raise
                stream.phase = "broken"
                raise PlatformUnreachable(
                    "Slack is still streaming a message that has ended."
                ) from error
        self._forget(stream)
        if speech.growing:
            raise MessageFull(text)

    async def _edit_posted(self, place: Place, ref: MessageRef, part: Part, speech: Speech) -> None:
        """Change a message that is not known to stream."""
        if not self._messages.is_ours(ref):
            await self._stop_unknown(place, ref)
        try:
            await self._update(place, ref, part, speech, feedback=not speech.growing)
        except Refusal as error:
            if error.code != CONFLICT:
                raise
            await self._stop_left(place, ref)  # with a clock that is ahead it seemed to be old
            await self._update(place, ref, part, speech, feedback=not speech.growing)
        self._messages.add(ref)

    async def _stop_unknown(self, place: Place, ref: MessageRef) -> None:
        """Stop a stream that an earlier run may have left open."""
        try:
            age = self._calls.clock.time() - float(ref.ts)
        except ValueError:
            return
        if age <= LIFETIME:
            await self._stop_left(place, ref)

    async def _stop_left(self, place: Place, ref: MessageRef) -> None:
        try:
            await self._calls.write(place, STOP, rank=Rank.URGENT, channel=ref.channel, ts=ref.ts)
        except (Refusal, OutcomeUnknown) as error:
            LOG.debug("a message of an earlier run does not stream: %s", describe(error))

    async def _stop(self, stream: Stream, **arguments: Any) -> None:
        await self._calls.write(
            stream.place,
            STOP,
            rank=Rank.URGENT,
            channel=stream.channel,
            ts=stream.ts,
            metadata=metadata(stream.key),
            session_status=self._statuses.status(
                stream.place
            ),  # else it would look as if all was done
            **arguments,
        )
        stream.marked = True

    async def _stop_bare(self, stream: Stream, **arguments: Any) -> bool:
        """Stop the stream as it is; False if Slack refuses."""
        try:
            await self._stop(stream, **arguments)
        except Refusal as error:
            if error.code not in (ENDED, LEFT):
                LOG.warning("a stream could not be ended: %s", describe(error))
                stream.phase = "broken"
                return False
        stream.phase = "stopped"
        return True

    async def _close_idle(self, stream: Stream) -> None:
        """Stop an idle stream; its next text is a new message."""
        async with stream.lock:
            if stream.phase != "open":
                return
            try:
                await self._stop_bare(stream, chunks=fence_chunks(stream.sent) or None)
            except (RateLimited, PlatformUnreachable):
                return  # there will be another time
            except AuthError:
                raise
            except GatewayError as error:
                LOG.info("it is not known whether a stream has ended: %s", error)
                stream.phase = "broken"

    async def _update(
        self, place: Place, ref: MessageRef, part: Part, speech: Speech, *, feedback: bool
    ) -> None:
        named = self._calls.named(place)
        shown = self.as_it_grows(speech)
        whole = replace(shown, text=with_closed_fence(shown.text))
        blocks = speech_blocks(part, whole, named=named, feedback=feedback)
        text = summary(replace(part, content=speech), self._calls.own)
        await self._messages.update(place, ref, part.key, blocks=blocks, text=text)

    def _forget(self, stream: Stream) -> None:
        self._streams.pop(stream.ref, None)
        self._messages.add(stream.ref)
