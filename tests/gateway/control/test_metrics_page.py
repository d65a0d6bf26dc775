"""The page of figures in Prometheus' text format."""

from __future__ import annotations

from pathlib import Path

from gateway.base.metrics import Metrics
from gateway.control.metrics_page import metrics_page
from gateway.runtime.status import Status


def page(folder: Path, vitals: Metrics, store: str = "ok") -> list[str]:
    status = Status(pid=1, since=0.0, running=2, live=0, counts=None, store=store)
    return metrics_page(vitals, status, folder, None).decode().splitlines()


def test_counts_and_gauges_have_lines(tmp_path: Path) -> None:
    vitals = Metrics()
    vitals.ignored["no route"] = 3
    lines = page(tmp_path, vitals)
    assert 'parley_events_ignored_total{reason="no route"} 3.0' in lines
    assert 'parley_turns_total{ended="failed"} 0.0' in lines
    assert "parley_store_writes 1.0" in lines


def test_a_store_in_trouble_takes_no_writes(tmp_path: Path) -> None:
    assert "parley_store_writes 0.0" in page(tmp_path, Metrics(), store="full")
