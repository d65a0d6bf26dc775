"""Reloads of the config by all nodes of a store."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from gateway.values import value

ReloadState: TypeAlias = Literal["open", "go", "off", "tried"]
"""Nodes vote, all change, none does, or all were only asked and agree."""


class Vote(NamedTuple):
    """The answer of a node.

    A `refusal` of "" is a yes, and None stands for no answer yet.
    """

    name: str
    refusal: str | None


@value
class Reload:
    """A reload of all nodes, as it stands.

    One that goes is the generation of the config that nodes use which come later. `digest` is that
    of its text and of the files that it names; `source` and `changes` are for the audit.
    """

    id: str
    digest: str
    proposer: str
    source: str
    changes: str
    dry: bool
    state: ReloadState = "open"
    age: float = 0.0
    proposer_name: str = ""
    votes: tuple[Vote, ...] = ()
    """Votes of the nodes that live, and once it has ended, of those that were asked."""

    @property
    def missing(self) -> list[str]:
        """Names of the nodes that have not voted."""
        return [vote.name for vote in self.votes if vote.refusal is None]
