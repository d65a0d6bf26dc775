"""Every run ends, even with tests that wait, swallow or block."""

from pathlib import Path

import pytest

from tests.time_limits import slowness

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.nightly  # each starts a run of its own, some are killed

CONFTEST = """
from tests import time_limits

time_limits.CLEAN_UP = 0.05
time_limits.GRACE = 1.0
time_limits.slowness = lambda: 1.0

def pytest_addoption(parser):
    parser.addini("run_timeout", "", default="")

def pytest_configure(config):
    time_limits.register(config)
"""
INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
pythonpath = {root}
run_timeout = {run_timeout}
"""
ROOT = Path(__file__).resolve().parents[1]


def run(
    pytester: pytest.Pytester, source: str, *options: str, run_timeout: str = ""
) -> pytest.RunResult:
    pytester.makeconftest(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{CONFTEST}")
    pytester.makeini(INI.format(root=ROOT, run_timeout=run_timeout))
    pytester.makepyfile(source)
    return pytester.runpytest_subprocess(
        "-p",
        "no:cacheprovider",
        "-p",
        "no:textual-snapshot",
        "-p",
        "no:timeout",  # an environment made before these limits has it
        *options,
    )


def test_a_test_that_waits_for_ever_fails_with_its_stack(pytester: pytest.Pytester):
    result = run(
        pytester,
        """
        import asyncio, pytest

        @pytest.mark.timeout(0.1)
        async def test_waits():
            await asyncio.Event().wait()

        async def test_next():
            pass
        """,
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*lasted longer than 0.1 s*", "*in test_waits*"])


def test_a_test_that_swallows_its_cancellation_fails_and_the_run_goes_on(
    pytester: pytest.Pytester,
):
    result = run(
        pytester,
        """
        import asyncio, pytest

        @pytest.mark.timeout(0.1)
        async def test_swallows():
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass

        async def test_next():
            pass
        """,
    )

    result.assert_outcomes(passed=1, failed=1)


def test_an_answer_at_the_last_moment_still_counts(pytester: pytest.Pytester):
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.timeout(5)
        async def test_fails_by_itself():
            assert 1 == 2

        @pytest.mark.timeout(5)
        async def test_skips_itself():
            pytest.skip("not today")
        """,
    )

    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.no_fnmatch_line("*lasted longer*")


def test_a_test_that_blocks_its_process_is_ended_with_it(pytester: pytest.Pytester):
    result = run(
        pytester,
        """
        import pytest, threading

        @pytest.mark.timeout(0.1)
        def test_blocks():
            threading.Event().wait()

        def test_next():
            pass
        """,
        "-n",
        "1",
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*crashed while running*test_blocks*"])
    result.stderr.fnmatch_lines(["*test_blocks*"])


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "workers"])
def test_a_run_that_lasts_too_long_ends_with_every_stack(
    pytester: pytest.Pytester, options: tuple[str, ...]
):
    result = run(
        pytester,
        """
        import pytest, threading

        @pytest.mark.timeout(600)
        def test_blocks():
            threading.Event().wait()
        """,
        *options,
        run_timeout=str(3 * slowness()),
    )

    assert result.ret in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.TESTS_FAILED)
    result.stderr.fnmatch_lines(["*The run lasts too long*", "*in test_blocks*"])
