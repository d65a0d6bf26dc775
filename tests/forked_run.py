"""A run in several processes, forked once the tests are collected.

Those of pytest-xdist each import and collect all tests. Here a process takes the next part of the
tests whenever it is done with one, and sends its reports.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain, count, groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from _pytest.capture import CaptureManager

from tests.time_limits import RunWatchdog

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

PART = 48
"""Tests of one file that a process takes at once, at most."""
NUMBER = 4
"""Bytes of a part's number; a pipe holds 16,000 of them."""
FIRST = {"tests/teams/models/anthropic/": "anthropic"}
"""Modules that take two seconds, and that each process would import, by tests that need them."""
FORK = multiprocessing.get_context("fork")

Part = list[pytest.Item]


def add_option(parser: pytest.Parser) -> None:
    """Add the option for the number of processes."""
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many processes")


def register(config: pytest.Config) -> None:
    """Run the tests in processes, if this run asks for some."""
    forks = int(config.getoption("forks") or 0)
    alone = config.getoption("usepdb") or config.getoption("collectonly")
    if forks and not alone and config.getoption("dist", "no") == "no":
        config.pluginmanager.register(ForkedRun(forks), "parley-forked-run")


def parts(items: list[pytest.Item]) -> list[Part]:
    """Tests of one file, in parts: a process takes a whole one."""
    files = [list(group) for _, group in groupby(items, lambda item: item.path)]
    return [file[at : at + PART] for file in files for at in range(0, len(file), PART)]


class Worker:
    """A process, and what it is at."""

    def __init__(self, process: ForkProcess, part: Part) -> None:
        self.process = process
        self.part = [*part]
        """The tests of its part that it has not begun."""
        self.item: pytest.Item | None = None


class ForkedRun:
    """Starts the processes, and reports what they report."""

    def __init__(self, forks: int) -> None:
        self._forks = forks
        self._numbers = count()
        self._workers: dict[Connection, Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests, as pytest's own loop does."""
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        _import_first(session.items)
        self._parts = parts(session.items)
        self._work, numbers = os.pipe()
        for number in range(len(self._parts)):
            os.write(numbers, number.to_bytes(NUMBER))
        os.close(numbers)
        try:
            for _ in range(min(self._forks, len(self._parts))):
                self._start(session)
            while self._workers:
                for reports in wait([*self._workers]):
                    assert isinstance(reports, Connection)
                    self._hear(session, reports)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
                worker.process.join()
            os.close(self._work)
        return True

    def _start(self, session: pytest.Session, first: Part | None = None) -> None:
        reports, sends = (Connection(end) for end in os.pipe())
        folder = _folders(session.config).mktemp(f"process{next(self._numbers)}", numbered=False)
        process = FORK.Process(target=self._run, args=(session, sends, folder, first or []))
        self._workers[reports] = Worker(process, first or [])
        with warnings.catch_warnings():
            # From Python 3.12 on: the run's watchdog is a thread, which holds no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        sends.close()

    def _hear(self, session: pytest.Session, reports: Connection) -> None:
        worker = self._workers[reports]
        try:
            kind, value = reports.recv()
        except EOFError:
            self._end(session, self._workers.pop(reports))
            return
        hook = session.config.hook
        if kind == "part":
            worker.part = [*self._parts[value]]
        elif kind == "begun":
            worker.item = worker.part.pop(0)
        else:
            worker.item = None
            for data in value:
                report = hook.pytest_report_from_serializable(config=session.config, data=data)
                hook.pytest_runtest_logreport(report=report)

    def _end(self, session: pytest.Session, worker: Worker) -> None:
        worker.process.join()
        code = worker.process.exitcode
        if worker.item is not None:
            nodeid, location = worker.item.nodeid, worker.item.location
            text = f"{nodeid} ended its process: exit code {code}"
            report = pytest.TestReport(nodeid, location, {}, "failed", text, "call")
            session.config.hook.pytest_runtest_logreport(report=report)
            self._start(session, worker.part)
        elif code:
            raise RuntimeError(f"a process of the run ended: exit code {code}")

    def _run(
        self, session: pytest.Session, sends: Connection, folder: Path, first: Part
    ) -> NoReturn:
        code = 1
        try:
            for each in self._workers:
                each.close()
            atexit._clear()  # those of the first process are not ours to run
            _have_its_own(session.config, folder)
            session.config.pluginmanager.register(Sender(session.config, sends))
            for part in chain([first] if first else [], self._taken(sends)):
                for item, following in zip(part, [*part[1:], session], strict=True):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            session._setupstate.teardown_exact(None)
            atexit._run_exitfuncs()
            code = 0
        except BaseException:
            with suppress(Exception):
                os.write(2, traceback.format_exc().encode())
        finally:
            sends.close()
            os._exit(code)

    def _taken(self, sends: Connection) -> Iterator[Part]:
        while number := os.read(self._work, NUMBER):
            sends.send(("part", int.from_bytes(number)))
            yield self._parts[int.from_bytes(number)]


class Colours:
    """Terminal of a process, which pytest asks for its colours."""

    def __init__(self, writer: object) -> None:
        self._tw = writer


class Sender:
    """Sends what becomes of a process's tests."""

    def __init__(self, config: pytest.Config, sends: Connection) -> None:
        self._config = config
        self._sends = sends
        self._reports: list[object] = []

    def pytest_runtest_logstart(self) -> None:
        self._sends.send(("begun", None))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self) -> None:
        self._sends.send(("done", self._reports))
        self._reports = []


def _have_its_own(config: pytest.Config, folder: Path) -> None:
    """Give a process what it may not share with others."""
    plugins = config.pluginmanager
    colours = Colours(config.get_terminal_writer())
    plugins.unregister(name="terminalreporter")
    plugins.register(colours, "terminalreporter")
    capture = plugins.get_plugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()  # its files are everybody's
    capture.start_global_capturing()
    watchdog = plugins.get_plugin("parley-run-watchdog")
    assert isinstance(watchdog, RunWatchdog)
    watchdog.pytest_sessionstart()
    _folders(config)._basetemp = folder


def _import_first(items: list[pytest.Item]) -> None:
    for folder, module in FIRST.items():
        if any(item.nodeid.startswith(folder) for item in items):
            with suppress(ImportError):  # the tests are skipped
                import_module(module)
    if any(getattr(getattr(item, "obj", None), "is_hypothesis_test", False) for item in items):
        _read_constants()
    gc.freeze()


def _read_constants() -> None:
    """Let Hypothesis read the product's constants: seconds for each process."""
    from hypothesis import given, settings, strategies  # some environments lack it

    @settings(max_examples=50, database=None, derandomize=True)
    @given(strategies.lists(strategies.integers(), min_size=5))
    def draw(_: list[int]) -> None:
        """One draw in twenty asks for them."""

    draw()


def _folders(config: pytest.Config) -> pytest.TempPathFactory:
    return vars(config)["_tmp_path_factory"]
