"""Findings of checks, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.base.exit_codes import ExitCode
from gateway.render.sanitize import sanitize, visible

PROBE_SECONDS = 30.0
"""Seconds in which a model or a platform has to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of checking one team, model or chat platform."""

    kind: str
    name: str
    good: bool
    text: str
    details: str = ""
    """Lines below it."""
    exit_code: ExitCode = ExitCode.FAILED
    """That of `parley check`, if it is not good."""


def table(findings: Sequence[Finding]) -> str:
    """The findings in columns."""
    width = max(len(each.name) for each in findings)
    return "\n".join(
        f"{each.kind:6}  {each.name:{width}}  {'ok    ' if each.good else 'FAILED'}  "
        f"{' '.join(sanitize(each.text).split())}{_details(each)}"
        for each in findings
    )


def _details(finding: Finding) -> str:
    return "".join(f"\n    {line}" for line in visible(finding.details).splitlines())
