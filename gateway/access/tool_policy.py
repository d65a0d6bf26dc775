"""`[policies.tools]` applied to a call: the rule, and who decides."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gateway.config.policies import OPERATORS, Policies, ToolCase
from gateway.conversation import LOCAL_OPERATOR, Author
from gateway.registry import ToolRule
from teams.base import ToolCall
from teams.code_executor import EXECUTE_CODE

HOUR = 3600.0

CODE_TOOLS = frozenset({EXECUTE_CODE, "CodeExecutor"})
"""Tools that run a model's code: denied unless they have a policy."""

LONGEST_MATCHED = 10_000
"""Characters of an argument that patterns are tried on; a longer one fits none."""


def tool_rule(
    policies: Policies, team: str, call: ToolCall, asker: Author, *, usual: ToolRule | None = None
) -> ToolRule:
    """Rule for a call that a team makes for the asker.

    `usual` holds where the tool has no policy of its own, instead of the default.
    """
    if call.handoff:
        return ToolRule(action="allow", idempotent=True, read_only=True)
    own = policies.tools.of(call.name)
    if own is None:
        if usual is not None:
            return usual
        code = call.name in CODE_TOOLS
        return ToolRule(
            action="deny" if code else policies.tools.default,
            idempotent=call.idempotent,
            read_only=call.read_only,
            reason="code is not executed here" if code else "policies.tools.default",
        )
    roles = _roles(policies, asker)
    case = next((case for case in own.cases if _fits(case, team, call, roles)), None)
    return ToolRule(
        action=own.action if case is None else case.action,
        idempotent=call.idempotent if own.idempotent is None else own.idempotent,
        read_only=call.read_only if own.read_only is None else own.read_only,
        reason=f"policies.tools.{call.name}",
        approvers=tuple(own.approvers),
        always_allowed=own.always_allowed,
        quorum=own.quorum,
        expires=None if own.expires_hours is None else own.expires_hours * HOUR,
    )


def _roles(policies: Policies, asker: Author) -> frozenset[str]:
    operator = asker.id in (LOCAL_OPERATOR.id, *policies.operators)
    return asker.groups | {OPERATORS} if operator else asker.groups


def _fits(case: ToolCase, team: str, call: ToolCall, roles: frozenset[str]) -> bool:
    if case.teams and team not in case.teams:
        return False
    if case.roles and roles.isdisjoint(case.roles):
        return False
    return not case.arguments or _matched(case.arguments, call.parsed_arguments())


def _matched(patterns: Mapping[str, str], arguments: Mapping[str, Any] | None) -> bool:
    """True if each argument is present and fits.

    Broken arguments never do.
    """
    if arguments is None:
        return False
    for name, pattern in patterns.items():
        if name not in arguments:
            return False
        value = arguments[name]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > LONGEST_MATCHED or not re.fullmatch(pattern, text):
            return False
    return True
