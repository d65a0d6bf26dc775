"""Findings of `parley check` about the policy: its tools, arguments and people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gateway.access.tool_policy import CODE_TOOLS, argument_names, misnamed, unknown_argument
from gateway.app.findings import Finding
from gateway.app.servers import ListedServer
from gateway.base.suggest import did_you_mean
from gateway.config.policies import ASKER, OPERATORS, Policies
from gateway.config.root import Config
from gateway.conversation import LOCAL
from gateway.factory.ownership import TeamTools
from gateway.references.tools import unknown_tool

LATER = (
    "note: its arguments {names} are compared once its server has told what it takes; if it lacks "
    "one, the tool is denied"
)
UNMATCHED = "note: {person!r} is on no platform in [adapters], so no person matches; {hint}"


def check_rules(
    config: Config, found: Sequence[TeamTools], servers: Sequence[ListedServer]
) -> Iterator[Finding]:
    """Rules for unknown tools and arguments.

    Tools of a workbench are known only once it runs: a rule may be for one of these.
    """
    own = {*CODE_TOOLS}.union(*(each.own for each in found))
    maybe = any(each.has_others for each in found)
    for tool in config.policies.tools.named():
        if "/" not in tool and tool not in own:
            text = unknown_tool(tool, own)
            text = f"warning: {text} (a workbench may have it)" if maybe else text
            yield Finding(kind="rule", name=tool, good=maybe, text=text)
    yield from _arguments(config.policies, _known(found, servers))


def _known(
    found: Sequence[TeamTools], servers: Sequence[ListedServer]
) -> Mapping[str, Collection[str] | None]:
    """Arguments of the tools that are known; None for any."""
    known: dict[str, Collection[str] | None] = {}
    for each in found:
        known |= each.arguments
    for server in servers:
        for schema in server.tools:
            name = f"{server.name}/{schema['name']}"
            known[name] = argument_names(schema)
    return known


def _arguments(
    policies: Policies, known: Mapping[str, Collection[str] | None]
) -> Iterator[Finding]:
    for tool, policy in policies.tools.named().items():
        named = dict.fromkeys(name for _, name in misnamed(policy, ()))
        if named and tool not in known and "/" in tool:
            text = LATER.format(names=", ".join(named))
            yield Finding(kind="rule", name=tool, good=True, text=text)
        if (names := known.get(tool)) is not None:
            for _, name in misnamed(policy, names):
                text = unknown_argument(name, tool, names)
                yield Finding(kind="rule", name=tool, good=False, text=text)


def check_people(config: Config) -> Iterator[Finding]:
    """Operators and approvers of platforms that the config has not."""
    policies = config.policies
    places = [(f"operators[{at}]", person) for at, person in enumerate(policies.operators)]
    for tool, policy in policies.tools.named().items():
        places += [(f"tools.{tool}.approvers", person) for person in policy.approvers]
    known = {*config.platforms.values(), LOCAL}
    for place, person in places:
        platform = person.partition(":")[0]
        if person not in (ASKER, OPERATORS) and platform not in known:
            hint = did_you_mean(platform, known) or f"add [adapters.{platform}]"
            text = UNMATCHED.format(person=person, hint=hint)
            yield Finding(kind="person", name=f"policies.{place}", good=True, text=text)
