"""Tools of servers, compared with what they were at first.

Whoever allowed a tool, or approved it for a thread, knew its name, description and schema. A server
that changes them has made another tool of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from gateway.content.tool_texts import LONGEST_NAME, met_tool, tool_digest
from gateway.registry import ToolRule
from gateway.sessions.event_bus import EventBus
from gateway.store.protocols import SessionStore
from gateway.store.records import KnownTool, MetTool
from gateway.store.units import known_texts, met_tools
from gateway.store.units.known_texts import MOST_TOOLS
from gateway.values import value
from teams.base import ToolCall

LOG = logging.getLogger("gateway")

MOST_LISTED = 500
"""Tools of one list that are kept before they are called."""

MOST_SEEN = 10_000

CHANGED = "its description or its arguments are not those that were accepted"
TOO_MANY = f"its server has shown more than {MOST_TOOLS:,} tools, and this one is not known"

Remark = Callable[[str, str], None]


@value
class JudgedTool:
    """A tool's rule, after a look at its text.

    `met` is the present text, to which an approval is bound, None where none is kept. `before` is
    the accepted one, if that is another; approvals for a thread hold if they were given after
    `since`.
    """

    rule: ToolRule
    met: MetTool | None = None
    before: str | None = None
    since: float = 0.0

    @property
    def meant(self) -> str:
        """The present text, as a request names it; "" if accepted."""
        if self.met is None or self.before is None:
            return ""
        return f"{self.met.digest} {self.met.server}"


class KnownTools:
    """Tools of servers; `wake` lets a thread go on for a person."""

    def __init__(
        self, store: SessionStore, bus: EventBus, wake: Callable[[str, str], None], remark: Remark
    ) -> None:
        self._store = store
        self._bus = bus
        self._wake = wake
        self._remark = remark
        self._seen: dict[tuple[str, str], str] = {}
        """Digests that the store has, of tools that were listed."""
        self._told: set[str] = set()

    async def see(self, calls: Sequence[tuple[ToolCall, ToolRule]]) -> None:
        """Keep tools that a model is about to be told of."""
        for call, rule in calls[:MOST_LISTED]:
            self.tell(rule)
            if not rule.pin or call.schema is None:
                continue
            key = rule.pin, call.name[:LONGEST_NAME]
            seen = tool_digest(call.name, call.schema) if rule.pinned else ""
            if self._seen.get(key) != seen:
                await self._meet(met_tool(rule.pin, call.name, call.schema), pinned=rule.pinned)
                if len(self._seen) >= MOST_SEEN:
                    self._seen.clear()
                self._seen[key] = seen

    async def judge(self, call: ToolCall, rule: ToolRule) -> JudgedTool:
        """The rule, stricter if the tool is another than the accepted one."""
        self.tell(rule)
        if not (rule.pin and rule.pinned) or call.schema is None:
            return JudgedTool(rule=rule)
        met = met_tool(rule.pin, call.name, call.schema)
        known = await self._meet(met, pinned=True)
        if known is not None and known.digest == met.digest:
            return JudgedTool(rule=rule, met=met, since=known.since)
        why = TOO_MANY if known is None else CHANGED
        action = "ask" if rule.action == "allow" else rule.action
        because = ", and because ".join(filter(None, (rule.because, why)))
        stricter = replace(rule, action=action, because=because, always_allowed=False)
        return JudgedTool(rule=stricter, met=met, before=known and known.text)

    async def _meet(self, met: MetTool, *, pinned: bool) -> KnownTool | None:
        """The tool as it is accepted; None if too many are known."""
        known = await self._store.run(known_texts.known_tool, met.server, met.tool)
        if not pinned:
            if known is not None:
                await self._store.run(known_texts.forget_tool, met.server, met.tool)
            return None
        if known is None or met.digest not in (known.digest, *dict(known.others)):
            if known is not None:
                LOG.warning("the tool %s has changed; `parley check` shows how", met.full_name)
                self._remark(met.full_name, "the tool has changed; `parley check` shows how")
            settled = await self._store.run(met_tools.meet_tool, met)
            for thread, events in settled.events.items():
                self._bus.publish(thread, events)
            for thread, person in settled.ready:
                self._wake(thread, person)
            known = await self._store.run(known_texts.known_tool, met.server, met.tool)
        return known

    def tell(self, rule: ToolRule) -> None:
        """Tell the operator of a rule that can't be followed, once."""
        if rule.mistake and rule.mistake not in self._told:
            self._told.add(rule.mistake)
            LOG.warning("%s", rule.mistake)
            self._remark("policies", rule.mistake)
