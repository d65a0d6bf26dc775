"""The share of each resource that a day wants, by arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from benchmarks.scale.day import Growth, Said
from benchmarks.scale.parameters import Parameters

SLOT = 300.0
"""Seconds over which demand is summed: the busiest slot counts."""
ROOM = 0.7
"""The share up to which a resource is planned to be full; the rest is for peaks and a lost node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """A resource and its wanted share.

    `share` is wanted at one times the load. It does not grow where each workspace has its own, and
    there are more workspaces.
    """

    name: str
    share: float
    grows: bool
    remedy: str

    def at(self, load: float) -> float:
        """The wanted share at a load.

        Above 1 there is not enough.
        """
        return self.share * load if self.grows else self.share

    @property
    def full_at(self) -> float:
        """The load at which all of it is wanted."""
        return 1 / self.share if self.grows and self.share else math.inf


@dataclass
class _Use:
    """Use of something in slots of time."""

    per_second: float
    used: defaultdict[Hashable, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, at: float, amount: float, of: Hashable = None) -> None:
        self.used[of, at // SLOT] += amount

    @property
    def share(self) -> float:
        return max(self.used.values(), default=0.0) / (self.per_second * SLOT)


NODES, TURNS = "node: cores", "node: parallel_turns"
DATABASE, DISK = "PostgreSQL: cores", "PostgreSQL: disk"
REQUESTS, TOKENS = "model: requests", "model: tokens"
STREAMS, ANSWERS = "Slack: streams of a workspace", "Slack: answers of a workspace"
POSTS, EVENTS = "Slack: posts of a channel", "Slack: events of a workspace"
CALLS, ALL_CALLS = "Discord: calls of the bot", "Discord: the same with growing texts"
OF_WORKSPACES = {STREAMS, ANSWERS, POSTS, EVENTS}
REMEDIES = {
    NODES: "add nodes",
    TURNS: "raise [limits] parallel_turns, or add nodes",
    DATABASE: "give PostgreSQL more cores; then a database for each group of workspaces",
    DISK: "a larger disk, or less in [store] retention_days",
    REQUESTS: "ask for a higher quota, or give teams other models or accounts",
    TOKENS: "ask for a higher quota, or give teams other models or accounts",
    STREAMS: "none is needed: the other answers are posted and edited",
    ANSWERS: "nothing of ours: spread people over workspaces, or ask Slack for a higher limit",
    POSTS: "nothing of ours: spread people over channels",
    EVENTS: "subscribe to fewer events: mentions and direct messages alone",
    CALLS: "ask Discord for a higher limit (large bots), or run a second bot",
    ALL_CALLS: "none is needed: growing texts are edited less often",
}


def walls(given: Parameters, said: Iterable[Said], growth: Growth, load: int = 1) -> list[Wall]:
    """The resources that a whole day wants, the first wall first.

    `said` is the day at so many times the load.
    """
    uses, count = _capacities(given), 0
    for each in said:
        _add(uses, given, each)
        count += 1
    shares = {name: use.share for name, use in uses.items()}
    shares[DISK] = kept_gb(given, count) / given.postgres.disk_gb
    found = [
        Wall(
            name=name,
            share=share / load if _grows(name, growth) else share,
            grows=_grows(name, growth),
            remedy=REMEDIES[name],
        )
        for name, share in shares.items()
    ]
    return sorted(found, key=lambda wall: (wall.full_at, -wall.share))


def _grows(name: str, growth: Growth) -> bool:
    return growth == "busier" or name not in OF_WORKSPACES


def _capacities(given: Parameters) -> dict[str, _Use]:
    nodes, slack = given.nodes, given.slack
    per_minute = {
        REQUESTS: given.model.requests_per_minute,
        TOKENS: given.model.tokens_per_minute,
        STREAMS: slack.start_per_minute,
        ANSWERS: slack.stop_per_minute + slack.update_per_minute,
        POSTS: slack.post_per_minute,
        EVENTS: slack.events_per_hour / 60,
    }
    return {
        NODES: _Use(nodes.count),
        TURNS: _Use(nodes.count * nodes.parallel_turns),
        DATABASE: _Use(given.postgres.cores),
        **{name: _Use(figure / 60) for name, figure in per_minute.items()},
        CALLS: _Use(given.discord.calls_per_second),
        ALL_CALLS: _Use(given.discord.calls_per_second),
    }


def _add(uses: dict[str, _Use], given: Parameters, said: Said) -> None:
    at, model = said.at, given.model
    uses[NODES].add(at, given.nodes.cpu_ms / 1000)
    uses[DATABASE].add(at, given.postgres.cpu_ms / 1000)
    if said.answer:
        uses[TURNS].add(at, seconds_of_turn(given, said))
        uses[REQUESTS].add(at, model.calls)
        uses[TOKENS].add(at, model.calls * model.prompt_tokens + said.answer)
    grows = said.answer > 0
    if said.platform == "slack":
        uses[EVENTS].add(at, given.slack.events_per_message, said.workspace)
        if grows:
            uses[STREAMS].add(at, 1, said.workspace)
            uses[ANSWERS].add(at, 1, said.workspace)
        # Streams are not counted as posts: as many as a workspace may begin are too few to matter.
        uses[POSTS].add(at, 1, said.channel)
    else:
        calls = 3 if grows else 2
        edits = int(said.answer / model.tokens_per_second / given.discord.edit_seconds)
        uses[CALLS].add(at, calls)
        uses[ALL_CALLS].add(at, calls + edits)


def kept_gb(given: Parameters, messages: float) -> float:
    """Gigabytes in the database, with so many messages a day."""
    database = given.postgres
    return messages * database.retention_days * database.stored_kb / 1e6


def seconds_of_turn(given: Parameters, said: Said) -> float:
    """The time that a turn has its place for, on average."""
    model = given.model
    tokens = (model.calls - 1) * model.call_tokens + said.answer
    return model.calls * model.first_token + tokens / model.tokens_per_second


def sized(given: Parameters, found: Iterable[Wall], load: float) -> Parameters:
    """The installation, grown to what a load needs.

    Only what is ours to grow; nothing gets smaller.
    """
    more = {wall.name: max(1.0, wall.at(load) / ROOM) for wall in found}
    nodes, model = given.nodes, given.model
    count = math.ceil(nodes.count * more[NODES])
    turns = math.ceil(nodes.count * nodes.parallel_turns * more[TURNS] / count)
    return (
        given.changed("nodes", count=count, parallel_turns=max(nodes.parallel_turns, turns))
        .changed("postgres", cores=math.ceil(given.postgres.cores * more[DATABASE]))
        .changed(
            "model",
            requests_per_minute=math.ceil(model.requests_per_minute * more[REQUESTS]),
            tokens_per_minute=math.ceil(model.tokens_per_minute * more[TOKENS]),
        )
    )
