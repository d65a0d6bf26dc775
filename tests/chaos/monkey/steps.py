"""Steps of a monkey at a terminal, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Step = tuple[Any, ...]
"""A kind of step and its values, all of them JSON."""

SMALL = [(30, 8), (40, 12), (60, 20), (80, 24), (99, 24), (100, 24)]
SIZES = [*SMALL * 3, (140, 40), (180, 50)]
TEXTS = [
    "what is 6*7?",
    "calculate 2^10 and 3*3",
    "read notes.txt",
    "what time is it in Tokyo?",
    "what time is it?",
    "/status",
    "/rename a [title]",
    "/only",
    "/stop",
    "/help",
    "/new",
    "/retry",
    "/undo",
    "/fork",
    "/rewind",
    "/mode plan",
    "/mode edits",
    "/mode ask",
    "/attach notes.txt",
    "/attach nothing.txt",
    "/detach",
    "@notes.txt what is it?",
    "/copy 2",
    "/export events",
    "/theme nord",
    "/usage",
    "@reviewer look",
    "[/nope] \u202egnp.exe",
    "é漢字👩‍👩‍👧 \ttab",
]
PASTES = [
    "notes.txt",
    "one\ntwo\nthree",
    "x" * 3000,
    "a line\n" * 20,
    "[bold]no[/]\x1b[2J",
    "/quit no",
    "@",
    "",
]
NEUTRAL = [
    "escape",
    "escape",
    "ctrl+t",
    "ctrl+s",
    "ctrl+p",
    "ctrl+o",
    "ctrl+f",
    "ctrl+r",
    "f8",
    "f1",
    "f9",
    "pageup",
    "pagedown",
    "ctrl+end",
    "shift+tab",
    "ctrl+up",
    "ctrl+down",
    "f6",
]
"""Keys that change no draft."""
KEYS = [
    *NEUTRAL,
    *"abny1/@ ",
    "enter",
    "enter",
    "ctrl+j",
    "up",
    "down",
    "left",
    "home",
    "end",
    "tab",
    "backspace",
    "delete",
    "ctrl+g",
    "ctrl+c",
    "ctrl+w",
    "ctrl+u",
    "ctrl+z",
    "ctrl+a",
    "d",
    "r",
    "q",
    "shift+up",
    "shift+down",
    "ctrl+q",
    "ctrl+v",
    "f5",
    "f7",
]
LONGEST_CARE = 12
ASKS, FAILS = ("read notes.txt",), ("/new failing", "go on")
"""Messages after which the team needs an approval, and after which its model fails."""


def steps_of(seed: int, events: int, *, burst: int) -> Iterator[Step]:
    """Yield events in bursts, with a look at the chat between them.

    The longer the longest `burst`, the fewer frames are drawn: it is faster, and sees less.
    """
    chance = random.Random(seed)
    done = 0
    while done < events:
        kind = chance.choices(("burst", "say", "careful", "kill"), (40, 34, 12, 8))[0]
        match kind:
            case "burst":
                some = [_wild(chance) for _ in range(chance.randint(1, burst))]
            case "say":
                talk = chance.choices((ASKS, FAILS, (chance.choice(TEXTS),)), (3, 2, 5))[0]
                some = [step for said in talk for step in (("say", said), ("rest",))]
                some += [("look",), *(_quiet(chance) for _ in range(3))]
            case "careful":
                quiet = [_quiet(chance) for _ in range(chance.randint(1, LONGEST_CARE))]
                some = [("draft", f"kept{done}"), *quiet, ("drafted",)]
            case _:
                some = [("kill",)]
        yield from some
        yield ("look",)
        done += len(some)


def _wild(chance: random.Random) -> Step:
    match chance.randrange(20):
        case 0:
            return ("paste", chance.choice(PASTES))
        case 2:
            return ("key", "escape", "escape")
        case 1:
            return ("pause", chance.choice((0.01, 0.01, 0.1, 0.6)))
        case number if number < 7:
            return _quiet(chance)
        case _:
            return ("key", chance.choice(KEYS))


def _quiet(chance: random.Random) -> Step:
    match chance.randrange(8):
        case 0 | 1:
            return ("click", round(chance.random(), 3), round(chance.random(), 3))
        case 2:
            return (
                "wheel",
                round(chance.random(), 3),
                round(chance.random(), 3),
                chance.choice("ud"),
            )
        case 3:
            return ("resize", *chance.choice(SIZES))
        case _:
            return ("key", chance.choice(NEUTRAL))
