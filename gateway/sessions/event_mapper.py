"""Session events made of a run's messages and events.

Pure: it decides what is shown, somebody else stores and sends it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from gateway.content.sign_off import SignOff, split_sign_off
from gateway.content.sources import sources_of, with_sources
from gateway.content.task import USER
from gateway.events import (
    ContextSummarised,
    Ending,
    MessageFinished,
    SessionEvent,
    Source,
    SourcesFound,
    SpeakerStarted,
    TextDelta,
    Thought,
    Usage,
    WorkHandedOff,
)
from gateway.store.ids import next_id
from gateway.store.records import OpenMessage
from teams.base import Handoff
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    CodeGenerationEvent,
    ContextSummaryEvent,
    HandoffMessage,
    MemoryQueryEvent,
    ModelClientStreamingChunkEvent,
    SelectSpeakerEvent,
    TextMessage,
    ThoughtEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from teams.models import AssistantMessage

FAULTS = logging.getLogger("gateway.faults")
"""Breaches of laws of this program: each is mended, and a fault to find. Tests fail on them."""

THINKING = "> *Thinking*\n> "
"""The beginning of a thought that grows."""

LONGEST = 200_000
"""Characters of one text that people are shown: rendering must not take a model's word for more."""


class _OpenMessage:
    """A message of an agent that is not finished.

    `source` is the engine's id of what it is built from. It is None once that will be replaced:
    when the attempt that began it was `interrupted`, and when a model's thought turned out to have
    been part of what was shown. While all that is shown is a thought, `thinks` is the engine's id.
    """

    thinks = ""

    def __init__(
        self,
        message: str,
        source: str | None,
        text: str = "",
        *,
        interrupted: bool = False,
        signs_off: bool = False,
    ) -> None:
        self.message = message
        self.source = source
        self.interrupted = interrupted
        self.parts = [text]
        self.length = len(text)
        self.sign_off = SignOff() if signs_off else None

    def grow(self, text: str) -> str:
        """Add to the message; what people are shown of it."""
        if self.sign_off is not None:
            text = self.sign_off.take(text)
        shown = text[: max(0, LONGEST - self.length)]
        self.parts.append(shown)
        self.length += len(shown)
        return shown

    @property
    def shown(self) -> str:
        self.parts = ["".join(self.parts)]
        return self.parts[0]

    @property
    def text(self) -> str:
        return self.shown if self.sign_off is None else self.shown + self.sign_off.held


def no_price(_model: str, _read: int, _written: int) -> None:
    """Price nothing."""


class EventMapper:
    """Mapper of one turn's items to events.

    Each agent has at most one open message. `models` names each agent's model; `people` are the
    agents that stand for a human, whose words are the answers to requests and are shown as such;
    `resumed` are messages that an interrupted attempt had begun: what the agents say now takes
    their place; `found` are the passages that its agents were told. `cost` prices the tokens that a
    model has read and written.
    """

    def __init__(
        self,
        thread: str,
        turn: str,
        models: Mapping[str, str],
        *,
        people: Iterable[str] = (),
        resumed: Iterable[OpenMessage] = (),
        found: Iterable[SourcesFound] = (),
        cost: Callable[[str, int, int], float | None] = no_price,
    ) -> None:
        self._thread = thread
        self._turn = turn
        self._models = models
        self._cost = cost
        self._people = {USER, *people}
        self._sources: dict[str, dict[int, Source]] = {}
        for each in found:
            self._note_sources(each)
        self._speaking: set[str] = set()
        self.said: dict[str, str] = {}
        """Turns by the ids of what was said in them: an id belongs to one."""
        self.signs_off: Collection[str] = ()
        self.hides_thoughts = False
        """Agents that end the team's work with a word that people are not shown."""
        self._others: dict[str, str] = {}
        """Ids in place of those that belong to another turn."""
        self._finished: dict[str, str] = {}
        """Last text of each agent that said any."""
        self._growing = {
            begun.agent: _OpenMessage(begun.message, None, begun.text, interrupted=True)
            for begun in resumed
        }

    def map_item(
        self, item: BaseAgentEvent | BaseChatMessage, *, to_people: bool = False
    ) -> list[SessionEvent]:
        """Events of the item, in order; `to_people`: it hands off to people."""
        if isinstance(item, ModelClientStreamingChunkEvent):
            return self._chunk(item)
        if isinstance(item, UserInputRequestedEvent):
            self._people.add(item.source)
            return []
        if isinstance(item, SelectSpeakerEvent):
            return [event for agent in item.content for event in self._starts(agent)]
        if item.source in self._people:
            return []
        if to_people and isinstance(item, HandoffMessage):
            return [*self._starts(item.source), *self._to_people(item), *self._usage(item)]
        starts = [] if isinstance(item, ContextSummaryEvent) else self._starts(item.source)
        return [*starts, *self._item(item), *self._usage(item)]

    def open_messages(self) -> tuple[OpenMessage, ...]:
        """Unfinished messages so far."""
        return tuple(
            OpenMessage(message=growing.message, turn=self._turn, agent=agent, text=growing.shown)
            for agent, growing in self._growing.items()
            if growing.shown and not growing.thinks
        )

    def close(self, *, done: bool, broken: bool = False) -> list[SessionEvent]:
        """Finish open messages; void what is replaced, if the turn is `done`.

        `broken`: they broke off. Those of an interrupted attempt did: they stand, unless this one
        has said something else.
        """
        told, finished = any(self._finished.values()), list[SessionEvent]()
        for agent, growing in list(self._growing.items()):
            old = growing.interrupted
            void = growing.thinks or (told if old else done and growing.source is None)
            ended = self._finish(agent, "" if void else growing.text)
            off = bool(ended.text) and (broken or (done and old))
            finished.append(replace(ended, ending="broken" if off else ""))
        return finished

    def take_back(self) -> list[SessionEvent]:
        """Void an interrupted attempt's text before people are asked."""
        old = [agent for agent, growing in self._growing.items() if growing.interrupted]
        return [self._finish(agent, "") for agent in old]

    def _own(self, message: str) -> str:
        """The id of a message, which no other turn has."""
        if self.said.setdefault(message, self._turn) == self._turn:
            return message
        if message not in self._others:
            FAULTS.error(
                "thread %s, turn %s: message %s belongs to turn %s; it gets an id of its own",
                *(self._thread, self._turn, message, self.said[message]),
            )
            self._others[message] = next_id()
        return self._others[message]

    def _chunk(self, chunk: ModelClientStreamingChunkEvent) -> list[SessionEvent]:
        agent, source = chunk.source, chunk.full_message_id or chunk.id
        growing = self._growing.get(agent)
        if not chunk.content and chunk.thought:
            return self._think(chunk.thought, agent, source)
        if growing is not None and growing.source == source:
            shown = growing.grow(chunk.content)
            return [self._delta(agent, growing.message, shown)] if shown else []
        events, again = self._starts(agent), growing is not None and growing.source is None
        if growing is not None and not again:
            events.append(self._finish(agent, growing.text))
        message = growing.message if growing is not None and again else self._own(source)
        begun = _OpenMessage(message, source, signs_off=agent in self.signs_off)
        self._growing[agent] = begun
        first = begun.grow(chunk.content)
        shows = bool(first) or again
        return [*events, self._delta(agent, message, first, replace=again)] if shows else events

    def _think(self, thought: str, agent: str, source: str) -> list[SessionEvent]:
        """Events of a growing thought: a quotation in the text's place."""
        growing, events = self._growing.get(agent), self._starts(agent)
        if growing is not None and growing.thinks == source:
            shown = growing.grow(quoted(thought))
            return [self._delta(agent, growing.message, shown, thought=True)] if shown else []
        if growing is not None and growing.source == source:
            return []  # the text has begun
        if growing is not None and growing.source is not None:
            events.append(self._finish(agent, growing.text))
            growing = None
        message = growing.message if growing else self._own(source)
        begun = _OpenMessage(message, None, f"{THINKING}{quoted(thought)}"[:LONGEST])
        begun.thinks, self._growing[agent] = source, begun
        first = self._delta(agent, message, begun.text, replace=bool(growing), thought=True)
        return [*events, first]

    def _stop_thinking(self, agent: str) -> list[SessionEvent]:
        """Take a thought back before the agent acts; its message goes on."""
        growing = self._growing.get(agent)
        if growing is None or not growing.thinks:
            return self._close_speech(agent)
        self._growing[agent] = _OpenMessage(growing.message, None, "")
        return [self._delta(agent, growing.message, "", replace=True)]

    def _item(self, item: BaseAgentEvent | BaseChatMessage) -> list[SessionEvent]:
        agent = item.source
        match item:
            case ThoughtEvent():
                return self._thought(item)
            case ToolCallRequestEvent():
                return self._stop_thinking(agent)
            case HandoffMessage():
                events = self._close_speech(agent)
                self._speaking.discard(agent)
                return [*events, self._handed_off(item)]
            case CodeGenerationEvent() | ContextSummaryEvent() | MemoryQueryEvent():
                return self._worked(item)
            case BaseChatMessage():
                self._speaking.discard(agent)
                return self._said(agent, item)
            case _:
                return []

    def _said(self, agent: str, message: BaseChatMessage) -> list[SessionEvent]:
        """Finish a message; an empty one takes nobody's place."""
        text, growing = message.to_text(), self._growing.get(agent)
        if growing is not None and growing.interrupted and not text.strip():
            return []
        ended = _ended(self._finish(agent, text, message.id), message)
        known = self._sources.get(agent, {})
        if known and isinstance(message, TextMessage) and not ended.ending:
            ended = replace(ended, text=bounded(with_sources(ended.text, known)))
        return [ended]

    def _found(self, agent: str, sources: tuple[Source, ...]) -> list[SessionEvent]:
        if not sources:
            return []
        found = SourcesFound(thread=self._thread, turn=self._turn, agent=agent, sources=sources)
        self._note_sources(found)
        return [found]

    def _note_sources(self, found: SourcesFound) -> None:
        known = self._sources.setdefault(found.agent, {})
        known.update((each.number, each) for each in found.sources)

    def _to_people(self, handoff: HandoffMessage) -> list[SessionEvent]:
        """Events of a hand-off to people, its text as a message."""
        agent = handoff.source
        events = self._close_speech(agent)
        own = _own_words(handoff)
        words = _handoff_text(handoff) or own
        if words.strip() and words != self._finished.get(agent):
            events.append(self._finish(agent, words, handoff.id))
        self._speaking.discard(agent)
        handed = self._handed_off(handoff)
        return [*events, replace(handed, text="" if own == words else own, to_people=True)]

    def _thought(self, thought: ThoughtEvent) -> list[SessionEvent]:
        """Events of reasoning; text streamed before tool calls is a message."""
        growing = self._growing.get(thought.source)
        if growing is not None and growing.source is not None:
            if growing.text.strip() == thought.content[:LONGEST].strip():
                return [self._finish(thought.source, growing.text)]
            growing.source = None
        if self.hides_thoughts:
            return []
        return [
            Thought(
                thread=self._thread,
                turn=self._turn,
                agent=thought.source,
                text=bounded(thought.content),
            )
        ]

    def _close_speech(self, agent: str) -> list[SessionEvent]:
        """Finish what the agent said in this attempt before it acts."""
        growing = self._growing.get(agent)
        if growing is None or growing.interrupted:
            return []
        return [self._finish(agent, growing.text if growing.source else "")]

    def _starts(self, agent: str) -> list[SessionEvent]:
        if agent in self._speaking or agent in self._people:
            return []
        self._speaking.add(agent)
        model = self._models.get(agent, "")
        return [SpeakerStarted(thread=self._thread, turn=self._turn, agent=agent, model=model)]

    def _finish(self, agent: str, text: str, message: str = "") -> MessageFinished:
        growing = self._growing.pop(agent, None)
        text, hidden = split_sign_off(text) if agent in self.signs_off else (text, "")
        self._finished[agent] = text or self._finished.get(agent, "")
        return MessageFinished(
            thread=self._thread,
            turn=self._turn,
            agent=agent,
            message=growing.message if growing else self._own(message),
            text=bounded(text),
            hidden=bounded(hidden),
        )

    def _handed_off(self, handoff: HandoffMessage) -> WorkHandedOff:
        return WorkHandedOff(
            thread=self._thread,
            turn=self._turn,
            agent=handoff.source,
            target=handoff.target,
            text=bounded(handoff.content),
        )

    def _worked(
        self, item: CodeGenerationEvent | ContextSummaryEvent | MemoryQueryEvent
    ) -> list[SessionEvent]:
        match item:
            case CodeGenerationEvent():
                return [_ended(self._finish(item.source, item.content, item.id), item)]
            case ContextSummaryEvent():
                return [
                    ContextSummarised(
                        thread=self._thread,
                        turn=self._turn,
                        agent=item.source,
                        covered=item.covered,
                        left_out=item.left_out,
                    )
                ]
            case MemoryQueryEvent():
                return self._found(item.source, sources_of(item.content))

    def _delta(
        self, agent: str, message: str, text: str, *, replace: bool = False, thought: bool = False
    ) -> TextDelta:
        return TextDelta(
            thread=self._thread,
            turn=self._turn,
            agent=agent,
            message=message,
            text=text,
            replace=replace,
            thought=thought,
        )

    def _usage(self, item: BaseAgentEvent | BaseChatMessage) -> list[SessionEvent]:
        if (used := item.models_usage) is None:
            return []
        read, written = used.prompt_tokens, used.completion_tokens
        return [
            Usage(
                thread=self._thread,
                turn=self._turn,
                agent=item.source,
                prompt_tokens=read,
                completion_tokens=written,
                cost=self._cost(self._models.get(item.source, ""), read, written),
            )
        ]


_ENDINGS: Mapping[str, Ending] = {
    "length": "cut",
    "content_filter": "filtered",
    "refusal": "refused",
}
"""Endings by what agents say of them in a message's metadata."""


def _ended(finished: MessageFinished, message: BaseAgentEvent | BaseChatMessage) -> MessageFinished:
    """The end of a message, with what its agent says about it."""
    ending = _ENDINGS.get(message.metadata.get("finish_reason", ""), "")
    return replace(finished, ending=ending) if ending and finished.text.strip() else finished


def bounded(text: str) -> str:
    """The text for people, with a note where it is too long."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n\n(The rest is not shown: {len(text) - LONGEST:,} characters.)"


def _handoff_text(handoff: HandoffMessage) -> str:
    """Text of the model beside its hand-off."""
    for message in reversed(handoff.context):
        if isinstance(message, AssistantMessage):
            said = message.content if isinstance(message.content, str) else message.thought
            return said or ""
    return ""


def _own_words(handoff: HandoffMessage) -> str:
    """Text of the hand-off itself, or ""."""
    usual = Handoff(target=handoff.target, name="handoff").message
    return "" if handoff.content == usual else handoff.content


def quoted(text: str) -> str:
    """A piece within a quotation, whatever ends its lines."""
    return _LINE_END.sub("\n> ", text)


_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
