"""The deployment files agree with the code that they run."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from click.testing import CliRunner

from gateway.base.exit_codes import ExitCode
from gateway.base.metrics import Metrics
from gateway.base.paths import find_config, store_folder
from gateway.cli import main
from gateway.config.settings import HealthConfig, LimitsConfig
from gateway.control.metrics_page import TURN_ENDS, metrics_page
from gateway.runtime.status import Status
from gateway.store.records import Counts

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "container" / "Dockerfile"
SERVICE = ROOT / "deploy" / "systemd" / "parley.service"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with what they are given."""
    text = re.sub(
        r"^#.*\n",
        "",
        DOCKERFILE.read_text(),
        flags=re.MULTILINE,
    )
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in lines if line]


def last_stage() -> dict[str, str]:
    """The image's own instructions; the last one where there are several."""
    found = instructions()
    begin = max(n for n, (name, _) in enumerate(found) if name == "FROM")
    return dict(found[begin:])


def service() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    parser.read(SERVICE)
    return parser


def environment(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(text))


def test_the_image_has_only_instructions_that_there_are():
    known = {
        "ARG",
        "FROM",
        "COPY",
        "RUN",
        "ENV",
        "USER",
        "WORKDIR",
        "VOLUME",
        "EXPOSE",
        "STOPSIGNAL",
    }
    assert {name for name, _ in instructions()} <= known | {"HEALTHCHECK", "ENTRYPOINT", "CMD"}
    for name in ("ENTRYPOINT", "CMD", "VOLUME"):
        assert isinstance(json.loads(last_stage()[name]), list)


def test_the_image_is_made_of_what_is_there_and_of_pinned_packages():
    given = set((ROOT / ".dockerignore").read_text().splitlines())
    for _, what in (each for each in instructions() if each[0] == "COPY"):
        if what.startswith("--from"):
            continue
        for source in what.split()[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source}" in given
    installs = [what for name, what in instructions() if name == "RUN" and "pip install" in what]
    assert all("--require-hashes" in what or "--no-deps" in what for what in installs)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert {f"!{name}" for name in packages["packages"]} <= given


def test_the_image_has_the_locked_packages_of_a_service_of_traces_and_of_postgresql():
    def locked(name: str) -> set[tuple[str, str]]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^([a-z][^ =\[]*)(?:\[[^\]]*\])?==([^ ]+)", text, re.MULTILINE))

    copied = [what for name, what in instructions() if name == "COPY"]
    assert copied[0].startswith("requirements/container.txt ")
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    more = {re.split(r"[<>=\[]", each)[0] for each in extra["otel"] + extra["postgres"]}
    image = locked("container")
    assert locked("runtime") <= image <= locked("services")
    assert more <= {name for name, _ in image}


def test_the_image_is_made_on_a_base_that_the_builder_can_pin():
    [(name, default), *_] = instructions()
    assert (name, default.partition("=")[0]) == ("ARG", "PYTHON_IMAGE")
    bases = [what.split()[0] for name, what in instructions() if name == "FROM"]
    assert set(bases) == {"${PYTHON_IMAGE}"}
    page = (ROOT / "docs" / "operate.md").read_text()
    assert f"--build-arg {default}@sha256:" in page
    assert f"docker pull {default.partition('=')[2]}\n" in page


def test_the_image_is_run_read_only_and_without_capabilities():
    page = (ROOT / "docs" / "operate.md").read_text().replace("\\\n", " ")
    runs = re.findall(r"^docker run .* parley$", page, re.MULTILINE)
    assert runs
    for line in runs:
        command = shlex.split(line)
        for option in ("--read-only", "--cap-drop ALL", "--security-opt no-new-privileges"):
            assert option in " ".join(command)
        mounts = [command[n + 1].split(":") for n, word in enumerate(command) if word == "-v"]
        written = [mount[1] for mount in mounts if mount[2:] != ["ro"]]
        assert written == json.loads(last_stage()["VOLUME"])


def test_the_image_runs_as_nobody_special_and_keeps_its_threads_in_a_volume(monkeypatch):
    stage = last_stage()
    assert int(stage["USER"]) > 0
    for name, value in environment(stage["ENV"]).items():
        monkeypatch.setenv(name, value)
    assert [str(store_folder())] == json.loads(stage["VOLUME"])
    assert str(find_config()) == "/etc/parley/config.toml"
    assert (stage["ENTRYPOINT"], stage["CMD"]) == ('["parley"]', '["serve"]')


def test_the_image_looks_at_the_health_that_is_served():
    stage, port = last_stage(), HealthConfig().port
    command = json.loads(stage["HEALTHCHECK"].partition("CMD")[2])
    assert command[0] == "python"
    compile(command[2], "HEALTHCHECK", "exec")
    assert f"http://{HealthConfig().host}:{port}/healthz" in command[2]
    assert stage["EXPOSE"] == str(port)


@pytest.mark.skipif(sys.platform == "win32", reason="no systemd")
def test_the_service_runs_reloads_and_ends_as_the_command_says(monkeypatch):
    unit = service()["Service"]
    for name, value in environment(unit["Environment"]).items():
        monkeypatch.setenv(name, value)
    assert str(find_config()) == "/etc/parley/config.toml"
    assert store_folder() == Path("/var/lib") / unit["StateDirectory"]
    assert unit["User"] != "root"
    assert int(unit["TimeoutStopSec"]) > LimitsConfig().shutdown_seconds
    assert unit["KillMode"] == "mixed"  # as `docker stop`: the process alone is told to end
    assert unit["ExecReload"].split()[1] == "-HUP"
    final = {ExitCode.USAGE, ExitCode.DAMAGED}
    assert {*map(int, unit["RestartPreventExitStatus"].split())} == final
    command = unit["ExecStart"].split()
    assert Path(command[0]).name == "parley"
    assert CliRunner().invoke(main, [*command[1:], "--help"]).exit_code == 0


EXPOSURE = 3.0

HARDENED = {
    "CapabilityBoundingSet": "",
    "NoNewPrivileges": "yes",
    "PrivateUsers": "yes",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native",
}


def test_the_service_has_no_rights_but_those_of_a_user():
    text = SERVICE.read_text()
    for name, setting in HARDENED.items():
        assert f"\n{name}={setting}\n" in text
    assert "\nSystemCallFilter=@system-service\n" in text
    assert "\nSystemCallFilter=~@privileged" in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_the_service_is_rated_as_hardly_exposed():
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    unit = str(SERVICE)
    rated = subprocess.run([*command, unit], capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for parley\.service: ([0-9.]+)", rated.stdout)
    assert found, rated.stderr
    assert float(found[1]) < EXPOSURE
    assert rated.stderr == ""  # such as a setting that is not known


# --- what watches it ---

METRIC = re.compile(r"\b(?:parley|process)_[a-z_]+")
OF_HISTOGRAMS = re.compile(r"_(?:bucket|sum|count)$")


def metric_names() -> set[str]:
    """Names of all metrics that a gateway tells of."""
    counts = Counts(threads={}, inbox={}, refused={}, open_requests=0)
    status = Status(pid=1, since=0.0, running=0, live=0, counts=counts)
    page = metrics_page(Metrics(), status, ROOT, ROOT / "parley.log").decode()
    return set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((ROOT / "deploy/prometheus/parley.rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return json.loads((ROOT / "deploy/grafana/parley.json").read_text())["panels"]


def expressions() -> list[str]:
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [alert["expr"] for alert in alerts()] + [
        each.replace("$__rate_interval", "5m") for each in shown
    ]


def test_every_alert_and_panel_asks_in_promql_for_metrics_that_there_are():
    known = metric_names()
    for expression in expressions():
        promql_parser.parse(expression)
        named = {OF_HISTOGRAMS.sub("", name) for name in METRIC.findall(expression)}
        assert named <= known, expression
        assert named or "up{" in expression


def test_the_alert_on_failed_turns_counts_silent_ones_from_the_beginning():
    (asked,) = [each["expr"] for each in alerts() if each["alert"] == "ParleyTurnsFail"]
    (ends,) = re.findall(r'\{ended=~"([a-z|]+)"\}', asked)
    assert {*ends.split("|")} == {"failed", "silent"}
    assert {*ends.split("|")} < {*TURN_ENDS}


def test_every_metric_stands_in_the_page_for_operators():
    page = (ROOT / "docs" / "operate.md").read_text()
    missing = [name for name in metric_names() if name.startswith("parley_") and name not in page]
    assert missing == []


def test_every_alert_has_its_words_and_a_place_in_the_page_for_operators():
    page = (ROOT / "docs" / "operate.md").read_text()
    for alert in alerts():
        assert alert["annotations"]["summary"].endswith(".")
        assert alert["labels"]["severity"] in {"page", "ticket"}
        assert f"`{alert['alert']}`" in page


def test_the_picture_of_the_dashboard_shows_all_of_its_panels():
    picture = (ROOT / "docs" / "images" / "dashboard.svg").read_text()
    assert re.findall(r'class="n">([^<]+)<', picture) == [panel["title"] for panel in panels()]


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")
def test_prometheus_itself_reads_the_alerts():
    command = ["promtool", "check", "rules", str(ROOT / "deploy/prometheus/parley.rules.yaml")]
    subprocess.run(command, check=True, capture_output=True)
