"""`parley chat`: its words on the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gateway.cli import main


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--session", "t", "--new"], "--new starts a new one. Leave out one of them."),
        (["--session", "t", "--team", "a"], "--team starts a new one."),
        ([" "], "The message is empty."),
    ],
)
def test_words_that_contradict_each_other_are_refused(args: list[str], said: str) -> None:
    ran = CliRunner().invoke(main, ["chat", *args])
    assert ran.exit_code == 2
    assert said in " ".join(ran.stderr.split())
