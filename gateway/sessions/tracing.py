"""Traces: one for each turn, from its message's acceptance to its delivery.

The ids of a trace and of its root span follow from the turn's id. So every process that works on a
turn adds to the same trace, after a restart, too. Spans hold ids, times, names of the config and
words of closed sets: no texts, people or arguments.

Until `TRACES.begin` nothing is done here, and OpenTelemetry, an extra, is not imported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from contextvars import ContextVar
from hashlib import blake2b
from time import time_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from gateway.store.turn_records import ClaimedTurn

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

Attributes: TypeAlias = dict[str, str | bool | int | float]

ROOT: ContextVar[tuple[int, int] | None] = ContextVar("parley_root_span", default=None)
"""Ids of the trace and the span that is about to begin as a root."""

UNFINISHED = frozenset({"paused", "waiting", "cut short"})
"""Ends of a run after which its turn goes on by itself."""

MOST_ACCEPTED = 10_000
"""Waiting messages whose acceptance is remembered."""


class Traces:
    """The traces of this process; none until `begin`."""

    def __init__(self) -> None:
        self._provider: TracerProvider | None = None
        self._accepted: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()

    def begin(self, provider: TracerProvider | None) -> None:
        """Trace with this provider, whose ids of roots are those of `ROOT`; None: end."""
        self._provider = provider
        self._accepted.clear()

    @property
    def on(self) -> bool:
        """True if turns are traced."""
        return self._provider is not None

    def accepted(self, thread: str, inbox: int, began: int, *, turn: str = "") -> None:
        """Trace a message that was accepted just now, at once if it answers a turn.

        Otherwise its turn is not known before it begins.
        """
        if turn:
            self.start(turn, "accept", began, {"parley.outcome": "answer"}).end()
        else:
            self._accepted[thread, inbox] = began, time_ns()
            if len(self._accepted) > MOST_ACCEPTED:
                self._accepted.popitem(last=False)

    def take_up(self, thread: str, turn: str, messages: Iterable[int]) -> list[int]:
        """Trace the acceptance of messages that are a turn's now; when each began."""
        found = [self._accepted.pop((thread, inbox), None) for inbox in messages]
        times = [each for each in found if each is not None]
        for began, ended in times:
            self.start(turn, "accept", began, {"parley.outcome": "turn"}).end(ended)
        return [began for began, _ in times]

    def fail(self, error: BaseException, incident: str = "") -> None:
        """Mark the current span as failed by this error."""
        if self.on:
            from opentelemetry.trace import get_current_span

            _fail(get_current_span(), type(error).__qualname__, incident)

    def delivery(self, thread: str, platform: str) -> DeliveryTrace | None:
        """Trace of a thread's delivery; None while nothing is traced."""
        return DeliveryTrace(thread, platform) if self.on else None

    def start(self, turn: str, name: str, at: int, attributes: Attributes) -> Span:
        """A span below a turn's root."""
        assert self._provider is not None
        context, tracer = self._below_root(turn), self._provider.get_tracer("gateway")
        return tracer.start_span(name, context=context, attributes=attributes, start_time=at)

    def _below_root(self, turn: str) -> Context:
        """Context of the turn's root, sampled as that will be."""
        from opentelemetry import trace
        from opentelemetry.context import Context

        assert self._provider is not None
        trace_id, span_id = ids_of(turn)
        sampled = self._provider.sampler.should_sample(Context(), trace_id, "turn")
        flags = trace.TraceFlags(int(sampled.decision.is_sampled()))
        root = trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
        return trace.set_span_in_context(trace.NonRecordingSpan(root), Context())

    def root(self, turn: str, since: int, attributes: Attributes) -> None:
        """Make the root of a turn that is over."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind

        assert self._provider is not None
        tracer, kind = self._provider.get_tracer("gateway"), SpanKind.CONSUMER
        token = ROOT.set(ids_of(turn))
        try:
            span = tracer.start_span(
                "turn", context=Context(), kind=kind, attributes=attributes, start_time=since
            )
        finally:
            ROOT.reset(token)
        if "error.type" in attributes:
            _fail(span, str(attributes["error.type"]))
        span.end()


class TurnTrace:
    """Context of a claimed turn's run, whose span is the current one."""

    def __init__(self, work: ClaimedTurn, claim_at: int) -> None:
        self.ended = "cut short"
        """Status in which the turn left its lane."""
        self._work = work
        self._turn = work.lease.turn
        self._claim_at = claim_at
        self._since = int(work.asked_at * 1e9)
        self._span: Span | None = None
        self._token: Any = None

    def __enter__(self) -> TurnTrace:
        if TRACES.on:
            from opentelemetry import context, trace

            work = self._work
            attributes = _attributes(work.thread.id, self._turn, work.thread.key.platform)
            attributes["parley.team"] = work.thread.team
            self._trace_beginning(work, attributes)
            attributes["parley.resumed"] = work.resumed
            self._span = TRACES.start(self._turn, "run", time_ns(), attributes)
            self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def _trace_beginning(self, work: ClaimedTurn, attributes: Attributes) -> None:
        """Trace what came before: the acceptance, the wait, the claim."""
        began = TRACES.take_up(work.thread.id, self._turn, [each.inbox for each in work.messages])
        if not (began or work.resumed):  # accepted by an earlier process
            TRACES.start(self._turn, "accept", self._since, attributes).end(self._since)
        waited = {**attributes, "parley.wait": "people" if work.parked_at else "turn"}
        since = int((work.parked_at or work.asked_at) * 1e9)
        if work.parked_at or not work.resumed:
            TRACES.start(self._turn, "wait", since, waited).end(max(since, self._claim_at))
        TRACES.start(self._turn, "claim", self._claim_at, attributes).end()
        self._since = min([self._since, *began])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if (span := self._span) is None:
            return
        from opentelemetry.context import detach

        if isinstance(error, Exception):
            TRACES.fail(error)
        detach(self._token)
        span.set_attribute("parley.outcome", self.ended)
        span.end()
        if self.ended not in UNFINISHED and TRACES.on:
            TRACES.root(self._turn, self._since, dict(getattr(span, "attributes", None) or {}))


class DeliveryTrace:
    """Delivery of one thread: a span for each turn, until all is told."""

    def __init__(self, thread: str, platform: str) -> None:
        self._thread = thread
        self._platform = platform
        self._seqs, self._turns = [0], [""]
        self._open: dict[str, tuple[Span, defaultdict[str, float]]] = {}

    def note(self, seq: int, turn: str) -> None:
        """Items from this seq on are the turn's."""
        if seq and self._turns[-1] != turn:
            self._seqs.append(seq)
            self._turns.append(turn)

    def count(self, seq: int, name: str, amount: float) -> None:
        """Count a call for the item at this seq, or what it led to."""
        turn = self._turns[bisect_right(self._seqs, seq) - 1]
        if not (turn and TRACES.on):
            return
        if turn not in self._open:
            attributes = _attributes(self._thread, turn, self._platform)
            self._open[turn] = (
                TRACES.start(turn, "deliver", time_ns(), attributes),
                defaultdict(float),
            )
        span, counts = self._open[turn]
        counts[name] += amount
        span.set_attribute(f"parley.delivery.{name}", counts[name])
        if name == "failed":
            _fail(span, "undelivered")

    def end(self) -> None:
        """All is told, or the thread is let go of."""
        for span, _ in self._open.values():
            span.end()
        self._open.clear()
        del self._seqs[:-1], self._turns[:-1]


def ids_of(turn: str) -> tuple[int, int]:
    """Ids of a turn's trace and root span."""
    digest = blake2b(turn.encode(), digest_size=24, person=b"parley trace").digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:])


def _attributes(thread: str, turn: str, platform: str) -> Attributes:
    ids: Attributes = {"gen_ai.conversation.id": thread, "parley.turn.id": turn}
    return {**ids, "parley.platform": platform}


def _fail(span: Span, kind: str, incident: str = "") -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    if incident:
        span.set_attribute("parley.incident", incident)
    span.set_status(Status(StatusCode.ERROR))


TRACES = Traces()
"""The traces of this process."""
