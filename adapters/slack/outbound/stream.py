"""A message that Slack streams: what it was given so far, and what it is to be given next.

Only its own state and pure decisions; `streaming` makes the calls. The rules are those of
https://docs.slack.dev/reference/methods/chat.startStream and its siblings.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from adapters.slack.outbound.blocks import (
    DETAIL,
    UNSURE,
    Block,
    activity_line,
    context,
    feedback_block,
)
from adapters.slack.outbound.messages import MessageRef
from adapters.slack.outbound.text import cut, fence_end, heading, settled
from gateway.render.outbound import label
from gateway.surface import Activity, Part, Speech

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

_STATUS = {"running": "in_progress", "done": "complete", "failed": "error", "unknown": "error"}


@dataclass(slots=True, kw_only=True)
class Stream:
    """A growing message. `shown` is as much of the part's text as Slack was given, `thread` the
    text of its conversation's key, `key` the part's; times are in seconds since the epoch.
    """

    team: str
    channel: str
    thread: str
    ts: str
    key: str
    opened: float
    touched: float
    phase: Phase = "open"
    sent: str = ""
    marked: bool = False
    """Whether it carries the part's key."""
    begun: bool = False
    """Whether what stands before the text was given."""
    sent_activity: dict[str, Activity] = field(default_factory=dict[str, Activity])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def ref(self) -> MessageRef:
        """Where it stands."""
        return MessageRef(self.team, self.channel, self.ts)

    def is_old(self, now: float) -> bool:
        """Whether it is to be followed by a new one."""
        return now - self.opened > ROLLOVER

    def is_idle(self, now: float) -> bool:
        """Whether nothing was added for long."""
        return now - self.touched > IDLE

    def extended_by(self, text: str) -> bool:
        """Whether a text begins with what is shown."""
        return text.startswith(self.sent)

    def is_whole(self, text: str) -> bool:
        """Whether it was stopped in time, and the text that it shows still holds."""
        return self.phase == "stopped" and self.marked and self.extended_by(text)

    def has_sent(self, speech: Speech) -> bool:
        """Whether it shows all that the agent did."""
        return not [*self._tasks(speech, after=False), *self._tasks(speech, after=True)]

    def stable_text(self, text: str) -> str:
        """The beginning of a growing text that may be shown now, and will stay."""
        steady = settled(text)
        return steady if len(steady) > len(self.sent) else self.sent

    def final_text(self, text: str) -> str:
        """The beginning of a growing text with which this message may end; never less than is
        shown already, unless that is not what the text says any more.
        """
        end = cut(settled(text))
        return self.sent if self.extended_by(text) and len(end) < len(self.sent) else end

    def next_chunks(self, part: Part, speech: Speech, text: str, *, named: bool) -> list[Chunk]:
        """What it takes to show this text, which `extended_by` allows, and the activity."""
        acts, leaves = self._tasks(speech, after=False), self._tasks(speech, after=True)
        said = text[len(self.sent) :]
        if not self.begun:
            said = heading(speech, named=named) + said
        texts: list[Chunk] = [{"type": "markdown_text", "text": said}] if said else []
        first: list[Chunk] = []
        if not self.begun and part.unsure:
            first.append({"type": "blocks", "blocks": [context(UNSURE)]})
        begun = [*texts, *acts] if self.sent else [*acts, *texts]
        return [*first, *begun, *leaves]

    def mark_sent(self, speech: Speech, text: str, now: float) -> None:
        """Slack has taken them."""
        self.sent = text
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
    """What stands under an agent's finished message."""
    return [feedback_block(part.key)] if feedback and speech.text and not speech.resuming else []


def fence_chunks(text: str) -> list[Chunk]:
    """What a message adds to a text that ends within a block of code."""
    end = fence_end(text)
    return [{"type": "markdown_text", "text": end}] if end else []


def _task(activity: Activity, told: Activity | None) -> Chunk:
    if activity.kind == "handoff":
        return {"type": "blocks", "blocks": [context(activity_line(activity))]}
    chunk: Chunk = {
        "type": "task_update",
        "id": activity.id,
        "title": label(activity.title, 150) or "\u2026",
        "status": _STATUS[activity.status],
    }
    if activity.detail and (told is None or not told.detail):  # what is given twice is added
        chunk["output"] = label(activity.detail, DETAIL)
    return chunk
