"""Single statements and expressions, rewritten."""

from __future__ import annotations

import pytest

from gateway.migrate.rewrite import NotPython, rewrite


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from autogen_core import CancellationToken, models  # both\n",
            "from teams.core import CancellationToken\nfrom teams import models  # both\n",
        ),
        (
            "if X: from autogen_core import CancellationToken as C, models\n",
            "if X: from teams.core import CancellationToken as C; from teams import models\n",
        ),
        (
            "from autogen_ext.models.openai.config import (\n    ModelInfo,  # abilities\n"
            "    CreateArguments,\n)\n",
            "from teams.models import (\n    ModelInfo,  # abilities\n)\n"
            "from teams.models.openai import CreateArguments\n",
        ),
        ("import autogen_agentchat.teams, os\n", "import teams, os\n"),
        (
            "import autogen_core as c\nx = (c.CancellationToken)()\n",
            "import teams.core as c\nx = (c.CancellationToken)()\n",
        ),
        ("x: 'list[autogen_core.Image] | None'\n", "x: 'list[teams.core.Image] | None'\n"),
        ("print('about autogen_core.Image objects')\n",) * 2,
        ("from .autogen_core import CancellationToken\n",) * 2,
        ("from my.autogen_core import CancellationToken\n",) * 2,
    ],
)
def test_a_statement(before: str, after: str) -> None:
    done = rewrite(before)
    assert done.code == after
    assert done.notes == ()
    assert rewrite(after).code == after


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("from autogen_core import SingleThreadedAgentRuntime, TopicId\n", "no actor runtime"),
        ("import autogenstudio\n", "parley teams import"),
        ("from autogen import ConversableAgent\n", "version 0.2"),
        ("from autogen_ext.models.ollama import OllamaChatCompletionClient\n", "11434"),
        ("from autogen_agentchat.teams import Swarm as S\nS([], runtime=r)\n", "runtime=: leave"),
        ("import autogen_core as c\nc.models.UserMessage\n", "import teams.models and use it"),
        ("import autogen_agentchat.teams\nteams = []\n", "rename this variable"),
        (
            "from autogen_agentchat.teams import BaseGroupChat\nclass T(BaseGroupChat): ...\n",
            "T: write select_speaker",
        ),
        ("from autogen_core import InterventionHandler\n", "ToolInterceptor"),
        ("x = 'autogen_ext.ui.RichConsole'\n", "teams.ui.Console"),
    ],
)
def test_what_needs_a_hand_is_told_with_its_line(source: str, told: str) -> None:
    notes = rewrite(f"\n{source}").notes
    assert [told in note.text for note in notes] == [True] * len(notes)
    assert notes[-1].line == 1 + source.count("\n")


def test_broken_source_is_an_error_with_its_line() -> None:
    with pytest.raises(NotPython) as caught:
        rewrite("x = 1\nfrom autogen_core import (\n")
    assert caught.value.line >= 2
