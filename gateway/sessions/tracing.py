"""Traces: one for each turn, from its message's acceptance to its delivery.

The ids of a trace and of its root span follow from the turn's id. So every process that works on a
turn adds to the same trace, after a restart, too. Spans hold ids, times, names of the config and
words of closed sets: no texts, people or arguments.

Without a provider nothing is done here, and OpenTelemetry, an extra, is not imported.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from time import time_ns
from typing import TYPE_CHECKING, TypeAlias

from gateway.store.turn_records import ClaimedTurn

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

Attributes: TypeAlias = dict[str, str | bool | int | float]

ROOT: ContextVar[tuple[int, int] | None] = ContextVar("parley_root_span", default=None)
"""Ids of the trace and the span that begins as a root."""
UNFINISHED = frozenset({"paused", "waiting", "cut short"})
"""Ends of a run after which its turn goes on by itself."""
MOST_ACCEPTED = 10_000
"""Waiting messages whose acceptance is remembered."""


class Traces:
    """The traces of this process."""

    def __init__(self) -> None:
        self.provider: TracerProvider | None = None
        """Where spans go, None for nowhere. Its roots have the ids of `ROOT`."""
        self._accepted: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()

    def use(self, provider: TracerProvider | None) -> None:
        """Send spans there from now on."""
        self.provider = provider
        self._accepted.clear()

    def note_accepted(self, thread: str, inbox: int, began: int) -> None:
        """Remember a message just accepted, until its turn is known."""
        self._accepted[thread, inbox] = began, time_ns()
        if len(self._accepted) > MOST_ACCEPTED:
            self._accepted.popitem(last=False)

    def note(self, attributes: Attributes) -> None:
        """Add to the current span."""
        if self.provider is not None:
            from opentelemetry.trace import get_current_span

            get_current_span().set_attributes(attributes)

    def start(
        self, turn: str, name: str, at: int, attributes: Attributes, *, root: bool = False
    ) -> Span:
        """A span below a turn's root, sampled alike, or the root."""
        from opentelemetry import trace
        from opentelemetry.context import Context

        if self.provider is None:  # the process ends
            return trace.INVALID_SPAN
        digest = blake2b(turn.encode(), digest_size=24, person=b"parley trace").digest()
        ids = int.from_bytes(digest[:16]), int.from_bytes(digest[16:])
        context, kind = Context(), trace.SpanKind.CONSUMER
        if not root:
            kind = trace.SpanKind.INTERNAL
            sampled = self.provider.sampler.should_sample(context, ids[0], "turn").decision
            flags = trace.TraceFlags(sampled.is_sampled())
            parent = trace.SpanContext(*ids, is_remote=True, trace_flags=flags)
            context = trace.set_span_in_context(trace.NonRecordingSpan(parent), context)
        token = ROOT.set(ids if root else None)
        span = self.provider.get_tracer("gateway").start_span(
            name, context=context, kind=kind, attributes=attributes, start_time=at
        )
        ROOT.reset(token)
        return span

    @contextmanager
    def run(self, work: ClaimedTurn, claim_at: int) -> Generator[None]:
        """Trace a claimed turn's run, whose outcome and error are noted meanwhile."""
        if self.provider is None:
            yield
            return
        from opentelemetry.trace import use_span

        turn = work.lease.turn
        known = _attributes(work.thread.id, turn, work.thread.key.platform)
        known["parley.team"] = work.thread.team
        since = self._trace_beginning(work, claim_at, known)
        more: Attributes = {"parley.resumed": work.resumed, "parley.outcome": "cut short"}
        span = self.start(turn, "run", time_ns(), {**known, **more})
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        except Exception as error:
            span.set_attribute("error.type", type(error).__qualname__)
            raise
        finally:
            noted = _end(span)
            if noted.get("parley.outcome", "cut short") not in UNFINISHED:
                _end(self.start(turn, "turn", since, noted, root=True))

    def _trace_beginning(self, work: ClaimedTurn, claim_at: int, known: Attributes) -> int:
        """Trace acceptance, wait and claim; when all began."""
        turn, asked_at = work.lease.turn, int(work.asked_at * 1e9)
        keys = [(work.thread.id, message.inbox) for message in work.messages]
        accepted = [self._accepted.pop(key) for key in keys if key in self._accepted]
        if not (accepted or work.resumed):  # an earlier process knew how long that took
            accepted = [(asked_at, asked_at)]
        for began, ended in accepted:
            self.start(turn, "accept", began, known).end(ended)
        if work.parked_at or not work.resumed:
            since = int((work.parked_at or work.asked_at) * 1e9)
            waited = {**known, "parley.wait": "people" if work.parked_at else "turn"}
            self.start(turn, "wait", since, waited).end(max(since, claim_at))
        self.start(turn, "claim", claim_at, known).end()
        return min([asked_at, *(began for began, _ in accepted)])


class DeliveryTrace:
    """Delivery of one thread: a span for each of its turns."""

    def __init__(self, thread: str, platform: str) -> None:
        self._thread = thread
        self._platform = platform
        self._turns = [(0, "")]
        self._open: dict[str, tuple[Span, defaultdict[str, float]]] = {}

    def note(self, seq: int, turn: str) -> None:
        """Note that items from this seq on are the turn's."""
        if seq and self._turns[-1][1] != turn:
            self._turns.append((seq, turn))

    def count(self, seq: int, name: str, amount: float) -> None:
        """Count a call for the item at this seq, or its result."""
        turn = next(turn for since, turn in reversed(self._turns) if since <= seq)
        if not turn:
            return
        if turn not in self._open:
            known = _attributes(self._thread, turn, self._platform)
            self._open[turn] = TRACES.start(turn, "deliver", time_ns(), known), defaultdict(float)
        span, counts = self._open[turn]
        counts[name] += amount
        span.set_attribute(f"parley.delivery.{name}", counts[name])
        if name == "failed":
            span.set_attribute("error.type", "undelivered")

    def end(self) -> None:
        """End the open spans: the thread is delivered or let go of."""
        for span, _ in self._open.values():
            _end(span)
        self._open.clear()
        self._turns = [(0, self._turns[-1][1])]


def _attributes(thread: str, turn: str, platform: str) -> Attributes:
    ids: Attributes = {"gen_ai.conversation.id": thread, "parley.turn.id": turn}
    return ids | {"parley.platform": platform}


def _end(span: Span) -> Attributes:
    """End a span, as failed if it has an error; its attributes."""
    from opentelemetry.trace import StatusCode

    attributes: Attributes = dict(getattr(span, "attributes", None) or {})
    if "error.type" in attributes:
        span.set_status(StatusCode.ERROR)
    span.end()
    return attributes


TRACES = Traces()
"""The traces of this process."""
