"""`[tracing]`: its settings, the variables beside it, and whether the collector answers."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.util._once import Once

from gateway.app import serve
from gateway.app.check import check_config
from gateway.app.config_diff import changes
from gateway.app.findings import Finding
from gateway.app.load import load_config
from gateway.app.servable import ServeError
from gateway.app.serve import serve_config
from gateway.app.tracing import exporting
from gateway.base.exit_codes import ExitCode
from gateway.config.problems import ConfigError
from gateway.config.tracing import NEEDS_EXTRA, TracingConfig
from tests.fakes.otlp_collector import Collector, collecting
from tests.fakes.scripted_platform import Platform, installed

SERVED = """
health = { port = 0 }
store = { folder = "store" }
[adapters.scripted]
bot_token = "x"
[[routes]]
adapter = "scripted"
dm = true
users = "members"
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(autouse=True)
def own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `serve` begin no log; forget the tracer provider afterwards."""
    logging.getLogger("opentelemetry").setLevel(logging.NOTSET)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    monkeypatch.setattr(serve, "begin_json_log", lambda loaded: None)


def load(folder: Path, text: str) -> Any:
    (folder / "config.toml").write_text(text)
    return load_config(folder / "config.toml")


async def findings(folder: Path, text: str, *, offline: bool = False) -> list[Finding]:
    demo = "[models.m]\nprovider = 'demo'\n"
    found = await check_config(load(folder, demo + text), offline=offline)
    return [each for each in found if each.kind == "traces"]


def send_a_span(config: TracingConfig) -> None:
    with exporting(config), trace.get_tracer("somebody").start_as_current_span("work"):
        pass


@pytest.mark.parametrize(
    ("answer", "good", "said"),
    [(200, True, "the collector answers"), (401, False, "401"), (404, False, "404")],
)
async def test_the_check_says_whether_the_collector_takes_traces(
    tmp_path, collector, answer, good, said, caplog
):
    collector.answer = answer
    text = f"[tracing]\nendpoint = '{collector.url}/'\nheaders = {{ x-key = 'k1' }}"
    [finding] = await findings(tmp_path, text)
    assert (finding.name, finding.good) == (f"{collector.url}/", good)
    assert said in finding.text
    assert [each["x-key"] for each in collector.headers] == ["k1"]
    assert "traces" not in caplog.text


async def test_the_check_says_why_nobody_answers(tmp_path, collector, monkeypatch):
    monkeypatch.setattr("gateway.app.tracing.PROBE", 1.5)
    [finding] = await findings(tmp_path, "[tracing]\nendpoint = 'http://127.0.0.1:1'")
    assert not finding.good
    assert "refused" in finding.text
    assert "retrying" not in finding.text


async def test_an_offline_check_asks_no_collector(tmp_path, collector):
    text = f"[tracing]\nendpoint = '{collector.url}'"
    assert await findings(tmp_path, text, offline=True) == []
    assert collector.headers == []


async def test_without_the_extra_serve_and_check_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gateway.app.tracing", None)
    [finding] = await findings(tmp_path, "[tracing]", offline=True)
    assert (finding.good, finding.text) == (False, NEEDS_EXTRA)
    with (
        installed(Platform()),
        pytest.raises(ServeError, match=r"pip install 'parley-gateway\[otel\]'"),
    ):
        serve_config(load(tmp_path, f"{SERVED}[tracing]"))


def test_serve_traces_while_it_serves(tmp_path, monkeypatch, collector):
    async def served(loaded: Any, *, watch: bool) -> ExitCode:
        assert isinstance(trace.get_tracer_provider(), TracerProvider)
        trace.get_tracer("somebody").start_span("while it serves").end()
        return ExitCode.DONE

    monkeypatch.setattr(serve, "until_signal", served)
    text = f"{SERVED}[tracing]\nendpoint = '{collector.url}'"
    with installed(Platform()):
        assert serve_config(load(tmp_path, text)) == ExitCode.DONE
    assert [each.name for each in collector.spans] == ["while it serves"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("endpoint = 'localhost:4318'", "tracing.endpoint"),
        ("endpoint = 'ftp://x'", "tracing.endpoint"),
        ("endpoint = 'https://me:canary@x'", "tracing.endpoint"),
        ("sample = 1.5", "less than or equal to 1"),
        ("headers = { a = 1 }", "tracing.headers"),
        ("service_name = ''", "tracing.service_name"),
    ],
)
def test_a_mistake_names_its_place(tmp_path, setting, said):
    with pytest.raises(ConfigError) as error:
        load(tmp_path, f"[tracing]\n{setting}")
    assert said in str(error.value)


def test_opentelemetrys_variables_hold_where_the_table_is_silent(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k2")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=bots")
    send_a_span(TracingConfig())
    assert [each.service for each in collector.spans] == ["bots"]
    assert collector.headers[0]["x-key"] == "k2"


def test_the_table_wins_over_the_variables(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "bots")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    endpoint = f"{collector.url}/v1/traces"
    send_a_span(TracingConfig(endpoint=endpoint, sample=1.0, service_name="mine"))
    assert [each.service for each in collector.spans] == ["mine"]


@pytest.mark.parametrize("headers", ["x-key Bearer canary-4711", "x-key=canary-4711%0A2"])
async def test_no_header_of_a_variable_is_told(tmp_path, collector, monkeypatch, caplog, headers):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    [finding] = await findings(tmp_path, f"[tracing]\nendpoint = '{collector.url}'")
    assert "canary" not in f"{finding.text}{caplog.text}"


def test_a_wrong_variable_is_a_mistake_and_no_crash(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1")
    with installed(Platform()), pytest.raises(ServeError, match="max_queue_size"):
        serve_config(load(tmp_path, f"{SERVED}[tracing]"))


def test_a_sampler_of_the_variables_holds_without_sample(collector, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    send_a_span(TracingConfig(endpoint=collector.url))
    assert collector.spans == []


def test_a_reload_says_that_tracing_changes_at_the_next_start_and_shows_no_key(tmp_path):
    old = load(tmp_path, "[tracing]\nsample = 0.5").config
    new = load(tmp_path, "[tracing]\nsample = 1\nheaders = { x-key = 'canary' }").config
    lines = changes(old, new)
    assert "~ tracing.sample = 0.5 -> 1.0  (at the next start)" in lines
    assert all(line.endswith("(at the next start)") for line in lines)
    assert "canary" not in "".join(lines)
