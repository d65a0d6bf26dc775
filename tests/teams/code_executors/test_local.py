"""Code executed as processes of this machine: real ones."""

import asyncio
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from teams.code_executor import (
    CodeBlock,
    CodeExecutor,
    FunctionWithRequirements,
    FunctionWithRequirementsStr,
)
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


def is_running(pid: int) -> bool:
    """True if the process runs; an ended, unreaped one does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(pid: int) -> None:
    """Wait until a killed process has gone, within the test's time limit."""
    while is_running(pid):  # noqa: ASYNC110 (another process's doing)
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("block", "output"),
    [
        (python("print('hi', end='')"), "hi"),
        (CodeBlock(code="print(1)", language="Python"), "1\n"),
        (CodeBlock(code="print(1)", language="py"), "1\n"),
        (CodeBlock(code="print(1)", language="python3"), "1\n"),
        (shell("echo $((1 + 1))"), "2\n"),
        (shell("echo ${0##*.}", "shell"), "sh\n"),
        (shell("[[ a == a ]] && echo yes", "bash"), "yes\n"),
        (python("import sys; print(sys.stdin.read() == '')"), "True\n"),
    ],
    ids=["python", "any case", "py", "python3", "sh", "shell", "bash", "no input"],
)
async def test_a_block_runs_and_its_output_is_returned(executor, block: CodeBlock, output: str):
    result = await run(executor, block)
    assert (result.exit_code, result.output) == (0, output)


async def test_what_is_written_to_both_streams_comes_in_the_order_it_was_written(executor):
    result = await run(executor, shell("echo a; echo b >&2; echo c"))
    assert result.output == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("block", "exit_code", "said"),
    [
        (CodeBlock(code="1", language="cobol"), 1, "'cobol' cannot be run"),
        (shell("exit 7"), 7, ""),
        (python("1 / 0"), 1, "ZeroDivisionError"),
        (shell("kill -9 $$"), -9, ""),
        (python("# filename: ../out.py\nprint(1)"), 1, "'../out.py' is not in the work folder"),
        (python("# filename: /tmp/out.py\nprint(1)"), 1, "not in the work folder"),
        (python("# filename: .\nprint(1)"), 1, "not in the work folder"),
    ],
    ids=["language", "exit code", "exception", "signal", "outside", "absolute", "the folder"],
)
async def test_what_fails_has_an_exit_code_and_says_why(executor, block, exit_code: int, said: str):
    result = await run(executor, block)
    assert result.exit_code == exit_code
    assert said in result.output


async def test_a_program_that_is_not_installed_is_named(executor, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    result = await run(executor, shell("echo 1", "pwsh"))
    assert (result.exit_code, result.output) == (127, "pwsh is not installed.\n")


async def test_a_link_does_not_lead_out_of_the_work_folder(executor, tmp_path):
    (executor.work_dir / "link").symlink_to(tmp_path)
    result = await run(executor, python("# filename: link/out.py\nprint(1)"))
    assert result.exit_code == 1
    assert not (tmp_path / "out.py").exists()


async def test_a_block_that_takes_too_long_is_stopped_with_all_its_children(tmp_path):
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, timeout=1)
    code = "sleep 100 & echo $! > child; echo begun; sleep 100"
    result = await run(executor, shell(code), shell("echo never"))
    assert result.exit_code == 124
    assert result.output.startswith("begun\n")
    assert "Stopped after 1 s" in result.output
    await gone(int((tmp_path / "child").read_text()))


async def test_the_limit_is_one_of_each_block(tmp_path):
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, timeout=1)
    blocks = [shell("sleep 0.4") for _ in range(3)]
    assert (await run(executor, *blocks)).exit_code == 0


async def test_children_that_outlive_their_script_end_with_it(executor):
    result = await run(executor, shell("sleep 100 & echo $!"))
    assert result.exit_code == 0
    await gone(int(result.output))


async def test_a_process_that_gets_away_does_not_hold_the_result(executor):
    code = (
        "import subprocess, sys\n"
        "away = subprocess.Popen(['sleep', '100'], start_new_session=True)\n"
        "print(away.pid)\n"
        "away.returncode = 0\n"
    )
    result = await run(executor, python(code))
    pid = int(result.output)
    assert is_running(pid)
    os.kill(pid, 9)


@pytest.mark.parametrize("how", ["token", "caller"])
async def test_cancelling_kills_the_whole_process_group(executor, how: str):
    token = CancellationToken()
    code = "sleep 100 & echo $! > child.part; mv child.part child; sleep 100"
    running = asyncio.ensure_future(executor.execute_code_blocks([shell(code)], token))
    child = await pid_in(executor.work_dir / "child")
    (token if how == "token" else running).cancel()
    if how == "token":
        result = await running
        assert (result.exit_code, result.output) == (125, "The execution was cancelled.\n")
    else:
        with pytest.raises(asyncio.CancelledError):
            await running
    await gone(child)
    assert children() <= BEFORE
    assert [path.name for path in executor.work_dir.iterdir()] == ["child"]


def running_in(folder: Path) -> set[str]:
    """The processes that work in a folder."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.add(process.name)
    return found


@pytest.mark.parametrize("turns", range(0, 14, 2))
async def test_cancelling_while_a_process_starts_leaves_nothing_of_it(executor, turns: int):
    token = CancellationToken()
    code = "sleep 100 & sleep 100"
    running = asyncio.ensure_future(executor.execute_code_blocks([shell(code)], token))
    for _ in range(turns):
        await asyncio.sleep(0)
    token.cancel()
    assert (await running).exit_code == 125
    while running_in(executor.work_dir):  # noqa: ASYNC110 (other processes' doing)
        await asyncio.sleep(0)
    assert children() <= BEFORE


async def test_nothing_runs_under_a_token_that_is_cancelled_already(executor):
    token = CancellationToken()
    token.cancel()
    result = await executor.execute_code_blocks([shell("echo 1 > ran")], token)
    assert (result.exit_code, result.output) == (125, "The execution was cancelled.\n")
    assert not (executor.work_dir / "ran").exists()


async def test_no_zombie_is_left(executor):
    await asyncio.gather(*(run(executor, shell("true")) for _ in range(5)))
    assert children() <= BEFORE


async def test_of_a_long_output_the_beginning_and_the_end_are_kept(executor):
    result = await run(executor, python("print('a' * 100_000)\nprint('b' * 300_000)"))
    assert result.exit_code == 0
    assert result.output.startswith("aaa")
    assert result.output.endswith("bbb\n")
    [left_out] = re.findall(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", result.output)
    assert int(left_out) == 400_002 - 2 * 64 * 1024


async def test_output_that_is_no_text_is_shown_as_far_as_possible(executor):
    result = await run(executor, python("import os\nos.write(1, b'a\\xff\\n')"))
    assert result.output == "a\ufffd\n"


async def test_the_address_of_a_proxy_is_handed_on_without_a_user_alone(executor, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "user:canary@proxy.example:3128")
    monkeypatch.setenv("all_proxy", "canary@proxy.example:3128")
    monkeypatch.setenv("FTP_PROXY", "ftp.canary.example:3128")
    result = await run(executor, shell("env | grep canary"))
    assert result.output == "FTP_PROXY=ftp.canary.example:3128\n"


async def test_python_code_runs_in_the_virtual_environment_it_was_given(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    bin_path = tmp_path / "venv" / "bin"
    bin_path.mkdir(parents=True)
    (bin_path / "python").symlink_to(sys.executable)
    (bin_path / "said-by-venv").write_text("#!/bin/sh\necho yes\n")
    (bin_path / "said-by-venv").chmod(0o755)
    context = SimpleNamespace(
        env_dir=str(tmp_path / "venv"), bin_path=str(bin_path), env_exe=str(bin_path / "python")
    )
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path / "work", virtual_env_context=context)
    result = await run(
        executor,
        python("import os, sys\nprint(sys.executable, os.environ['VIRTUAL_ENV'])"),
        shell("said-by-venv"),
    )
    assert result.output == f"{context.env_exe} {context.env_dir}\nyes\n"
    with pytest.raises(NotImplementedError, match="virtual environment"):
        executor.dump_component()


async def test_a_virtual_environment_may_be_given_by_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    # Its folder may be left out: what AutoGen reads are the other two.
    context = SimpleNamespace(bin_path="venv/bin", env_exe="venv/bin/python")
    executor = LocalCommandLineCodeExecutor(work_dir="work", virtual_env_context=context)
    result = await run(executor, python("import os\nprint(os.environ['VIRTUAL_ENV'])"))
    assert (result.exit_code, result.output) == (0, f"{tmp_path}/venv\n")


@pytest.mark.parametrize(
    "source",
    ["x = 1", "def f(): pass\ndef g(): pass", "def f(:", "import os; os.abort()"],
    ids=["no function", "two", "syntax", "statement"],
)
def test_source_code_of_a_function_is_one_function_and_is_not_executed(source: str):
    with pytest.raises(ValueError, match="source code"):
        FunctionWithRequirements.from_str(source)
    with pytest.raises(ValueError, match="source code"):
        FunctionWithRequirementsStr(source)


async def test_source_code_of_a_function_may_have_imports_beside_it(tmp_path):
    source = "import math\nfrom json import dumps\ndef f(x):\n    return dumps(math.sqrt(x))"
    function = FunctionWithRequirements.from_str(source)
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, functions=[function])
    result = await run(executor, python("from functions import f\nprint(f(4))"))
    assert result.output == "2.0\n"


def test_a_function_without_source_code_is_refused():
    with pytest.raises(ValueError, match="cannot be read"):
        LocalCommandLineCodeExecutor(functions=[len])


def test_it_round_trips_as_a_component(tmp_path):
    executor = LocalCommandLineCodeExecutor(
        timeout=5, work_dir=tmp_path, functions_module="given", cleanup_temp_files=False
    )
    dumped = executor.dump_component()
    assert dumped.provider == "teams.code_executors.local.LocalCommandLineCodeExecutor"
    loaded = CodeExecutor.load_component(dumped)
    assert isinstance(loaded, LocalCommandLineCodeExecutor)
    assert loaded.dump_component() == dumped
    assert LocalCommandLineCodeExecutor().dump_component().config["timeout"] == 60


async def test_code_that_fills_its_folder_is_stopped_while_it_runs(tmp_path):
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, work_mb=0.5)
    fill = "import time\nopen('big', 'wb').write(bytes(600_000))\ntime.sleep(600)"
    result = await run(executor, python(fill))
    assert result.exit_code == 122
    assert "stopped: The work folder is larger than 0.5 MB" in result.output


async def test_code_that_filled_its_folder_is_told_after_its_end(tmp_path):
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, work_mb=0.5)
    result = await run(executor, python("open('big', 'wb').write(bytes(600_000))\nprint('done')"))
    assert result.exit_code == 122
    assert result.output.startswith("done\nThe work folder is larger than 0.5 MB.")
    result = await run(executor, python("import os\nos.remove('big')"))
    assert result.exit_code == 0


async def test_cancelling_code_with_a_bound_ends_it(tmp_path):
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, work_mb=5)
    token = CancellationToken()
    code = "sleep 100 & echo $! > child.part; mv child.part child; sleep 100"
    running = asyncio.ensure_future(executor.execute_code_blocks([shell(code)], token))
    child = await pid_in(tmp_path / "child")
    token.cancel()
    assert (await running).exit_code == 125
    await gone(child)
