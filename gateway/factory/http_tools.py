"""`[policies.http]` for the HTTP tools of every team."""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from gateway.config.policies import HttpPolicy
from gateway.factory.ownership import all_parts
from teams.kinds import NetworkRules

if TYPE_CHECKING:
    from teams.base import Team


def http_refusal(policy: HttpPolicy, name: str, host: str, method: str) -> str:
    """The mistake of a tool that is not allowed, or empty."""
    if policy.hosts is not None and not covers(policy.hosts, host):
        return f"the tool {name!r} reaches {host}, which is not among the hosts of [policies.http]"
    if policy.methods is not None and method not in policy.methods:
        return (
            f"the tool {name!r} sends {method}, which is not among the methods of [policies.http]"
        )
    return ""


def apply_http_policy(team: Team, policy: HttpPolicy) -> None:
    """Keep the team's HTTP tools and browsers to the policy.

    Raises ValueError for a tool that it does not allow.
    """
    parts = list(all_parts(team))
    for rules in (getattr(part, "__dict__", {}).get("network") for part in parts):
        if isinstance(rules, NetworkRules):
            rules.reaches = lambda host: policy.hosts is None or covers(policy.hosts, host)
            rules.is_private_allowed = partial(covers, policy.private_hosts)
    if "teams.tools.http._tool" not in sys.modules:
        return  # so nobody has made one
    from teams.tools.http import HttpTool  # few need it

    for tool in (part for part in parts if isinstance(part, HttpTool)):
        if said := http_refusal(policy, tool.name, tool.host, tool.method):
            raise ValueError(said)
        tool.public_only = not covers(policy.private_hosts, tool.host)


def covers(listed: Collection[str], host: str) -> bool:
    """True if the host is listed.

    ".example.com" is that host and all below it.
    """
    host = host.lower().removesuffix(".")
    return any(
        entry == "*"
        or host == entry.removeprefix(".").lower()
        or (entry.startswith(".") and host.endswith(entry.lower()))
        for entry in listed
    )
