"""Expressions of a program that name AutoGen, rewritten."""

from __future__ import annotations

import pytest

from gateway.migrate.rewrite import rewrite

CORE = "import autogen_core\n"
OURS = "import teams.core\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = (autogen_core.Image)\n", "x = (teams.core.Image)\n"),
        ("x = autogen_core.Image.from_file(f)\n", "x = teams.core.Image.from_file(f)\n"),
        ("getLogger('autogen_core')\n", "getLogger('teams')\n"),
        ('getLogger("autogen_core.events")\n', 'getLogger("teams.events")\n'),
        ("say('autogen_core')\n", "say('autogen_core')\n"),
        ("x: 'autogen_core.Image'\n", "x: 'teams.core.Image'\n"),
        ("x = 'see autogen_core.Image there!'\n",) * 2,
    ],
)
def test_an_expression_names_its_home(before: str, after: str) -> None:
    done = rewrite(CORE + before)
    assert (done.code, done.notes) == (OURS + after, ())


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 1\nautogen_core.Nobody\n", "autogen_core.Nobody: "),
        (
            "from autogen_agentchat.teams import Swarm\nSwarm([], runtime=r)\n",
            "runtime=: leave it out; a team needs no runtime",
        ),
        (
            "from autogen_agentchat.teams import BaseGroupChat as B\nclass Mine(B): ...\n",
            "Mine: write select_speaker; there is no manager",
        ),
        (
            "from autogen_agentchat.base import TerminatedException as T\n"
            "try: ...\nexcept (OSError, T): ...\n",
            "TerminatedException: a RuntimeError here",
        ),
    ],
)
def test_an_expression_that_needs_a_hand_is_told(source: str, told: str) -> None:
    [note] = rewrite(source).notes
    assert note.text.startswith(told)
    assert note.line == source.count("\n")


@pytest.mark.parametrize(
    "source",
    [
        "from autogen_agentchat.teams import Swarm\nSwarm([], runtime=None)\n",
        "from autogen_agentchat.base import TerminatedException\ntry: ...\nexcept: ...\n",
        "Other([], runtime=r)\n",
    ],
)
def test_an_expression_that_works_as_it_is_is_not_told(source: str) -> None:
    assert rewrite(source).notes == ()
