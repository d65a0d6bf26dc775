"""The plan of a campaign: people's actions and faults, from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["plain", "tool", "pay", "ask", "file"]
Downtime: TypeAlias = Literal["kill", "lose", "stop", "sever", "freeze", "sleep"]
"""Ways to be away.

What sleeps stands still, and loses its connection meanwhile; who loses is killed, and the end of
the store's log is gone.
"""
Breakage: TypeAlias = Literal["cut", "error"]
"""Ends of a model's stream after some text: the socket is cut, or an error is told."""
Trouble: TypeAlias = Literal["refused", "cut before", "cut after", "failed after"]
"""Trouble with a call: it is refused for its rate, or its answer is lost."""

PEOPLE = ("ann", "bob", "cid", "dee")
CHANNELS = ("general", "random", "quiet")
DIRECT = "direct"
MODES: dict[str, str] = {
    "general": "queue",
    "random": "steer",
    "quiet": "collect",
    DIRECT: "queue",
}
"""The mode of each place's threads."""
KINDS: Sequence[Kind] = ("plain",) * 9 + ("tool", "tool", "pay", "ask", "file")

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
ANSWERED = 15 * MINUTE
"""The age up to which missed messages are answered; `answer_missed_minutes`."""
OFFERED = 7 * DAY
"""The age up to which an answer is offered; `missed_days`. Older messages are counted."""
PAUSED: Sequence[Downtime] = ("kill", "kill", "kill", "stop", "sever", "freeze", "sleep")
FLAPS = 7
AWAY, BACK = 18.0, 42.0
"""Seconds of a gap and between two: each of Slack's tries, whole minutes apart, meets one."""
PAUSES = (5.0, 45.0, 2 * MINUTE, 10 * MINUTE, 40 * MINUTE, 6 * HOUR, 3 * DAY, 9 * DAY)


@dataclass(frozen=True, slots=True)
class Say:
    """Somebody writes a message. `thread` numbers its thread's first message."""

    n: int
    person: str
    where: str
    thread: int
    kind: Kind = "plain"

    @property
    def opens(self) -> bool:
        """True for the first message of a thread."""
        return self.thread == self.n


@dataclass(frozen=True, slots=True)
class Edit:
    """The author gives the message another text."""

    n: int
    version: int


@dataclass(frozen=True, slots=True)
class Delete:
    """The author deletes the message."""

    n: int


@dataclass(frozen=True, slots=True)
class Approve:
    """The author approves what message `n` needs, if already asked."""

    n: int


@dataclass(frozen=True, slots=True)
class Advance:
    """Time goes by, for the platform and the process."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """The process or its connection ends, after so many more events."""

    how: Downtime
    after: int = 0


@dataclass(frozen=True, slots=True)
class Begin:
    """The process or its connection is back; redeliveries have this order.

    None: what was not acknowledged comes when it is due.
    """

    order: int | None


@dataclass(frozen=True, slots=True)
class Disturb:
    """The platform fails some calls, before or after it did them."""

    how: Trouble
    times: int


@dataclass(frozen=True, slots=True)
class Break:
    """So many of the model's next answers break off after some text."""

    how: Breakage
    times: int


@dataclass(frozen=True, slots=True)
class Backup:
    """The operator copies the store."""


@dataclass(frozen=True, slots=True)
class Restore:
    """The operator puts the copy back, while all goes on."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until nothing moves."""


Happening: TypeAlias = Advance | End | Begin | Disturb | Break | Backup | Restore | Settle
Step: TypeAlias = Say | Edit | Delete | Approve | Happening


@dataclass(slots=True)
class _Thread:
    root: Say
    settled: bool = False


@dataclass(slots=True)
class Planner:
    """Writes plans. A `long` one has more of everything."""

    seed: int
    platform: str
    long: bool = False
    steps: list[Step] = field(default_factory=list[Step])
    _threads: list[_Thread] = field(default_factory=list[_Thread])
    _said: list[Say] = field(default_factory=list[Say])
    _versions: dict[int, int] = field(default_factory=dict[int, int])
    _paused: bool = False
    """True once something may not be heard."""
    _met: set[str] = field(default_factory=set[str])
    """People whose direct conversation with the bot has begun."""
    _gone: set[int] = field(default_factory=set[int])

    def plan(self) -> list[Step]:
        """The steps, the same for the same seed."""
        dice = random.Random(self.seed)
        self._open(dice, dice.choice(CHANNELS))
        self._live(dice, 5)
        self.steps.append(Settle())
        self._paused = True
        for number in range(5 if self.long else 2):
            self._know_threads()
            self._live(dice, dice.randint(3, 6))
            self._break(dice)
            if number == self.seed % 3:
                self._flap(dice)
            elif number == (self.seed + 1) % 3:
                self._lose(dice)
            else:
                how: Downtime = dice.choice(PAUSED)
                self._pause(dice, how)
            if dice.random() < 0.5:
                self._live(dice, dice.randint(1, 4))
            self.steps.append(Settle())
        return self.steps

    def _know_threads(self) -> None:
        for thread in self._threads:
            thread.settled = True
        self._met = {said.person for said in self._said if said.where == DIRECT}

    def _live(self, dice: random.Random, count: int) -> None:
        for _ in range(count):
            self._act(dice, away=False)
        if dice.random() < 0.6:
            how: Trouble = dice.choice(("refused", "cut before", "cut after", "failed after"))
            self.steps.insert(len(self.steps) - 1, Disturb(how, dice.randint(1, 3)))

    def _break(self, dice: random.Random) -> None:
        """Let answers break off, and people write on below them."""
        self.steps.append(Break(dice.choice(("cut", "error")), dice.randint(1, 2)))
        for _ in range(dice.randint(2, 4)):
            self._act(dice, away=False)

    def _flap(self, dice: random.Random) -> None:
        """Cut the link in the rhythm of the platform's tries to deliver."""
        for _ in range(FLAPS):
            self.steps += [End("sever"), Advance(AWAY / 2)]
            if dice.random() < 0.7:
                self._act(dice, away=True)
            self.steps += [Advance(AWAY / 2), Begin(None), Advance(BACK)]

    def _lose(self, dice: random.Random) -> None:
        """Lose the last records, of the log or by a restore."""
        if self.seed // 2 % 2:
            self.steps.append(Backup())
            self._live(dice, dice.randint(2, 5))
            self.steps.append(Restore())
        else:
            self._pause(dice, "lose")

    def _pause(self, dice: random.Random, how: Downtime) -> None:
        self.steps.append(End(how, dice.randint(0, 8)))
        seconds = dice.choice(PAUSES)
        crowd = self.long and dice.random() < 0.3
        parts = dice.randint(15, 30) if crowd else dice.randint(2, 6)
        for _ in range(parts):
            self._act(dice, away=True)
            if dice.random() < 0.5:
                self.steps.append(Advance(dice.uniform(1, 20)))
        self.steps.append(Advance(seconds))
        for _ in range(dice.randint(0, 2)):
            self._act(dice, away=True)
        self.steps.append(Begin(dice.randrange(1000)))

    def _act(self, dice: random.Random, *, away: bool) -> None:
        # On Discord the bot makes the threads.
        there = not away or self.platform == "slack"
        known = [each for each in self._threads if each.settled or there]
        chance = dice.random()
        if chance < 0.08 and (said := self._changeable()):
            n = dice.choice(said).n
            self._versions[n] += 1
            self.steps.append(Edit(n, self._versions[n]))
        elif chance < 0.15 and (said := self._changeable()):
            n = dice.choice(said).n
            self._gone.add(n)
            self.steps.append(Delete(n))
        elif chance < 0.22 and not away and (paid := [e for e in self._said if e.kind == "pay"]):
            self.steps.append(Approve(dice.choice(paid).n))
        elif chance < 0.65 and known:
            self._reply(dice, dice.choice(known))
        else:
            self._open(dice)

    def _changeable(self) -> list[Say]:
        """The newest messages that are still there; a thread's first one stays."""
        return [each for each in self._said[-6:] if each.n not in self._gone and not each.opens]

    def _open(self, dice: random.Random, where: str = "") -> None:
        n = len(self._said) + 1
        person = dice.choice(PEOPLE)
        where = where or (DIRECT if dice.random() < 0.2 else dice.choice(CHANNELS))
        # Discord lists no direct conversations for bots: the first message has to be heard.
        heard = self.platform != "discord" or person in self._met or not self._paused
        if where == DIRECT and not heard:
            where = dice.choice(CHANNELS)
        said = Say(n, person, where, n, dice.choice(KINDS))
        self._add(said)
        self._threads.append(_Thread(said))

    def _reply(self, dice: random.Random, thread: _Thread) -> None:
        """Write one message in a thread, or several in a row."""
        root = thread.root
        person = root.person if root.where == DIRECT else dice.choice(PEOPLE)
        for _ in range(dice.randint(2, 3) if dice.random() < 0.3 else 1):
            n = len(self._said) + 1
            self._add(Say(n, person, root.where, root.n, dice.choice(KINDS)))

    def _add(self, said: Say) -> None:
        self._said.append(said)
        self._versions[said.n] = 1
        self.steps.append(said)


def mark(n: int, version: int = 1) -> str:
    """The mark by which a message is known everywhere."""
    return f"m{n:04}v{version}"


def text_of(said: Say, version: int = 1) -> str:
    """A message's text."""
    return f"{mark(said.n, version)} {said.kind} please"
