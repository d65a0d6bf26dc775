"""A streamed message: its sent text and its next chunks.

Only its own state and pure decisions; `message_streams` makes the calls. The rules are those of
https://docs.slack.dev/reference/methods/chat.startStream and its siblings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from adapters.slack.outbound.blocks import (
    DETAIL,
    UNSURE,
    Block,
    activity_line,
    context,
    feedback_block,
    heading,
    rest,
)
from adapters.slack.outbound.own_messages import MessageRef
from adapters.slack.outbound.text import cut, fence_end, settled
from gateway.render.links import dead_links
from gateway.render.sanitize import label
from gateway.surface import Activity, ActivityStatus, Part, Place, Speech

Chunk: TypeAlias = dict[str, Any]
Phase: TypeAlias = Literal["open", "stopped", "user_stopped", "broken"]
"""`stopped`: it takes no more, and shows what it was given. `user_stopped`: somebody pressed Stop.
`broken`: nobody knows what it shows.
"""

ROLLOVER = 240.0
"""Seconds after which a stream is followed by a new one: Slack ends it after about 300."""
IDLE = 60.0
"""Seconds without anything new after which a stream is stopped."""
TASKS = 40
"""Task cards of one stream: a message holds 50 blocks."""

_STATUS: dict[ActivityStatus, str] = {
    "running": "in_progress",
    "done": "complete",
    "failed": "error",
    "unknown": "error",
    "stopped": "error",
}


@dataclass(slots=True, kw_only=True)
class Stream:
    """A growing message.

    `sent` is as much of the part's text as Slack was given, `shown` the same with dead links, `key`
    the part's; times are in seconds since the epoch.
    """

    place: Place
    channel: str
    ts: str
    key: str
    opened: float
    touched: float
    phase: Phase = "open"
    sent: str = ""
    shown: str = ""
    marked: bool = False
    """True if it carries the part's key."""
    begun: bool = False
    """True once the heading was sent."""
    sent_activity: dict[str, Activity] = field(default_factory=dict[str, Activity])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def ref(self) -> MessageRef:
        """The message."""
        return MessageRef(self.place.key.workspace, self.channel, self.ts)

    @property
    def has_dead_links(self) -> bool:
        """True if some of its links wait for the end."""
        return self.shown != self.sent

    def is_old(self, now: float) -> bool:
        """True if a new stream is to follow."""
        return now - self.opened > ROLLOVER

    def is_idle(self, now: float) -> bool:
        """True if nothing was added for long."""
        return now - self.touched > IDLE

    def extended_by(self, text: str) -> bool:
        """True if a text begins with the sent text."""
        return text.startswith(self.sent)

    def is_whole(self, text: str) -> bool:
        """True if it was stopped whole, and its text still holds."""
        return self.phase == "stopped" and self.marked and self.extended_by(text)

    def has_sent(self, speech: Speech) -> bool:
        """True if all activity was sent."""
        return not [*self._tasks(speech, after=False), *self._tasks(speech, after=True)]

    def stable_text(self, text: str) -> str:
        """The beginning of a growing text that will not change."""
        steady = settled(text)
        return steady if len(steady) > len(self.sent) else self.sent

    def final_text(self, text: str) -> str:
        """The text with which this message may end.

        Never less than was sent, unless the text has changed.
        """
        end = cut(settled(text))
        return self.sent if self.extended_by(text) and len(end) < len(self.sent) else end

    def next_chunks(
        self, part: Part, speech: Speech, text: str, *, named: bool, hosts: Collection[str]
    ) -> list[Chunk]:
        """The chunks for this text and the activity.

        The text must be `extended_by`; while it grows, only these hosts have links.
        """
        earlier, later = self._tasks(speech, after=False), self._tasks(speech, after=True)
        new_text = text[len(self.sent) :]
        if speech.growing:
            new_text = dead_links(text, hosts).removeprefix(self.shown)
        texts: list[Chunk] = [{"type": "markdown_text", "text": new_text}] if new_text else []
        head: list[Block] = []
        if not self.begun:
            head = [*([context(UNSURE)] if part.unsure else []), *heading(speech, named=named)]
        first: list[Chunk] = [{"type": "blocks", "blocks": head}] if head else []
        begun = [*texts, *earlier] if self.sent else [*earlier, *texts]
        return [*first, *begun, *later]

    def mark_sent(self, speech: Speech, text: str, now: float, *, hosts: Collection[str]) -> None:
        """Note that Slack has taken the chunks."""
        self.sent, self.shown = text, dead_links(text, hosts)
        self.begun = True
        self.touched = now
        self.sent_activity |= {each.id: each for each in speech.activity[:TASKS]}

    def _tasks(self, speech: Speech, *, after: bool) -> list[Chunk]:
        acts = [each for each in speech.activity[:TASKS] if each.after is after]
        new = [each for each in acts if self.sent_activity.get(each.id) != each]
        return [_task(each, self.sent_activity.get(each.id)) for each in new if self._is_news(each)]

    def _is_news(self, activity: Activity) -> bool:
        return activity.kind == "tool" or activity.id not in self.sent_activity


def closing(part: Part, speech: Speech, *, feedback: bool) -> list[Block]:
    """The blocks under an agent's finished message."""
    rated = feedback and speech.text and speech.last and not (speech.resuming or speech.mark)
    return [*rest(speech), *([feedback_block(part.key)] if rated else [])]


def fence_chunks(text: str) -> list[Chunk]:
    """The chunks that close a message's open block of code."""
    end = fence_end(text)
    return [{"type": "markdown_text", "text": end}] if end else []


def _task(activity: Activity, sent: Activity | None) -> Chunk:
    if activity.kind == "handoff":
        return {"type": "blocks", "blocks": [context(activity_line(activity))]}
    chunk: Chunk = {
        "type": "task_update",
        "id": activity.id,
        "title": label(activity.title, 150) or "\u2026",
        "status": _STATUS[activity.status],
    }
    if activity.detail and (sent is None or not sent.detail):  # what is given twice is added
        chunk["output"] = label(activity.detail, DETAIL)
    return chunk
