"""Blocks of code as files that commands run."""

import asyncio
from pathlib import Path

import pytest

from teams.code_executor import (
    Alias,
    CodeBlock,
    FunctionWithRequirements,
    ImportFromModule,
    with_requirements,
)
from teams.code_executors import CommandLineCodeResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken
from tests.teams.code_executors.used_local import BEFORE, children, pid_in, python, run, shell


@pytest.fixture
def executor(tmp_path: Path) -> LocalCommandLineCodeExecutor:
    return LocalCommandLineCodeExecutor(work_dir=tmp_path / "work")


@pytest.fixture(autouse=True)
def others() -> None:
    BEFORE.clear()
    BEFORE.update(children())


async def test_blocks_run_in_order_up_to_the_first_that_fails(executor):
    result = await run(
        executor,
        shell("printf one"),
        python("import sys; print('two'); sys.exit('three')"),
        shell("echo four"),
    )
    assert (result.exit_code, result.output) == (1, "one\ntwo\nthree\n")


async def test_no_block_is_a_success_without_output(executor):
    result = await run(executor)
    assert (result.exit_code, result.output) == (0, "")


async def test_code_may_name_its_file_which_stays_and_can_be_imported(executor):
    result = await run(
        executor,
        python("# filename: tools.py\ndef two():\n    return 2"),
        python("# filename: deep/main.py\nimport tools\nprint(tools.two())"),
    )
    assert result.output == "2\n"
    assert (executor.work_dir / "deep" / "main.py").exists()


async def test_scripts_are_removed_unless_they_shall_stay(executor, tmp_path):
    await run(executor, shell("true"))
    assert list(executor.work_dir.iterdir()) == []
    keeping = LocalCommandLineCodeExecutor(work_dir=tmp_path / "kept", cleanup_temp_files=False)
    await run(keeping, shell("echo kept"))
    [script] = keeping.work_dir.iterdir()
    assert (script.suffix, script.read_text()) == (".sh", "echo kept")
    assert (executor.cleanup_temp_files, keeping.cleanup_temp_files) == (True, False)


async def test_without_a_work_folder_there_is_a_temporary_one_until_the_stop():
    executor = LocalCommandLineCodeExecutor()
    async with executor:
        result = await run(executor, shell("pwd; echo 1 > kept"))
        folder = executor.work_dir
        assert Path(result.output.strip()) == folder
        await executor.restart()
        assert (folder / "kept").exists()
    assert not folder.exists()
    assert (await run(executor, shell("pwd"))).output != result.output
    await executor.stop()


async def test_a_temporary_folder_goes_with_its_executor():
    executor = LocalCommandLineCodeExecutor()
    folder = executor.work_dir
    assert folder.is_dir()
    del executor
    assert not folder.exists()


async def test_a_result_says_which_script_was_first_and_what_came_before_a_cancellation(executor):
    first = executor.work_dir / "first.py"
    result = await run(executor, python("# filename: first.py\nprint(1)"), python("print(2)"))
    assert result == CommandLineCodeResult(exit_code=0, output="1\n2\n", code_file=str(first))
    token = CancellationToken()
    blocks = [python("# filename: first.py\nprint(1)"), shell("echo $$ > p; mv p pid; sleep 100")]
    running = asyncio.ensure_future(executor.execute_code_blocks(blocks, token))
    await pid_in(executor.work_dir / "pid")
    token.cancel()
    result = await running
    assert result == CommandLineCodeResult(
        exit_code=125, output="1\nThe execution was cancelled.\n", code_file=str(first)
    )
    assert (await run(executor, CodeBlock("x", "cobol"))).code_file is None


async def test_a_script_that_cannot_be_removed_costs_no_result(executor, caplog):
    code = "import os\nos.remove(__file__)\nos.mkdir(__file__)\nprint('done')"
    result = await run(executor, python(code))
    assert (result.exit_code, result.output) == (0, "done\n")
    assert "could not be removed" in caplog.text


@with_requirements(global_imports=["json", ImportFromModule("math", ("sqrt", Alias("pi", "PI")))])
def root_and_pi(number: float) -> str:
    """The root of a number, and pi."""
    return json.dumps([sqrt(number), round(PI, 2)])  # type: ignore # noqa: F821


def plain(a: int, *, b: int = 2) -> int:
    return a * b


async def test_code_can_import_the_functions_it_was_given(tmp_path):
    from_text = FunctionWithRequirements.from_str(
        "    async def from_text():\n        return 'text'\n",
        global_imports=[Alias("os.path", "p")],
    )
    executor = LocalCommandLineCodeExecutor(
        work_dir=tmp_path, functions=[root_and_pi, plain, from_text], functions_module="given"
    )
    code = (
        "import asyncio\nfrom given import from_text, plain, root_and_pi\n"
        "print(root_and_pi(4), plain(3), asyncio.run(from_text()))"
    )
    result = await run(executor, python(code))
    assert (result.exit_code, result.output) == (0, "[2.0, 3.14] 6 text\n")
    assert executor.functions_module == "given"
    assert executor.timeout == 60
    with pytest.raises(NotImplementedError, match="functions"):
        executor.dump_component()


def test_a_model_is_told_signatures_and_docstrings_of_the_functions():
    executor = LocalCommandLineCodeExecutor(functions=[root_and_pi, plain])
    told = executor.format_functions_for_prompt("In $module_name:\n$functions")
    assert told == (
        "In functions:\n"
        'def root_and_pi(number: float) -> str:\n    """The root of a number, and pi."""\n    ...'
        "\n\n\ndef plain(a: int, *, b: int=2) -> int:\n    ..."
    )
    assert "`from functions import" in executor.format_functions_for_prompt()


async def test_functions_that_cannot_be_imported_or_installed_end_the_execution(tmp_path):
    broken = FunctionWithRequirements.from_str("def f(): ...", global_imports=["no_such_module_x"])
    with pytest.raises(ValueError, match=r"(?s)cannot be imported: .*no_such_module_x"):
        await run(LocalCommandLineCodeExecutor(work_dir=tmp_path, functions=[broken]))
    missing = FunctionWithRequirements.from_str("def f(): ...", ["./no-such-package"])
    with pytest.raises(ValueError, match=r"Installing ./no-such-package failed: "):
        await run(LocalCommandLineCodeExecutor(work_dir=tmp_path, functions=[missing]))


@pytest.mark.parametrize("bad", [{"timeout": 0}, {"functions_module": "not-a-name"}])
def test_settings_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LocalCommandLineCodeExecutor(**bad)


def test_it_tells_its_limit_and_where_functions_are(tmp_path: Path):
    made = LocalCommandLineCodeExecutor(7, tmp_path, functions_module="mine")
    assert (made.timeout, made.functions_module, made.work_dir) == (7, "mine", tmp_path)
