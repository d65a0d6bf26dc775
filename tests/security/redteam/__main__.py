"""`make redteam`: a served process between a hostile side and a victim.

It starts `parley serve` on both simulated platforms, twice: with the victim alone, then with a
hostile person, model, tool, file and code beside it, hostile servers, outsiders at its port, and
another user of the machine. Afterwards the command line reads hostile component files. It prints
what the hostile side has moved, and how long the victim waited. It ends with exit code 1 if
anything moved; with `--long` also if the victim's p99 is more than twice that without the hostile
side.

The victim has a channel of its own, and the simulators let every request through: people who share
a channel share its limits on the platform, and these would be all that is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.security.redteam import (
    aftermath,
    code,
    component,
    edges,
    file,
    machines,
    model,
    neighbour,
    person,
    tool,
)
from tests.security.redteam.chats import Chat, until
from tests.security.redteam.mcp_server import ASKED
from tests.security.redteam.moved import Moved
from tests.security.redteam.scene import VICTIMS, Scene, open_scene
from tests.security.redteam.scripts import named
from tests.security.redteam.victim import Waits, ask_once, ask_until, percentile
from tests.security.redteam.words import HOSTILE

SHORT, LONG = 10.0, 90.0
"""Seconds that the victim asks, without the hostile side and with it."""
GOAL = 2.0
"""The victim waits at most this many times longer beside the hostile side."""
MOST_MEMORY = 2_000
"""Megabytes that the served process may have had at its peak."""
PEAK = re.compile(r"VmHWM:\s+(\d+)")
BURST, STEADY = 40, 5
"""Messages of the first flood, and of one in each second after it: more than a client can send."""


async def measure(seconds: float, moved: Moved, *, hostile: bool) -> dict[str, Waits]:
    """Let the victim ask for so long; look for what moved."""
    with tempfile.TemporaryDirectory(prefix="parley-redteam-") as name:
        folder = Path(name)
        os.chmod(folder, 0o755)  # the store has to be closed by itself
        async with open_scene(folder, moved) as scene:
            for chat in scene.chats:
                await ask_once(chat, Waits(), "first", VICTIMS[0])
            waits = await _ask(scene, seconds, hostile=hostile)
            if hostile:
                await _look(scene)
        if hostile:
            aftermath.look(folder, moved)
            await component.read(folder / "components", moved)
    return waits


async def _ask(scene: Scene, seconds: float, *, hostile: bool) -> dict[str, Waits]:
    waits, ends = {chat.name: Waits() for chat in scene.chats}, time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for chat in scene.chats:
            for who in VICTIMS:
                group.create_task(ask_until(chat, ends, waits[chat.name], who))
            if hostile:
                group.create_task(_attack_until(scene, chat, ends))
        if hostile:
            store, ports = scene.folder / "store", (scene.ports.health, scene.ports.slack)
            group.create_task(neighbour.trespass(scene.process.pid, store, ports, scene.moved))
            group.create_task(edges.attack(scene.slack, scene.ports.slack, scene.moved))
    return waits


async def _attack_until(scene: Scene, chat: Chat, ends: float) -> None:
    """All roles at once; then floods and huge texts until the end."""
    async with asyncio.TaskGroup() as group:
        for attack in (
            person.flood(chat, BURST),
            person.write_huge(chat),
            person.forge_approvals(chat, scene.moved),
            person.click_cards_of_others(chat, scene.moved),
            person.command(chat),
            person.imitate(chat),
            person.borrow_rights(chat, scene.moved),
            person.intrude(chat),
            file.send(chat, str(scene.outside)),
            code.run(chat, scene.moved),
            _play(chat, [*model.scripts(""), *tool.SCRIPTS]),
            machines.attack(chat, scene.folder),
        ):
            group.create_task(attack)
    while time.monotonic() < ends:
        await person.flood(chat, STEADY)
        await person.write_huge(chat)
        await asyncio.sleep(1)


async def _play(chat: Chat, scripts: list[str]) -> None:
    """Have the model play each script, in a thread of its own."""
    for script in scripts:
        await chat.ask("eve", f"{HOSTILE} {named(script)}")


async def _look(scene: Scene) -> None:
    known = {*model.scripts(""), *tool.SCRIPTS, *file.SCRIPTS, *person.SCRIPTS, *code.NAMES}
    known |= {*machines.SCRIPTS}
    await until(lambda: known <= scene.server.played)
    await scene.settled()
    for chat in scene.chats:
        chat.look(scene.moved)
    edges.look(scene.slack, scene.moved)
    asked = await until((scene.folder / "bills" / f"pipe-{ASKED}").exists)
    scene.moved.check("red team", "no call of a server that asks back has ended", moved=not asked)
    figures = await scene.figures()
    print(f"The event loop stood still {figures['parley_loop_stalls_total']:g} times.")
    peak = _peak_megabytes(scene.process.pid)
    scene.moved.check("memory", f"the process took {peak:,} MB", moved=peak > MOST_MEMORY)
    for script in sorted(known - scene.server.played):
        scene.moved.note("red team", f"the script {script!r} was not played: look why")
    if not scene.contained:
        print("No Docker runs here: the code ran under the tests' engine, which has no walls.")


def _peak_megabytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    return int(PEAK.findall(status.read_text())[0]) // 1024 if status.exists() else 0


def show(title: str, alone: list[float], beside: list[float]) -> float:
    """Print p50 and p99 of both; return the factor between the latter."""
    factor = percentile(beside, 0.99) / percentile(alone, 0.99)
    for side, times in (("alone", alone), ("beside the hostile side", beside)):
        middle, worst = percentile(times, 0.5), percentile(times, 0.99)
        print(f"{title}, {side}: p50 {middle:.2f} s, p99 {worst:.2f} s of {len(times)} answers")
    print(f"{title}: p99 is {factor:.2f} times as long (goal: at most {GOAL:g})")
    return factor


def show_waits(alone: dict[str, Waits], beside: dict[str, Waits], moved: Moved) -> float:
    """Print what the victim waited; how many times longer at most."""
    factors: list[float] = []
    for name, waits in beside.items():
        factors.append(show(f"{name}, first word", alone[name].first, waits.first))
        factors.append(show(f"{name}, whole answer", alone[name].whole, waits.whole))
        silent = alone[name].unanswered + waits.unanswered
        moved.check("victim", f"a question on {name} got no answer", moved=silent > 0)
    return max(factors)


def main() -> int:
    """Run, print and judge."""
    parser = argparse.ArgumentParser(prog="make redteam", description=__doc__)
    parser.add_argument("--long", action="store_true", help="minutes instead of seconds")
    options = parser.parse_args()
    seconds, moved = LONG if options.long else SHORT, Moved()
    alone = asyncio.run(measure(seconds, Moved(), hostile=False))
    beside = asyncio.run(measure(seconds, moved, hostile=True))
    factor = show_waits(alone, beside, moved)
    places = ", ".join(f"{place} {times}" for place, times in sorted(moved.looked.items()))
    print(f"Looks at each place: {places}")
    found = moved.lines()
    print("\n  ".join(["What moved:", *found]) if found else "What moved: nothing")
    slow = options.long and not factor <= GOAL
    return 1 if found or slow else 0


if __name__ == "__main__":
    sys.exit(main())
