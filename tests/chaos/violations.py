"""Violations that a judge has found."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Violations:
    """Violations in words, a list for each kind."""

    def violations(self) -> dict[str, list[str]]:
        """The violations by kind."""
        found = {each.name.replace("_", " "): getattr(self, each.name) for each in fields(self)}
        return {kind: said for kind, said in found.items() if isinstance(said, list)}

    def __bool__(self) -> bool:
        """True without violations."""
        return not any(self.violations().values())
