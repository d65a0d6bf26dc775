"""Laws of the simulation in `benchmarks/scale/`."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.scale.day import (
    DAY,
    GROWTHS,
    Growth,
    Said,
    busiest,
    grown,
    read_day,
    write_day,
)
from benchmarks.scale.demand import DISK, ROOM, Wall, sized, walls
from benchmarks.scale.export_day import rows_of, said_in
from benchmarks.scale.parameters import Parameters, read
from benchmarks.scale.resources import Clock, Places, Rate, Servers
from benchmarks.scale.sample import sample_day
from benchmarks.scale.simulation import DELAYS, Outcome, simulate
from gateway.store.sqlite.store import SqliteStore

GIVEN, SAMPLE = read(), sample_day()
STRETCH = 60.0
TURN = "turn, after the thread's own"


def stretch(load: int, growth: Growth = "wider") -> list[Said]:
    return list(grown(SAMPLE, load, growth, busiest(SAMPLE, STRETCH), STRETCH))


def found(given: Parameters = GIVEN, growth: Growth = "busier") -> dict[str, Wall]:
    return {wall.name: wall for wall in walls(given, SAMPLE, growth)}


def test_a_day_is_read_as_it_was_written(tmp_path: Path):
    write_day(tmp_path / "day.csv", SAMPLE)
    assert read_day(tmp_path / "day.csv") == SAMPLE


def test_the_sample_day_is_the_same_each_time():
    assert sample_day() == SAMPLE
    assert len(SAMPLE) == 5818


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no recorded day"):
        read_day(tmp_path / "other.csv")


def test_each_message_of_a_day_is_answered_once():
    assert simulate(GIVEN, SAMPLE).told == Counter(SAMPLE)


@pytest.mark.parametrize("growth", GROWTHS)
def test_each_message_is_answered_once_beyond_every_wall(growth: Growth):
    said = stretch(200, growth)
    assert simulate(GIVEN, said).told == Counter(said)


def test_the_same_seed_gives_the_same_outcome():
    said = stretch(100)
    first, again, other = (simulate(GIVEN, said, seed) for seed in (1, 1, 2))
    assert (first.waits, first.until) == (again.waits, again.until)
    assert first.waits != other.waits


def test_copies_of_a_thread_keep_its_order_and_its_people_apart():
    whole = list(grown(SAMPLE, 3, "busier", 0.0, DAY))
    assert {said.channel for said in whole} == {said.channel for said in SAMPLE}
    assert {said.thread >> 32 for said in whole} == {0, 1, 2}
    assert {said.person >> 32 for said in whole} == {0, 1, 2}
    mine = next(said for said in SAMPLE if said.at > DAY / 2)
    copies = [said.at for said in whole if said.thread == mine.thread | 2 << 32]
    assert copies == sorted(copies)


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_one_server_waits_as_the_formula_of_m_d_1_says(busy: float):
    chance, servers, now, waited, count = random.Random(1), Servers(1), 0.0, 0.0, 200_000
    for _ in range(count):
        now += chance.expovariate(busy)
        waited += servers.use(now, 1.0) - 1.0 - now
    assert waited / count == pytest.approx(busy / (2 * (1 - busy)), rel=0.05)


def test_a_rate_gives_its_burst_and_then_its_tokens_in_time():
    rate = Rate(60, 3)
    assert [rate.take(10.0) for _ in range(5)] == [10.0, 10.0, 10.0, 11.0, 12.0]
    assert not rate.try_take(12.0)
    assert rate.try_take(13.0)
    assert rate.tokens(100.0) == 3


def test_places_go_to_those_who_waited_longest():
    clock, order = Clock(), list[str]()
    places = Places(clock, 1)

    def life(name: str) -> Generator[float | None, None, None]:
        yield places.enter()
        order.append(f"{name} {clock.now:g}")
        yield clock.now + 2
        places.leave()

    for at, name in ((0.0, "a"), (1.0, "b"), (1.5, "c")):
        clock.start(at, life(name))
    clock.run()
    assert order == ["a 0", "b 2", "c 4"]


@pytest.mark.parametrize(
    ("table", "figure", "wall"),
    [
        ("nodes", "count", "node: cores"),
        ("nodes", "parallel_turns", "node: parallel_turns"),
        ("postgres", "cores", "PostgreSQL: cores"),
        ("postgres", "disk_gb", DISK),
        ("model", "requests_per_minute", "model: requests"),
        ("model", "tokens_per_minute", "model: tokens"),
        ("slack", "start_per_minute", "Slack: streams of a workspace"),
        ("slack", "post_per_minute", "Slack: posts of a channel"),
        ("slack", "events_per_hour", "Slack: events of a workspace"),
        ("discord", "calls_per_second", "Discord: calls of the bot"),
    ],
)
def test_a_wall_moves_as_far_as_its_resource_grows(table: str, figure: str, wall: str):
    twice = GIVEN.changed(table, **{figure: 2 * GIVEN.model_dump()[table][figure]})
    assert found(twice)[wall].full_at == pytest.approx(2 * found()[wall].full_at)


def wait(outcome: Outcome, station: str = TURN) -> float:
    return outcome.wait(station, 0.99)


def test_messages_wait_beyond_a_wall_and_not_before_it():
    said, wall = stretch(60), found()["node: parallel_turns"]
    assert wall.full_at < 60
    roomy = sized(GIVEN, [*found().values()], 120)
    assert wait(simulate(GIVEN, said)) > 5
    assert wait(simulate(roomy, said)) < 0.1


def test_every_resource_has_its_station():
    tight = {
        "accepted": GIVEN.changed("nodes", cpu_ms=2000),
        TURN: GIVEN.changed("nodes", parallel_turns=1),
        "model": GIVEN.changed("model", requests_per_minute=6),
        "first words": GIVEN.changed("discord", calls_per_second=0.1),
        "between two pieces": GIVEN.changed("slack", append_per_minute=2, append_burst=1),
        "last words": GIVEN.changed("slack", stop_per_minute=1, start_burst=1),
    }
    assert list(tight) == list(DELAYS)
    said = stretch(10, "busier")
    usual = simulate(GIVEN, said)
    for station, given in tight.items():
        assert wait(simulate(given, said), station) > 2 * wait(usual, station) + 1, station


def test_what_is_sized_for_a_load_has_room_at_it():
    now = sized(GIVEN, [*found().values()], 1000)
    for wall in walls(now, SAMPLE, "wider"):
        if not wall.name.startswith(("Slack", "Discord", DISK)):
            assert wall.at(1000) <= ROOM * 1.01, wall.name


def test_more_workspaces_do_not_fill_the_limits_of_one():
    wall = found(growth="wider")["Slack: answers of a workspace"]
    assert wall.at(1000) == wall.at(1)


def test_unknown_figures_are_refused(tmp_path: Path):
    (tmp_path / "wrong.toml").write_text("[nodes]\ncount = 3\nspeed = 1\n")
    with pytest.raises(ValueError, match="speed"):
        read(tmp_path / "wrong.toml")


async def test_a_stores_day_is_written_without_texts_and_names(tmp_path: Path):
    store = SqliteStore(tmp_path)
    async with store.own():
        pass
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute("PRAGMA foreign_keys = OFF")
        message = (
            "INSERT INTO inbox (conversation, thread, turn, kind, outcome, author, author_name,"
            " text, received_at) VALUES (?, 't', 'u', 'message', ?, ?, 'Ann', 'secret', ?)"
        )
        for conversation, outcome, author, at in (
            ("slack/T1/C1/1.0/", "turn", "slack:T1:ann", 90_010.0),
            ("slack/T1/C1/1.0/", "merged", "slack:T1:bob", 90_020.0),
            ("slack/T1/C1/1.0/", "refused", "slack:T1:bob", 90_030.0),
            ("slack/T1/C1/1.0/", "turn", "slack:T1:ann", 10.0),
            ("local///x/", "turn", "local:operator", 90_040.0),
        ):
            file.execute(message, (conversation, outcome, author, at))
        file.execute(
            "INSERT INTO usage VALUES ('t', 'u', 'm', '', 's', 'w', 100, 42, 0, 1, 90012, 0)"
        )
    rows = rows_of(str(store.path), 86_400.0)
    first, second = said_in(rows, 86_400.0)
    assert first == Said(3610.0, "slack", 1, 2, 3, 4, "message", 42)
    assert second == Said(3620.0, "slack", 1, 2, 3, 5, "message", 0)
