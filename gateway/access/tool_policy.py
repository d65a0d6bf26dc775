"""`[policies.tools]` applied to a call: the rule, and who decides."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from gateway.base.patterns import matches_whole
from gateway.base.suggest import did_you_mean
from gateway.config.policies import OPERATORS, Policies, ToolCase, ToolPolicy
from gateway.config.problems import toml_path
from gateway.config.toml import KeyPath
from gateway.conversation import LOCAL_OPERATOR, Author
from gateway.registry import DiffRule, ToolOutput, ToolRule
from gateway.render.sanitize import label
from teams.base import ToolCall
from teams.code_executor import EXECUTE_CODE

HOUR = 3600.0

CODE_TOOL = "CodeExecutor"
CODE_TOOLS = frozenset({EXECUTE_CODE, CODE_TOOL})
"""Tools that run a model's code: denied unless they have a policy."""

LONGEST_NAME, MOST_TOLD, MOST_COMPARED = 60, 20, 500
"""Characters of an argument's name, and arguments, that a mistake tells or looks through."""

MEMORY = "memory"
"""Name of what memories bring, among the tools of the policies."""


def tool_rule(
    policies: Policies, team: str, call: ToolCall, asker: Author, *, usual: ToolRule | None = None
) -> ToolRule:
    """Rule for a call on the asker's behalf; `usual` replaces the default."""
    if call.handoff:
        return ToolRule(action="allow", idempotent=True, read_only=True, output="trusted")
    own = policies.tools.of(call.full_name)
    if own is None:
        if usual is not None and not call.server:
            return usual
        code = call.name in CODE_TOOLS
        return ToolRule(
            action="deny" if code else policies.tools.default,
            idempotent=call.idempotent,
            read_only=call.read_only,
            reason="code is not executed here" if code else "policies.tools.default",
            output=_output_of(call),
        )
    if mistake := _mistake(call, own):
        return ToolRule(action="deny", reason=mistake, output=_output_of(call), mistake=mistake)
    roles = _roles(policies, asker)
    case = next((case for case in own.cases if _fits(case, team, call, roles)), None)
    return ToolRule(
        action=own.action if case is None else case.action,
        idempotent=call.idempotent if own.idempotent is None else own.idempotent,
        read_only=call.read_only if own.read_only is None else own.read_only,
        reason=f"policies.tools.{call.full_name}",
        output=own.output or _output_of(call),
        approvers=tuple(own.approvers),
        always_allowed=own.always_allowed,
        paths=tuple(own.paths),
        diff=None if own.diff is None else DiffRule(**own.diff.model_dump()),
        quorum=own.quorum,
        expires=None if own.expires_hours is None else own.expires_hours * HOUR,
    )


def _mistake(call: ToolCall, policy: ToolPolicy) -> str:
    """A misnamed argument in the tool's rule, "" for none."""
    known = None if call.schema is None else argument_names(call.schema)
    if known is None:
        return ""
    for path, name in misnamed(policy, known):
        place = toml_path(("policies", "tools", call.full_name, *path))
        return f"{place}: {unknown_argument(name, call.full_name, known)}"
    return ""


def argument_names(schema: Mapping[str, object]) -> Collection[str] | None:
    """The names of a tool's arguments; None if it takes any."""
    parameters = cast("Mapping[str, object]", schema.get("parameters") or {})
    if parameters.get("additionalProperties"):
        return None
    given = parameters.get("properties")  # a server's word
    return tuple(cast("Mapping[str, object]", given) if isinstance(given, Mapping) else ())


def misnamed(policy: ToolPolicy, known: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """Unknown arguments that a tool's rule names, with their places."""
    places: list[tuple[KeyPath, Iterable[str]]] = [
        *((("cases", at, "arguments"), case.arguments) for at, case in enumerate(policy.cases)),
        (("paths",), policy.paths),
        (("diff",), policy.diff.named() if policy.diff else ()),
    ]
    for path, names in places:
        yield from ((path, name) for name in names if name not in known)


def unknown_argument(name: str, tool: str, known: Collection[str]) -> str:
    """The mistake of a rule that names an unknown argument.

    Of a server's names, a few are said, in print.
    """
    names = [label(each, LONGEST_NAME) for each in islice(known, MOST_COMPARED)]
    more = " and more" if len(known) > MOST_TOLD else ""
    listed = f"{', '.join(names[:MOST_TOLD])}{more}"
    arguments = f"its arguments are {listed}" if names else "it has none"
    hint = did_you_mean(name, names) or arguments
    return f"found {name!r}, expected an argument of {tool}; {hint}"


def _output_of(call: ToolCall) -> ToolOutput:
    """The tool's own promise about its results."""
    return "trusted" if call.own_output else "foreign"


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
    """True if each argument is present and fits; broken ones never do."""
    if arguments is None:
        return False
    for name, pattern in patterns.items():
        if name not in arguments:
            return False
        value = arguments[name]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if not matches_whole(pattern, text):
            return False
    return True
