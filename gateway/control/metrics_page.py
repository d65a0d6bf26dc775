"""The page `/metrics`: a gateway's figures in Prometheus' text format."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import get_args

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from gateway.base.metrics import Metrics
from gateway.outbox import PartResult
from gateway.runtime.status import Status
from gateway.runtime.store_health import OK
from gateway.store.records import Counts

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNDELIVERED = ("pending", "attempting", "failed")
PART_RESULTS = get_args(PartResult)
TURN_ENDS = ("done", "failed", "silent")
"""Told from the beginning: an alert sees a count only where it knows the one before."""
NO_TOOL = "unknown"
"""The label of calls of tools that no agent has: their names are the model's."""
_BACKUP = (
    ("interval_seconds", "every", "Seconds from one backup to the next."),
    ("timestamp_seconds", "at", "Time of the last good backup; 0 for none."),
    ("bytes", "size", "Its size."),
    ("duration_seconds", "seconds", "Seconds that the last one took."),
)

_Values = (
    float
    | Mapping[str, float]
    | Mapping[tuple[str, str], float]
    | Mapping[tuple[str, str, str], float]
)


def metrics_page(vitals: Metrics, status: Status, store: Path, log: Path | None) -> bytes:
    """The page; `store` is a folder, `log` a file."""
    registry = CollectorRegistry()
    registry.register(_Figures(vitals, status, store, log))
    for histogram in vitals.histograms:
        registry.register(histogram)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Figures(Collector):
    """Counters, and gauges of this moment."""

    def __init__(self, vitals: Metrics, status: Status, store: Path, log: Path | None) -> None:
        self._vitals = vitals
        self._status = status
        self._store = store
        self._log = log

    @override
    def collect(self) -> Iterator[Metric]:
        yield from _counters(self._vitals)
        yield from _gauges(self._vitals, self._status)
        yield from _backups(self._vitals)
        yield from _disk(self._store, self._log)


def _counters(vitals: Metrics) -> Iterator[Metric]:
    yield _counter("messages_accepted", "Messages by outcome.", vitals.accepted, "outcome")
    yield _counter("missed_messages", "Messages found after pauses.", vitals.missed, "verdict")
    yield _counter("events_ignored", "Events dropped by adapters.", vitals.ignored, "reason")
    parts = dict.fromkeys(PART_RESULTS, 0) | vitals.parts
    yield _counter("parts", "Messages written to platforms.", parts, "outcome")
    waits = dict.fromkeys(vitals.platforms.frames(), 0.0) | vitals.waits
    yield _counter(
        "platform_wait_seconds", "Seconds that platforms asked to wait.", waits, "adapter"
    )
    yield _counter(
        "dead_ends", "People who can't be answered where they asked.", vitals.dead_ends, "outcome"
    )
    turns = dict.fromkeys(TURN_ENDS, 0) | vitals.turns
    yield _counter("turns", "Turns by how they ended.", turns, "ended")
    yield _counter("tokens", "Tokens of models.", vitals.tokens, "team model direction")
    yield _counter("cost", "Cost of these tokens by [prices].", vitals.costs, "team model")
    yield _counter("model_errors", "Failed requests.", vitals.model_errors, "model kind")
    yield _counter(
        "model_retries", "Requests after a failed one of their turn.", vitals.model_retries, "model"
    )
    yield _counter(
        "model_substitutions",
        "Answers of one model in the place of another.",
        vitals.substitutions,
        "model by because",
    )
    tools = {(tool or NO_TOOL, outcome): n for (tool, outcome), n in vitals.tools.items()}
    yield _counter("tool_calls", "Tool calls by their outcome.", tools, "tool outcome")
    yield _counter("loop_stalls", "Stalls of the loop.", vitals.stalls)
    yield _counter("loop_stalled_seconds", "Seconds of stalls.", vitals.stalled_seconds)


def _gauges(vitals: Metrics, status: Status) -> Iterator[Metric]:
    yield _gauge("uptime_seconds", "Seconds since the process began.", vitals.uptime)
    yield _gauge("troubles", "Sentences of /healthz about trouble.", len(status.troubles))
    yield _gauge("store_writes", "1 while the store takes writes.", float(status.store == OK))
    yield _gauge(
        "missed_unread", "Conversations to read after a pause.", status.missed.unread, "adapter"
    )
    waiting = {(each.adapter, each.limit): each for each in status.owed}
    yield _gauge(
        "answers_owed",
        "Threads whose next message waits for a platform's limit.",
        {key: each.threads for key, each in waiting.items()},
        "adapter limit",
    )
    yield _gauge(
        "answers_owed_oldest_seconds",
        "Seconds that the oldest of them has waited.",
        {key: each.oldest for key, each in waiting.items()},
        "adapter limit",
    )
    yield _gauge(
        "strangers",
        "Connections with the account's token that no node of the store holds.",
        dict.fromkeys(vitals.platforms.frames(), 0) | vitals.platforms.strangers,
        "adapter",
    )
    yield _gauge("turns_running", "Turns that run now.", status.running)
    yield _gauge("teams_live", "Idle teams in memory.", status.live)
    yield _gauge("teams_live_bytes", "Size of their last snapshots.", status.live_bytes)
    if (pool := status.pool) is not None:
        states = {"used": pool.used, "free": pool.most - pool.used}
        yield _gauge("database_connections", "Connections to the database.", states, "state")
    if status.nodes:
        yield _gauge("nodes", "Nodes of the store.", len(status.nodes))
        silent = {each.node.name: each.silent for each in status.nodes}
        yield _gauge("node_heartbeat_age_seconds", "Seconds since a heartbeat.", silent, "node")
    if status.counts is not None:
        yield from _stored(status.counts)
    frames = vitals.platforms.frames()
    connected = {name: float(life == "connected") for name, (life, _) in frames.items()}
    yield _gauge("adapter_connected", "1 while it is connected.", connected, "adapter")
    ages = {name: age for name, (_, age) in frames.items() if age is not None}
    yield _gauge("adapter_last_frame_age_seconds", "Seconds since its last frame.", ages, "adapter")


def _stored(counts: Counts) -> Iterator[Metric]:
    yield _gauge("threads", "Threads by state.", counts.threads, "state")
    waiting = counts.inbox.get("queued", 0)
    yield _gauge("messages_waiting", "Messages that wait for a turn.", waiting)
    undelivered = {name: counts.outbox.get(name, 0) for name in UNDELIVERED}
    yield _gauge("outbox", "Messages that are not delivered.", undelivered, "status")
    yield _gauge(
        "outbox_oldest_seconds",
        "Age of the oldest message on its way.",
        counts.oldest_undelivered,
    )
    rated = {word: counts.feedback.get(word, 0) for word in ("good", "bad")}
    yield _gauge("feedback", "Rated answers.", rated, "verdict")
    yield _gauge("requests_open", "Open requests.", counts.open_requests)


def _backups(vitals: Metrics) -> Iterator[Metric]:
    for name, field, text in _BACKUP:
        figure = getattr(vitals.backup, field, None)  # there may be none
        yield _gauge(f"backup_{name}", text, {} if figure is None else figure)
    yield _counter("backup_failures", "Backups that failed.", vitals.backup_failures)


def _disk(store: Path, log: Path | None) -> Iterator[Metric]:
    """Sizes of database and log, and the free space beside them."""
    files = {"database": _size(store, "parley.db*"), "log": 0}
    if log is not None:
        files["log"] = _size(log.parent, f"{log.name}*")
    yield _gauge("disk_bytes", "Size of files.", files, "files")
    yield _gauge("disk_free_bytes", "Free space beside the store.", shutil.disk_usage(store).free)


def _size(folder: Path, pattern: str) -> int:
    total = 0
    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):  # a rotated log goes at any time
            total += path.stat().st_size
    return total


def _counter(name: str, text: str, values: _Values, labels: str = "") -> Metric:
    return _filled(CounterMetricFamily(f"parley_{name}", text, labels=labels.split()), values)


def _gauge(name: str, text: str, values: _Values, labels: str = "") -> Metric:
    return _filled(GaugeMetricFamily(f"parley_{name}", text, labels=labels.split()), values)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, values: _Values) -> Metric:
    if not isinstance(values, Mapping):
        family.add_metric([], values)
        return family
    for key, figure in sorted(values.items()):
        family.add_metric([key] if isinstance(key, str) else [*key], figure)
    return family
