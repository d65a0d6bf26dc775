"""Reloads of the config by all nodes of a store."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gateway.values import value

ReloadState: TypeAlias = Literal["open", "go", "off", "tried"]
"""Nodes vote, all change, none does, or all were only asked and agree."""


@value
class Proposal:
    """A config that a node proposes to all.

    `digest` is that of its text and of the files that it names. `source` and `changes` are for the
    audit.
    """

    id: str
    digest: str
    proposer: str
    source: str
    changes: str
    dry: bool


@value
class Vote:
    """The answer of a node; a `refusal` of "" is a yes."""

    name: str
    refusal: str


@value
class Reload:
    """A reload as it stands."""

    id: str
    digest: str
    proposer: str
    proposer_name: str
    """"" once that node lives no more."""
    state: ReloadState
    age: float
    votes: tuple[Vote, ...]
    """Votes of the nodes that live."""
    missing: tuple[str, ...]
    """Names of nodes that live and have not voted."""

    @property
    def refusals(self) -> tuple[Vote, ...]:
        """The votes against it."""
        return tuple(vote for vote in self.votes if vote.refusal)

    @property
    def is_decided(self) -> bool:
        """True if all have voted: each refusal is to be told."""
        return not self.missing
