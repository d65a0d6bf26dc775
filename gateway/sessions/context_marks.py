"""Marks of a team's context: its authors and its foreign text.

They decide how strict a tool's rule is: whoever and whatever the team has read may have made the
call. Nothing takes a mark away but a new thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gateway.access.tool_policy import MEMORY
from gateway.conversation import Author
from gateway.registry import ToolRule
from teams.base import ToolCall

Rules = Callable[[ToolCall, Author], ToolRule]

SEVERITY = {"allow": 0, "ask": 1, "deny": 2}

NAMED = 3
"""Tools that a reason names."""

OF_OTHERS = "somebody whose words are in this conversation may not use it without approval"
OF_OTHERS_DENIED = "somebody whose words are in this conversation may not use it"

OF_SEVERAL = "several people have written in this conversation"


class ContextMarks:
    """Marks of one turn's context, from its beginning to its end.

    `people` are those on whose behalf the team works, the asker first; `granted` are the tools,
    with scopes, that were approved for the thread, and when. Text that the team has read in earlier
    turns must be learned before a rule is asked for.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        people: Iterable[Author],
        untrusted: bool = False,
        granted: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self._rules = rules
        asking = list(people)
        self._asker = asking[0]
        self._asking = {person.id for person in asking}
        self._authors = {(each.id, each.groups): each for each in asking}
        self._untrusted = untrusted
        self._outputs: dict[str, str] = {}
        """The batch of calls from which a tool's first result came; "" for an earlier attempt's."""
        self._granted = dict(granted or {})

    def learn(
        self, authors: Iterable[Author], outputs: Mapping[str, float], *, untrusted: bool = False
    ) -> None:
        """Note what the team has read before this attempt.

        That is words of the `authors`, and text that tools brought, with the time when each first
        did: approvals of other tools from before it do not hold. Instructions may be `untrusted`.
        """
        self._untrusted = self._untrusted or untrusted
        for each in authors:
            self._authors.setdefault((each.id, each.groups), each)
        foreign = {tool for tool in outputs if self._brings_foreign(_named(tool))}
        for tool in foreign:
            self._outputs.setdefault(tool, "")
        self._granted = {
            (tool, scope): at
            for (tool, scope), at in self._granted.items()
            if all(other == tool or outputs[other] < at for other in foreign)
        }

    def add_person(self, person: Author, *, untrusted: bool) -> None:
        """Note the author of a message that has joined the turn.

        If it is somebody else or brings foreign text, earlier approvals for the thread no longer
        hold: who gave them knew nothing of it.
        """
        if untrusted or person.id not in self._asking:
            self._granted.clear()
        self._untrusted = self._untrusted or untrusted
        self._asking.add(person.id)
        self._authors.setdefault((person.id, person.groups), person)

    def add_output(self, call: ToolCall) -> bool:
        """Note a call's result; False if it is no foreign text.

        Approvals of other tools end with the first result of a tool.
        """
        if not self._brings_foreign(call):
            return False
        if call.full_name not in self._outputs:
            self._granted = {
                each: at for each, at in self._granted.items() if each[0] == call.full_name
            }
            self._outputs[call.full_name] = _batch(call)
        return True

    def add_source(self, name: str) -> bool:
        """Note a memory's or a hosted tool's text; False if known."""
        return name not in self._outputs and self.add_output(_named(name))

    def granted(self, tool: str, since: float = 0.0) -> list[str]:
        """Scopes for which the tool was approved for the thread since then."""
        found = self._granted.items()
        return [scope for (name, scope), at in found if name == tool and at > since]

    def revoke(self, tool: str) -> None:
        """Ask for the tool again."""
        self._granted = {each: at for each, at in self._granted.items() if each[0] != tool}

    def is_alone(self, person: str, call: ToolCall) -> bool:
        """True if only the person's words may have made the call."""
        others = {each.id for each in self._authors.values()} - {person}
        return not others and not self._foreign_text(_batch(call))

    def rule(self, call: ToolCall) -> ToolRule:
        """Strictest rule of all authors for the call.

        Foreign text may have made the call: what is allowed and changes something is asked first.
        """
        usual = self._rules(call, self._asker)
        rules = (self._rules(call, author) for author in self._authors.values())
        found = max(rules, key=lambda rule: SEVERITY[rule.action])
        if found.action != usual.action:
            because = OF_OTHERS_DENIED if found.action == "deny" else OF_OTHERS
            found = replace(found, because=because)
        if found.action != "allow" or found.read_only:
            return found
        because = self._foreign_text(_batch(call), but=MEMORY if found.own_memory else "")
        if found.own_memory and len({each.id for each in self._authors.values()}) > 1:
            because = because or OF_SEVERAL
        return replace(found, action="ask", because=because) if because else found

    def _foreign_text(self, batch: str, *, but: str = "") -> str:
        """The foreign text in the context, as a reason; "" for none.

        What the tool `but` brought does not count. Calls of one batch were made before any of them
        had a result.
        """
        brought = {tool: first for tool, first in self._outputs.items() if tool != but}
        tools = sorted(tool for tool, first in brought.items() if not first or first != batch)
        named = [f"results of {', '.join(tools[:NAMED])}"] if tools else []
        if len(tools) > NAMED:
            named.append("of other tools")
        files = ["quotes or files"] if self._untrusted else []
        found = " and ".join([*files, *named])
        return f"this conversation contains {found}, which others may have written" if found else ""

    def _brings_foreign(self, call: ToolCall) -> bool:
        return self._rules(call, self._asker).output == "foreign"


def _batch(call: ToolCall) -> str:
    """The model's answer that the call is a part of."""
    return call.key.rpartition(":")[0] or call.key


def _named(tool: str) -> ToolCall:
    """A call of which no more is known than the tool."""
    return ToolCall(key="", id="", name=tool, arguments="", agent=())
