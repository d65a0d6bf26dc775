"""Single statements and expressions, rewritten."""

from __future__ import annotations

import sys
from collections.abc import Iterator

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
        ("from autogen_core import __version__\n", "from teams import __version__\n"),
        ("from autogen.version import __version__\n", "from teams import __version__\n"),
        (
            "import autogen_core\nprint(autogen_core.__version__)\n",
            "import teams.core, teams\nprint(teams.__version__)\n",
        ),
        ("import autogen_agentchat.teams, os\n", "import teams, os\n"),
        (
            "import autogen_core as c\nx = (c.CancellationToken)()\n",
            "import teams.core as c\nx = (c.CancellationToken)()\n",
        ),
        ("x: 'list[autogen_core.Image] | None'\n", "x: 'list[teams.core.Image] | None'\n"),
        (
            "from autogen import ConversableAgent, UserProxyAgent as U\n",
            "from teams.conversable import ConversableAgent, UserProxyAgent as U\n",
        ),
        (
            "import autogen\nlog(autogen.ConversableAgent, autogen.agentchat.register_function)\n",
            "import teams.conversable\n"
            "log(teams.conversable.ConversableAgent, teams.conversable.register_function)\n",
        ),
        ("import autogen as ag\nag.Cache\n", "import teams.conversable as ag\nag.Cache\n"),
        (
            "import autogen.agentchat\nautogen.agentchat.register_function(f)\n",
            "import teams.conversable\nteams.conversable.register_function(f)\n",
        ),
        (
            "from autogen.agentchat import ChatResult, register_function\n",
            "from teams.conversable import ChatResult, register_function\n",
        ),
        ("from autogen.cache import Cache\n", "from teams.conversable import Cache\n"),
        ("from autogen.cache.cache import Cache\n", "from teams.conversable import Cache\n"),
        ("from autogen.io.base import IOStream\n", "from teams.conversable import IOStream\n"),
        (
            "from autogen.coding import CodeBlock, LocalCommandLineCodeExecutor\n",
            "from teams.code_executor import CodeBlock\n"
            "from teams.code_executors.local import LocalCommandLineCodeExecutor\n",
        ),
        (
            "from autogen.coding import DockerCommandLineCodeExecutor as D\n",
            "from teams.code_executors.docker import DockerCommandLineCodeExecutor as D\n",
        ),
        (
            "from autogen.coding.local_commandline_code_executor import (\n"
            "    LocalCommandLineCodeExecutor,\n)\n",
            "from teams.code_executors.local import (\n    LocalCommandLineCodeExecutor,\n)\n",
        ),
        (
            "from autogen.agentchat.groupchat import GroupChat, GroupChatManager as M\n",
            "from teams.conversable import GroupChat, GroupChatManager as M\n",
        ),
        (
            "from autogen.llm_config import LLMConfig\n",
            "from teams.conversable import LLMConfig\n",
        ),
        (
            "import autogen\nautogen.GroupChat([])\n",
            "import teams.conversable\nteams.conversable.GroupChat([])\n",
        ),
        ("x: 'autogen.Agent | None'\n", "x: 'teams.conversable.Agent | None'\n"),
        ("from my.autogen import ConversableAgent\n",) * 2,
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
        ("from autogen_core import SingleThreadedAgentRuntime, TopicId\n", "BaseChatAgent"),
        ("import autogenstudio\n", "parley teams import"),
        ("from autogen import OpenAILLMConfigEntry\n", "LLMConfig or a dict"),
        ("import autogen\nautogen.initiate_group_chat([])\n", "a GroupChatManager"),
        ("import pyautogen\n", "'Keep two-agent chats'"),
        ("from autogen.agentchat.contrib.swarm_agent import SwarmAgent\n", "the team Swarm"),
        ("from autogen.agentchat.contrib.own import Own\n", "a hook of your own"),
        ("from autogen.coding.jupyter import JupyterCodeExecutor\n", "DockerJupyterCode"),
        ("from autogen.runtime_logging import start\n", "teams.logging"),
        ("import autogen as a\na.coding.LocalCommandLineCodeExecutor\n", "executors.local and"),
        ("from autogen_ext.models.llama_cpp import LlamaCppChatCompletionClient\n", "llama-server"),
        ("from autogen_agentchat.teams import Swarm as S\nS([], runtime=r)\n", "runtime=: leave"),
        ("import autogen_core as c\nc.models.UserMessage\n", "import teams.models and use it"),
        ("import autogen_agentchat.teams\nteams = []\n", "rename this variable"),
        (
            "from autogen_agentchat.teams import BaseGroupChat\nclass T(BaseGroupChat): ...\n",
            "T: write select_speaker",
        ),
        ("from autogen_core import InterventionHandler\n", "ToolInterceptor"),
        ("from autogen_core.logging import MessageKind\n", "MessageEvent"),
        ("import autogen_core as c\nc.__version__\n", "import teams and use it"),
        (
            "from autogen_agentchat.teams._group_chat._base_group_chat_manager import (\n"
            "    BaseGroupChatManager)\n",
            "select_speaker",
        ),
        (
            "from autogen_agentchat.base import TerminatedException as T\n"
            "try: ...\nexcept T: ...\n",
            "`except Exception` before it takes it",
        ),
        (
            "import autogen_agentchat.base\ntry: ...\n"
            "except (OSError, autogen_agentchat.base.TerminatedException): ...\n",
            "a RuntimeError here",
        ),
    ],
)
def test_what_needs_a_hand_is_told_with_its_line(source: str, told: str) -> None:
    notes = rewrite(f"\n{source}").notes
    assert [told in note.text for note in notes] == [True] * len(notes)
    assert notes[-1].line == 1 + source.count("\n")


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Set the limit of Python itself; libraries raise it."""
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(raised)


@pytest.mark.usefixtures("usual_recursion")
def test_source_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(NotPython, match="nested too deeply"):
        rewrite(f"import autogen_agentchat\nx = {'-' * 900}1\n")


def test_broken_source_is_an_error_with_its_line() -> None:
    with pytest.raises(NotPython) as caught:
        rewrite("x = 1\nfrom autogen_core import (\n")
    assert caught.value.line >= 2
