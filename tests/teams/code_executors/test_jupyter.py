"""Code in a kernel of this machine: a real one."""

import asyncio
import base64
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from teams.code_executor import CodeBlock, CodeExecutor
from teams.code_executors.jupyter import JupyterCodeExecutor, JupyterCodeResult
from teams.core import CancellationToken
from tests.fakes.hostile_texts import HOSTILE

pytestmark = pytest.mark.timeout(40)  # kernels are started

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
ANEW = "The kernel was started anew: variables and imports of earlier code are gone.\n"
SHOW = "from IPython.display import display\ndisplay({}, raw=True)"


async def run(executor: CodeExecutor, *codes: str, language: str = "python") -> Any:
    blocks = [CodeBlock(code=code, language=language) for code in codes]
    return await executor.execute_code_blocks(blocks, CancellationToken())


def show(**data: str) -> str:
    return SHOW.format({name.replace("_", "/"): value for name, value in data.items()})


@pytest.fixture
async def executor(tmp_path: Path) -> AsyncIterator[JupyterCodeExecutor]:
    async with JupyterCodeExecutor(timeout=20, output_dir=tmp_path / "work") as executor:
        yield executor


def texts(folder: Path) -> list[str]:
    return [file.read_text() for file in folder.iterdir()]


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def gone(pid: int) -> None:
    """Wait until a process has gone, within the test's time limit."""
    while exists(pid):  # noqa: ASYNC110 (another process's doing)
        await asyncio.sleep(0)


async def test_variables_stay_and_output_comes_in_order(executor, tmp_path):
    result = await run(executor, "x = 41\nprint('one', end='')", "x + 1")
    assert result == JupyterCodeResult(exit_code=0, output="one\n42\n", output_files=[])
    result = await run(executor, "import sys\nprint(x)\nprint('to stderr', file=sys.stderr)")
    assert result.output == "41\nto stderr\n"
    result = await run(executor, "1 / 0", "print('never')")
    assert result.exit_code == 1
    assert result.output.endswith("ZeroDivisionError: division by zero\n")
    assert "\x1b" not in result.output
    result = await run(executor, "pwd", language="sh")
    assert (result.exit_code, result.output) == (0, f"{tmp_path}/work\n")
    assert (await run(executor, "input()")).exit_code == 1
    await executor.restart()
    result = await run(executor, "x")
    assert "NameError" in result.output
    assert ANEW not in result.output


async def test_what_code_prints_stays_text(executor, tmp_path):
    printed = "\n".join(HOSTILE)
    result = await run(executor, f"print({printed!r})", show(text_html=printed))
    assert (result.exit_code, result.output.startswith(f"{printed}\n")) == (0, True)
    assert texts(tmp_path / "work") == [printed]


async def test_what_code_shows_is_saved(executor):
    result = await run(
        executor,
        show(image_png=PIXEL, text_plain="<Figure>"),
        show(image_jpeg=PIXEL),
        SHOW.format({"image/svg+xml": "<svg/>"}),
        show(text_html="<b>a table</b>", text_plain="a table"),
        show(image_png="abc"),
    )
    saved = [path.name for path in result.output_files]
    assert [path.suffix for path in result.output_files] == [".png", ".jpg", ".svg", ".html"]
    kinds = ("image/png", "image/jpeg", "image/svg+xml", "text/html")
    lines = [f"{kind} saved as {name}\n" for kind, name in zip(kinds, saved, strict=True)]
    lines.insert(3, "a table\n")
    assert result.output.startswith("".join(lines))
    assert "image/png could not be saved" in result.output
    assert result.output_files[0].read_bytes() == b"\x89PNG\r\n\x1a\n"
    assert {path.parent for path in result.output_files} == {executor.output_dir}


async def test_output_and_what_is_shown_have_limits(executor):
    result = await run(executor, "print('x' * 1_000_000)")
    assert len(result.output) < 140_000
    assert "bytes left out" in result.output
    many = f"for _ in range(25):\n    display({{'image/png': {PIXEL!r}}}, raw=True)"
    result = await run(executor, f"from IPython.display import display\n{many}")
    assert len(result.output_files) == 20
    assert result.output.count("[image/png left out: too much was shown]") == 5


@pytest.mark.chaos
@pytest.mark.parametrize("how", ["timeout", "token", "caller"])
async def test_code_that_is_ended_is_interrupted_and_its_variables_stay(tmp_path, how: str):
    limit = 3 if how == "timeout" else 20
    async with JupyterCodeExecutor(timeout=limit, output_dir=tmp_path) as executor:
        await run(executor, "import time; x = 1")
        token = CancellationToken()
        code = "print('begun')\nopen('begun', 'w')\ntime.sleep(60)"
        running = asyncio.ensure_future(
            executor.execute_code_blocks([CodeBlock(code, "python")], token)
        )
        if how == "timeout":
            result = await running
            assert result.exit_code == 124
            assert result.output == "begun\nStopped after 3 s: it took too long.\n"
        else:
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 (another process's doing)
                await asyncio.sleep(0)
            (token if how == "token" else running).cancel()
            if how == "token":
                assert (await running).exit_code == 125
            else:
                with pytest.raises(asyncio.CancelledError):
                    await running
        assert (await run(executor, "x")).output == "1\n"


STUBBORN = (
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nimport time; time.sleep(60)"
)


@pytest.mark.chaos
async def test_a_lost_kernel_is_told_of_once_and_leaves_nothing(tmp_path, monkeypatch):
    async with JupyterCodeExecutor(timeout=3, output_dir=tmp_path) as executor:
        code = "import os, subprocess\nprint(os.getpid(), subprocess.Popen(['sleep', '60']).pid)"
        pids = list(map(int, (await run(executor, code)).output.split()))
        monkeypatch.setattr("teams.code_executors._kernel.INTERRUPT_SECONDS", 0.3)
        assert (await run(executor, STUBBORN)).exit_code == 124
        for pid in pids:
            await gone(pid)
        assert (await run(executor, "1")).output == f"{ANEW}1\n"
        assert (await run(executor, "1")).output == "1\n"
        result = await run(executor, "import os; os._exit(3)")
        assert (result.exit_code, result.output) == (1, "The kernel ended: its process is gone.\n")
        # In another process, its state says that there was a kernel.
        state = await executor.save_state()
    other = JupyterCodeExecutor(output_dir=tmp_path)
    assert await other.save_state() == {}
    await other.load_state(state)
    try:
        assert (await run(other, "2")).output == f"{ANEW}2\n"
    finally:
        await other.stop()


async def test_the_kernel_has_no_secrets_and_a_temporary_folder_goes(monkeypatch):
    monkeypatch.setenv("SLACK_BOT", "xoxb-1")
    monkeypatch.setenv("TZ", "UTC")
    async with JupyterCodeExecutor(work_mb=0.01) as executor:
        result = await run(executor, "import os\nprint(os.environ.get('TZ'), *os.environ)")
        assert result.output.startswith("UTC ")
        assert "SLACK_BOT" not in result.output
        code = "from ipykernel.connect import get_connection_file as at\nprint(at())"
        sockets = Path((await run(executor, code)).output.strip()).parent
        result = await run(executor, "open('large', 'w').write('x' * 20_000); None")
        assert result.exit_code == 122
        folder = executor.output_dir
        assert sockets.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    assert not sockets.exists()


ORPHAN = """
import asyncio
from teams.code_executor import CodeBlock
from teams.code_executors.jupyter import JupyterCodeExecutor
from teams.core import CancellationToken

async def main():
    executor = JupyterCodeExecutor()
    code = CodeBlock("import os\\nprint(os.getpid())", "python")
    print((await executor.execute_code_blocks([code], CancellationToken())).output, flush=True)
    forever = CodeBlock("import time; time.sleep(60)", "python")
    await executor.execute_code_blocks([forever], CancellationToken())

asyncio.run(main())
"""


@pytest.mark.chaos
async def test_a_kernel_does_not_outlive_a_killed_process():
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", ORPHAN, stdout=pipe)
    assert process.stdout is not None
    kernel = int(await process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    await gone(kernel)


async def test_a_kernel_that_does_not_start(tmp_path):
    executor = JupyterCodeExecutor("no-such-kernel")
    with pytest.raises(RuntimeError, match=r"^The kernel 'no-such-kernel' does not start: "):
        await executor.start()
    await executor.stop()


def test_its_component_json_is_autogen_s():
    given = {"kernel_name": "python3", "timeout": 5, "output_dir": "out"}
    executor = CodeExecutor.load_component(
        {"provider": "autogen_ext.code_executors.jupyter.JupyterCodeExecutor", "config": given}
    )
    assert isinstance(executor, JupyterCodeExecutor)
    assert executor.timeout == 5
    dumped = executor.dump_component()
    assert dumped.provider == "teams.code_executors.jupyter.JupyterCodeExecutor"
    assert dumped.config == given


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"work_mb": 0}])
def test_limits_that_nothing_could_keep_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ValueError, match="must be"):
        JupyterCodeExecutor(**wrong)


def test_without_the_extra_making_one_says_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[jupyter-executor\]'"):
        JupyterCodeExecutor()


async def test_a_stop_that_is_cancelled_is_finished_by_the_next(executor):
    told = await run(executor, "from ipykernel.connect import get_connection_file as f\nprint(f())")
    folder = Path(told.output.strip()).parent
    assert folder.is_dir()
    stopping = asyncio.get_running_loop().create_task(executor.stop())
    for _ in range(5):  # it has begun, and waits for the kernel's end
        await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    await executor.stop()
    assert not folder.exists()
