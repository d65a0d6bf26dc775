"""Every test's own home and environment, without network or leftover tasks."""

import asyncio
import gc
import inspect
import logging
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import (
    collection_progress,
    connections,
    databases,
    folders_in_memory,
    forked_run,
    time_limits,
)

if TYPE_CHECKING:
    from tests.fakes.openai_server import FakeOpenAI

# Keys and settings of the machine must not decide a test.
FOREIGN_SETTINGS = (
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "DISCORD_",
    "OLLAMA_",
    "OPENAI_",
    "OTEL_",
    "PARLEY_",
    "SLACK_",
    "TEXTUAL",
    "XDG_",
)
TOOLS_OWN = ("TEXTUAL_SNAPSHOT_TEMPDIR",)  # how the snapshot plugin finds its report
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
FOREIGN_TERMINAL = ("CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores it, and so would every process that a test starts and stops.
    signal.signal(signal.SIGINT, signal.default_int_handler)


with suppress(ModuleNotFoundError):  # an extra's environment has only what its tests need
    import hypothesis

    # Tries of a property that sets no number of its own; `tests/fuzz` makes many more. No clock
    # fails one: the machine may be busy.
    hypothesis.settings.register_profile(
        "quick",
        max_examples=30,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("quick")


def pytest_collection() -> None:
    """Keep the collector off what lives as long as the run.

    Modules and tests are half a million objects: a tenth of a run went into looking at them again.
    """
    gc.disable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a mark that its file does not name.

    `make chaos` reads the files that do alone.
    """
    for mark in item.iter_markers():
        if mark.name in ("chaos", "nightly") and mark.name not in _words(item.path):
            raise pytest.UsageError(f"{item.nodeid}: name the mark {mark.name!r} in this file")


@cache
def _words(file: Path) -> str:
    return file.read_text("utf-8")


def pytest_collection_finish() -> None:
    """Look at what the tests make alone, and seldom.

    Else it is a twelfth of a run.
    """
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)
    gc.enable()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test an empty home and clean environment.

    It may set what it needs.
    """
    for name in os.environ:
        if name in TOOLS_OWN:
            continue
        if name.startswith(FOREIGN_SETTINGS) or name in FOREIGN_TERMINAL:
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    for variable, place in {
        "XDG_CACHE_HOME": ".cache",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
    }.items():
        monkeypatch.setenv(variable, str(folder / place))
    return folder


@pytest.fixture(autouse=True)
def nothing_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget variables and secrets that an earlier test's config has named."""
    if (environment := sys.modules.get("teams._base.environment")) is not None:
        monkeypatch.setattr(environment, "_withheld", set[str]())
    if (redaction := sys.modules.get("gateway.base.redaction")) is not None:
        for known in ("_secrets", "_forms"):
            monkeypatch.setattr(redaction.REDACTION, known, frozenset[str]())


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    """Undo a test's log settings: other tests count on silence."""
    loggers = [logging.getLogger(name) for name in (None, "teams", "teams.events", "teams.trace")]
    before = [(each, each.level, list(each.handlers), each.propagate) for each in loggers]
    yield
    for logger, level, handlers, propagate in before:
        if logger.level != level:  # setting it asks all loggers that there are
            logger.setLevel(level)
        logger.propagate = propagate
        for handler in [each for each in logger.handlers if each not in handlers]:
            logger.removeHandler(handler)
            handler.close()
        for handler in [each for each in handlers if each not in logger.handlers]:
            logger.addHandler(handler)  # those of pytest, where a test made the log its own
    logging.captureWarnings(False)


@pytest.fixture(autouse=True, scope="session")
def certificates_read_once() -> Iterator[None]:
    """Give all clients with the same certificates one context.

    Reading the 130 authorities is an eighth of a test of a provider's client.
    """
    create = ssl.create_default_context
    known: dict[object, ssl.SSLContext] = {}

    def created(*purpose: Any, **certificates: Any) -> ssl.SSLContext:
        if purpose:  # a server's, which is given a key
            return create(*purpose, **certificates)
        key = (*certificates.items(), *map(os.environ.get, CERTIFICATES))
        if key not in known:
            known[key] = create(*purpose, **certificates)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", created)
        yield


class Faults(logging.Handler):
    """Raises where a law of the program's own is found broken."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


@pytest.fixture(autouse=True, scope="session")
def faults_raise() -> None:
    logging.getLogger("gateway.faults").addHandler(Faults())


@pytest.fixture(autouse=True)
def promises_kept(
    request: pytest.FixtureRequest, home: Path, databases_first: None
) -> Iterator[None]:
    """Fail a chaos test that leaves a key without its message."""
    if request.node.get_closest_marker("chaos") is None:
        yield
        return
    folders = {home}
    if "tmp_path" in request.fixturenames:
        folders.add(request.getfixturevalue("tmp_path"))
    yield
    from tests.fakes.kept_promises import unkept_promises, unkept_promises_at
    from tests.fakes.postgres_databases import databases_now

    assert unkept_promises(*folders) == []
    for url in databases_now():
        assert unkept_promises_at(url) == []


@pytest.fixture(autouse=True)
def no_task_left(request: pytest.FixtureRequest) -> None:
    """Fail an async test that ends while its own tasks run."""
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("_no_task_left")


@pytest.fixture
async def _no_task_left() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)  # a task that was cancelled last needs one more turn of the loop
    left = {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}
    assert not left, f"tasks left behind: {', '.join(sorted(map(repr, left)))}"


@pytest.fixture
async def openai_server() -> AsyncIterator["FakeOpenAI"]:
    """A running OpenAI-compatible server without answers; give it some with `script()`."""
    from tests.fakes.openai_server import FakeOpenAI

    async with FakeOpenAI() as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say after failures which packages may be missing."""
    failed = any(terminalreporter.stats.get(outcome) for outcome in ("failed", "error"))
    if failed and Path(sys.prefix).name == ".venv" and find_spec("basedpyright") is None:
        terminalreporter.write_line(
            "The packages of extras and services are not here. If a test failed for want of one,"
            " run `make .venv/services`, then the tests again.",
            yellow=True,
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("run_timeout", "seconds after which the whole run is ended", default="")
    databases.add_option(parser)
    forked_run.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    connections.refuse_others()
    folders_in_memory.use_where_possible()
    folders_in_memory.number_without_looking()
    time_limits.register(config)
    collection_progress.register(config)
    databases.register(config)
    forked_run.register(config)
