"""A day at 1 to 1,000 times the load."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measure import Figures
from benchmarks.report import Row, Table
from benchmarks.scale.day import DAY, GROWTHS, Growth, Said, busiest, grown
from benchmarks.scale.demand import SLOT, Wall, kept_gb, sized, walls
from benchmarks.scale.parameters import Parameters, read
from benchmarks.scale.sample import sample_day
from benchmarks.scale.simulation import DELAYS, Outcome, simulate

LOADS = (1, 10, 100, 1000)
SMOOTH = 10
"""Times the load at which the walls are computed: a single day has few messages in a slot."""
SHORTEST = 0.01
"""A wait in seconds that is not worth a row."""


def run(*, quick: bool) -> Table:
    """Play the sample day. Takes about ten seconds, or half a minute."""
    loads, seconds = (LOADS[:-1], 120) if quick else (LOADS, 300)
    return played(read(), sample_day(), loads, seconds)


def played(given: Parameters, said: Sequence[Said], loads: Sequence[int], seconds: float) -> Table:
    """Play the busiest stretch of a day.

    The next walls are printed beside the table.
    """
    table = Table(
        title=f"Scale: a day of {len(said):,} messages, simulated",
        columns=[_times(load) for load in loads],
        ratio="",
    )
    for growth in GROWTHS:
        part = _Part(given, said, growth, loads, seconds)
        print("\n".join(part.next_walls()), end="\n\n", flush=True)
        table.rows += [*part.shares(), *part.waits(), *part.needs()]
    return table


@dataclass(frozen=True, slots=True)
class _Part:
    """One way to grow."""

    given: Parameters
    said: Sequence[Said]
    growth: Growth
    loads: Sequence[int]
    seconds: float

    def walls(self) -> list[Wall]:
        many = grown(self.said, SMOOTH, self.growth, 0.0, DAY)
        return walls(self.given, many, self.growth, SMOOTH)

    def next_walls(self) -> Iterator[str]:
        """Sentences about passed and next walls at each load."""
        found = self.walls()
        for load in self.loads:
            ahead = next((wall for wall in found if wall.at(load) <= 1 and wall.grows), None)
            coming = f"next is {ahead.name}, full at {ahead.full_at:,.0f} x" if ahead else "none"
            yield f"{self.growth}, {_times(load)}: {coming}"
            for wall in found:
                if wall.at(load) > 1:
                    yield f"  {wall.name}: {wall.at(load):.1f} of it are wanted; {wall.remedy}"

    def shares(self) -> Iterator[Row]:
        """The wanted share of each resource in its busiest minutes."""
        for wall in self.walls():
            full = f"full at {wall.full_at:,.0f} x" if wall.grows else "does not grow"
            cells = {load: wall.at(load) for load in self.loads}
            yield self._row(f"share of {wall.name}", "", cells, full)

    def waits(self) -> Iterator[Row]:
        """Waits in the busiest stretch, before and after sizing."""
        found, start = self.walls(), busiest(self.said, self.seconds)
        for sizes, name in ((False, "as it is"), (True, "sized")):
            outcomes: dict[int, Outcome] = {}
            for load in self.loads:
                print(f"  {self.growth}, {_times(load)}, {name}", file=sys.stderr, flush=True)
                given = sized(self.given, found, load) if sizes else self.given
                many = grown(self.said, load, self.growth, start, self.seconds)
                outcomes[load] = simulate(given, many)
            for station in DELAYS:
                for part in (0.5, 0.99):
                    cells = {load: each.wait(station, part) for load, each in outcomes.items()}
                    if max(cells.values()) >= SHORTEST:
                        yield self._row(f"{name}: wait, {station}, p{100 * part:.0f}", "s", cells)

    def needs(self) -> Iterator[Row]:
        """The needs of a load, with room for peaks."""
        found = self.walls()
        needs = {load: self._needs(sized(self.given, found, load), load) for load in self.loads}
        for name in needs[self.loads[0]]:
            cells = {load: each[name] for load, each in needs.items()}
            yield self._row(f"needs {name}", "", cells)

    def _needs(self, now: Parameters, load: int) -> dict[str, float]:
        start = busiest(self.said, SLOT)
        rate = load * sum(start <= each.at < start + SLOT for each in self.said) / SLOT
        nodes, discord = now.nodes, now.discord
        guilds = discord.guilds * (load if self.growth == "wider" else 1)
        shards = math.ceil(guilds / discord.guilds_per_shard)
        return {
            "messages a second at the peak": rate,
            "nodes": nodes.count,
            "parallel_turns of each": nodes.parallel_turns,
            "connections of PostgreSQL": nodes.count * (nodes.pool_size + nodes.more_connections),
            "Socket Mode connections": nodes.count * now.slack.sockets_per_node,
            "cores of PostgreSQL": now.postgres.cores,
            "MB of WAL a second at the peak": rate * now.postgres.wal_kb / 1000,
            "GB of disk": kept_gb(now, load * len(self.said)),
            "million model tokens a minute": now.model.tokens_per_minute / 1e6,
            "shards of Discord": shards,
            "seconds until all shards are identified": shards * discord.identify_seconds,
        }

    def _row(self, name: str, unit: str, cells: Mapping[int, float], note: str = "") -> Row:
        return Row(
            name=f"{self.growth}: {name}",
            unit=unit,
            cells={_times(load): Figures.of([value]) for load, value in cells.items()},
            note=note,
        )


def _times(load: int) -> str:
    return f"{load:,} x"
