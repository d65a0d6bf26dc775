"""Modes of approval of a thread, and the calls that they decide.

A mode is a row among the thread's grants, for the person who chose it; without one, the rules ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from gateway.access.grants import is_below
from gateway.access.tool_policy import CODE_TOOLS
from gateway.config.policies import ASKER, OPERATORS
from gateway.events import ASK, EDITS, PLAN, ApprovalName
from gateway.registry import ToolRule
from gateway.store.turn_records import ApprovalMode
from teams.base import ToolCall

MEANINGS: Mapping[ApprovalName, str] = {
    ASK: "tool calls ask as their rules say",
    EDITS: "changes of files in the thread's folder do not ask where a rule shows their diff",
    PLAN: "tool calls that change something do not run",
}

PLANNED = (
    "Not run: the person has chosen the mode plan, and this call may change something. Answer with "
    "your plan; the person decides when it begins."
)

Outcome: TypeAlias = Literal["refuse", "allow", ""]


def decision(
    mode: ApprovalMode, rule: ToolRule, call: ToolCall, folder: Path | None, *, alone: bool
) -> Outcome:
    """Decision of the mode on a call.

    "" leaves it to the rule.

    `alone`: the team has read nobody's words but of the mode's person, and no foreign text.
    """
    if mode.name == PLAN:
        return "" if rule.read_only else "refuse"
    accepted = mode.name == EDITS and rule.action == "ask" and alone and not rule.because
    return "allow" if accepted and _is_edit(mode.person, rule, call, folder) else ""


def _is_edit(person: str, rule: ToolRule, call: ToolCall, folder: Path | None) -> bool:
    """True for an edit that the person may approve alone.

    Only the operator's rule says so, never the tool itself.
    """
    mine = rule.always_allowed and rule.quorum == 1
    if not mine or not {*rule.approvers} <= {OPERATORS, ASKER, person}:
        return False
    if rule.diff is None or call.name in CODE_TOOLS or (call.within or not call.known):
        return False
    shown = rule.diff.path in ("", *rule.paths)
    return shown and is_below(dict.fromkeys(rule.paths, ""), call, rule.paths, folder)
