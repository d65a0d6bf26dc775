"""Code that a ConversableAgent executes: its config, and replies to code."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teams._base.code import CodeBlock
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable._bridge import TheTeam
from tests.fakes.bare_agent import Bare


def user(*blocks: tuple[str, str]) -> dict[str, Any]:
    """A user's message with code: language and code of each block."""
    text = "\n".join(f"```{language}\n{code}\n```" for language, code in blocks)
    return {"role": "user", "content": f"Do this:\n{text}"}


HELLO = user(("sh", "echo hello world"))


@pytest.fixture(autouse=True)
def no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)


def agent(**config: Any) -> Bare:
    return Bare(code={"use_docker": False, **config})


class TestConfig:
    def test_false_is_off(self):
        off = Bare(code=False)

        assert off.use_docker is None
        assert off.code_executor is None
        assert off.generate_code_execution_reply([HELLO]) == (False, None)

    def test_none_warns_and_is_on(self):
        with pytest.warns(UserWarning, match="code_execution_config=None"):
            on = Bare(code=None)
        assert on.use_docker is False

    @pytest.mark.parametrize("config", [True, "local", 1])
    def test_another_type(self, config: object):
        with pytest.raises(ValueError, match="must be a dict or False"):
            Bare(code=config)

    @pytest.mark.parametrize("key", ["use_docker", "work_dir", "timeout"])
    def test_options_that_an_executor_has_itself(self, key: str):
        with pytest.raises(ValueError, match=f"has an executor and {key}"):
            Bare(code={"executor": "commandline-local", key: None})

    def test_use_docker_is_the_value(self):
        assert Bare(code={"use_docker": "python:3"}).use_docker == "python:3"
        assert Bare(code={"use_docker": True}).use_docker is True

    def test_it_is_copied(self):
        given = {"use_docker": False}
        made = Bare(code=given)
        given["use_docker"] = True

        assert made.use_docker is False

    def test_the_executor(self):
        executor = LocalCommandLineCodeExecutor()

        assert Bare(code={"executor": executor}).code_executor is executor
        assert agent().code_executor is None

    def test_an_unknown_executor(self):
        with pytest.raises(ValueError, match=r"^Unknown code executor x$"):
            Bare(code={"executor": "x"})


class TestRunCode:
    def test_exit_code_logs_and_image(self):
        assert agent().run_code("print(1 + 1)") == (0, "2\n", None)

    def test_the_folder_is_the_same_for_all_code_and_fresh(self):
        one, two = agent(), agent()
        one.run_code("echo kept > kept.txt", lang="sh")

        assert one.run_code("cat kept.txt", lang="sh")[1] == "kept\n"
        assert two.run_code("ls", lang="sh")[1].strip().startswith("code_")

    def test_what_is_not_given_is_as_in_the_config(self, tmp_path: Path):
        assert agent(work_dir=str(tmp_path)).run_code("pwd", lang="sh")[1] == f"{tmp_path}\n"

    async def test_inside_of_a_running_loop(self):
        assert agent().run_code("echo hi", lang="sh") == (0, "hi\n", None)

    def test_local_execution_unasked_is_logged_once(self, caplog: pytest.LogCaptureFixture):
        unasked = Bare(code={})
        with caplog.at_level(logging.WARNING, "teams"):
            agent().run_code("true", lang="sh")
            unasked.run_code("true", lang="sh")
            unasked.run_code("true", lang="sh")

        assert [record.message.partition(",")[0] for record in caplog.records] == [
            "Code is executed on this machine"
        ]


class TestExecuteCodeBlocks:
    def test_nothing(self):
        assert agent().execute_code_blocks([]) == (0, "")

    def test_each_block_begins_a_line(self, capsys: pytest.CaptureFixture[str]):
        assert agent().execute_code_blocks([("sh", "echo 1"), ("", "print(2)")]) == (
            0,
            "\n1\n\n2\n",
        )
        assert capsys.readouterr().out == (
            "\n>>>>>>>> EXECUTING CODE BLOCK 0 (inferred language is sh)...\n"
            "\n>>>>>>>> EXECUTING CODE BLOCK 1 (inferred language is python)...\n"
        )

    def test_a_failing_block_stops_the_rest(self):
        blocks = [("sh", "echo 1; exit 2"), ("sh", "echo never")]

        assert agent().execute_code_blocks(blocks) == (2, "\n1\n")

    @pytest.mark.parametrize("language", ["py", "python3", "PY", "Python", "python"])
    def test_other_words_for_python(self, language: str):
        assert agent().execute_code_blocks([(language, "print(2)")]) == (0, "\n2\n")

    def test_an_unknown_language(self):
        assert agent().execute_code_blocks([("Cobol", "x")]) == (1, "\nunknown language Cobol")

    def test_the_config_goes_to_run_code(self, tmp_path: Path):
        seen: list[Any] = []

        def run_code(code: str, **kwargs: Any) -> tuple[int, str, None]:
            seen.append((code, kwargs))
            return 0, "done", None

        made = agent(work_dir=str(tmp_path), timeout=3, last_n_messages=2)
        made.run_code = run_code
        code = "# filename: a.py\nprint(1)"

        assert made.execute_code_blocks([("Python", code)]) == (0, "\ndone")
        assert seen == [
            (
                code,
                {
                    "lang": "python",
                    "filename": "a.py",
                    "work_dir": str(tmp_path),
                    "timeout": 3,
                    "use_docker": False,
                },
            )
        ]

    def test_a_first_line_names_the_file(self, tmp_path: Path):
        made = agent(work_dir=str(tmp_path))
        made.execute_code_blocks([("sh", "# filename: say.sh\necho hi")])

        assert os.listdir(tmp_path) == ["say.sh"]


class TestReply:
    async def test_success(self):
        text = "exitcode: 0 (execution succeeded)\nCode output: \nhello world\n"

        assert agent().generate_code_execution_reply([HELLO]) == (True, text)
        assert await agent().a_generate_code_execution_reply([HELLO]) == (True, text)

    def test_failure(self):
        assert agent().generate_code_execution_reply([user(("sh", "exit 4"))]) == (
            True,
            "exitcode: 4 (execution failed)\nCode output: \n",
        )

    def test_the_conversation_with_the_sender(self):
        made, sender = agent(), TheTeam()
        made._oai_messages[sender] = [HELLO]

        assert made.generate_code_execution_reply(sender=sender)[0]
        assert made.generate_code_execution_reply(sender=TheTeam()) == (False, None)

    async def test_no_code_and_code_that_is_off(self):
        text = [{"role": "user", "content": "text"}]

        assert agent().generate_code_execution_reply(text) == (False, None)
        assert await agent().a_generate_code_execution_reply(text) == (False, None)
        assert agent().generate_code_execution_reply([HELLO], config=False) == (False, None)
        assert await agent().a_generate_code_execution_reply([HELLO], config=False) == (False, None)

    def test_an_empty_config_given_directly(self):
        assert Bare().generate_code_execution_reply([HELLO], config={})[0]

    def test_last_n_messages(self):
        made = agent(last_n_messages=1)
        messages = [HELLO, {"role": "user", "content": "Now!"}]

        assert made.generate_code_execution_reply(messages) == (False, None)
        assert agent(last_n_messages=2).generate_code_execution_reply(messages)[0]
        assert agent().generate_code_execution_reply(messages)[0]
        assert made._code_execution_config == {"use_docker": False, "last_n_messages": 1}

    def test_a_bad_last_n_messages(self):
        with pytest.raises(ValueError, match="last_n_messages"):
            agent(last_n_messages=-1).generate_code_execution_reply([HELLO])

    async def test_what_replaces_the_execution_is_used_in_both_modes(self):
        threads: list[threading.Thread] = []

        def execute(code_blocks: Any) -> tuple[int, str]:
            threads.append(threading.current_thread())
            return 0, repr(code_blocks)

        made = agent()
        made.execute_code_blocks = execute
        text = "exitcode: 0 (execution succeeded)\nCode output: [('sh', 'echo hello world')]"

        assert made.generate_code_execution_reply([HELLO]) == (True, text)
        assert await made.a_generate_code_execution_reply([HELLO]) == (True, text)
        assert threads[0] is threading.current_thread()
        assert threads[1] is not threading.current_thread()


class TestExecutor:
    async def test_its_output_begins_no_line(self, capsys: pytest.CaptureFixture[str]):
        made = Bare(code={"executor": "commandline-local"})
        text = "exitcode: 0 (execution succeeded)\nCode output: hello world\n"

        assert made.generate_code_execution_reply([HELLO]) == (True, text)
        assert await made.a_generate_code_execution_reply([HELLO]) == (True, text)
        banner = "\n>>>>>>>> EXECUTING CODE BLOCK (inferred language is sh)...\n"
        assert capsys.readouterr().out == banner * 2

    def test_several_blocks(self, capsys: pytest.CaptureFixture[str]):
        made = Bare(code={"executor": "commandline-local"})

        _, text = made.generate_code_execution_reply([user(("", "print(1)"), ("sh", "echo 2"))])

        assert text == "exitcode: 0 (execution succeeded)\nCode output: 1\n2\n"
        assert capsys.readouterr().out == (
            "\n>>>>>>>> EXECUTING 2 CODE BLOCKS (inferred languages are [python, sh])...\n"
        )

    async def test_one_of_the_users_own(self):
        class Blocking:
            def __init__(self) -> None:
                self.code_extractor = self
                self.seen: list[Any] = []

            def extract_code_blocks(self, message: Any) -> list[CodeBlock]:
                return [CodeBlock(message, "poem")] if "roses" in message else []

            def execute_code_blocks(self, code_blocks: list[CodeBlock]) -> Any:
                self.seen.append(code_blocks)
                return SimpleNamespace(exit_code=1, output="red")

            def restart(self) -> None: ...

        executor = Blocking()
        made = Bare(code={"executor": executor})
        messages = [{"role": "user", "content": "roses"}, {"role": "user", "content": "text"}]
        text = "exitcode: 1 (execution failed)\nCode output: red"

        assert made.generate_code_execution_reply(messages) == (True, text)
        assert await made.a_generate_code_execution_reply(messages) == (True, text)
        assert executor.seen == [[CodeBlock("roses", "poem")]] * 2

    def test_an_executor_of_a_config_given_directly(self):
        config = {"executor": "commandline-local"}

        assert Bare().generate_code_execution_reply([HELLO], config=config)[0]


@pytest.mark.parametrize(
    "config", [{"use_docker": False}, {"executor": "commandline-local"}], ids=["legacy", "executor"]
)
async def test_cancelling_a_chat_ends_its_code(config: dict[str, Any], tmp_path: Path):
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    made = Bare(code=config)
    message = user(("sh", f"echo $$ > {begun}; exec sleep 600"))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.a_generate_code_execution_reply([message]))
        pid = int(await asyncio.to_thread(begun.read_text))
        task.cancel()

    assert task.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
