"""deploy/compose.yaml and its config agree with the code that they start."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest
import yaml

from adapters.slack.connection.socket_mode import SOCKETS
from gateway.config.settings import HealthConfig
from tests.deployed import MARGIN, ROOT, image_config, image_volume, loaded, secret_files

COMPOSE = ROOT / "deploy" / "compose.yaml"
SCHEMA = ROOT / "tests" / "data" / "compose" / "compose-spec.json"
DOCKER_SECRETS = "/run/secrets"


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())


def nodes() -> dict[str, dict[str, Any]]:
    return {name: each for name, each in compose()["services"].items() if name != "postgres"}


def compose_config() -> str:
    return (ROOT / "deploy" / "compose" / "config.toml").read_text()


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)([sm])", duration)
    assert found is not None, duration
    return int(found[1]) * {"s": 1, "m": 60}[found[2]]


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """The places of a service's volumes, with their sources."""
    return {each.split(":")[1]: each.split(":")[0] for each in service["volumes"]}


def compose_schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text()))


def test_the_compose_file_keeps_to_the_specification():
    compose_schema().validate(compose())


def test_the_specification_finds_a_misspelt_setting():
    wrong = compose()
    wrong["services"]["node1"]["healthcheck"]["retrys"] = 3
    with pytest.raises(jsonschema_rs.ValidationError, match="retrys"):
        compose_schema().validate(wrong)


def test_three_nodes_have_a_store_folder_and_a_name_each():
    assert len(nodes()) == 3
    folders = [mounts(node)[image_volume()] for node in nodes().values()]
    assert len({*folders}) == 3
    assert {*folders, "postgres"} == {*compose()["volumes"]}
    assert [node["hostname"] for node in nodes().values()] == [*nodes()]


def test_the_nodes_are_the_image_as_it_is_with_one_config():
    for node in nodes().values():
        assert node["image"] == "${PARLEY_IMAGE:-parley}"
        assert not {"build", "command", "entrypoint", "user", "ports"} & {*node}
        config = Path(image_config())
        assert mounts(node)[str(config.parent)] == "./compose"
        assert (ROOT / "deploy" / "compose" / config.name).is_file()
        assert f"./compose:{config.parent}:ro" in node["volumes"]


def test_a_node_waits_for_a_database_that_takes_connections():
    database = compose()["services"]["postgres"]
    assert database["healthcheck"]["test"][1] == "pg_isready"
    for node in nodes().values():
        assert node["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert node["restart"] == database["restart"] == "unless-stopped"


def test_the_nodes_of_compose_have_no_rights_but_those_of_a_user():
    for node in nodes().values():
        assert node["read_only"]
        assert node["cap_drop"] == ["ALL"]
        assert node["security_opt"] == ["no-new-privileges:true"]
        assert node["tmpfs"] == ["/tmp"]
        assert node["init"]


def test_the_config_of_compose_loads_and_leaves_a_node_time_to_end(tmp_path):
    config = loaded(compose_config(), DOCKER_SECRETS, tmp_path).config
    for node in nodes().values():
        given = seconds(node["stop_grace_period"])
        assert given >= config.limits.shutdown_seconds + MARGIN
        [host] = re.findall(r"http://([^/]+)/readyz", node["healthcheck"]["test"][-1])
        assert host == f"{config.health.host}:{config.health.port}"
    pool = config.store.pool_size + 3
    assert pool * len(nodes()) < 97  # of PostgreSQL's default of 100, three are a superuser's


def test_each_secret_of_compose_is_a_file_for_those_who_read_it():
    services, files = compose()["services"], compose()["secrets"]
    for node in nodes().values():
        assert {*node["secrets"]} == secret_files(compose_config(), DOCKER_SECRETS)
    [password] = services["postgres"]["secrets"]
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"].endswith(f"/{password}")
    assert {*files} == {password, *nodes()["node1"]["secrets"]}
    assert all(each == {"file": f"./secrets/{name}"} for name, each in files.items())
    text = COMPOSE.read_text()
    assert all(re.search(rf"^#.*\b{name}\b", text, re.MULTILINE) for name in files)


def test_the_address_that_compose_says_to_write_is_that_of_its_database():
    [address] = re.findall(r'echo "(postgresql://[^"]+)"', COMPOSE.read_text())
    url = urlsplit(re.sub(r"\$\([^)]*\)", "password", address))
    database = compose()["services"]["postgres"]["environment"]
    assert (url.hostname, url.port) == ("postgres", None)
    assert url.username == database["POSTGRES_USER"]
    assert url.path == f"/{database['POSTGRES_DB']}"


@pytest.fixture
def answering() -> Iterator[tuple[int, list[HTTPStatus]]]:
    """A port that answers with the last status of the list."""
    statuses: list[HTTPStatus] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses[-1])
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_port, statuses
        server.shutdown()
        thread.join()


def test_a_node_of_compose_is_healthy_only_while_it_is_ready(answering):
    port, statuses = answering
    kind, program, *arguments = nodes()["node1"]["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    arguments[-1] = arguments[-1].replace(f":{HealthConfig().port}/", f":{port}/")

    def is_healthy(status: HTTPStatus) -> bool:
        statuses.append(status)
        ran = subprocess.run([sys.executable, "-S", *arguments], capture_output=True, check=False)
        return ran.returncode == 0

    assert is_healthy(HTTPStatus.OK)
    assert not is_healthy(HTTPStatus.SERVICE_UNAVAILABLE)


def test_the_page_for_operators_names_the_nodes():
    page = (ROOT / "docs" / "nodes.md").read_text()
    assert f"for node in {' '.join(nodes())}; do docker compose up" in page
    assert f"docker compose exec {next(iter(nodes()))} parley reload" in page


def test_nodes_with_socket_mode_and_one_more_have_the_connections_that_slack_allows():
    page = (ROOT / "docs" / "nodes.md").read_text()
    assert "ten connections for an app, and a node has two. So run at most four" in page
    assert len(nodes()) <= 4
    assert (4 + 1) * SOCKETS == 10


@pytest.mark.parametrize("ignored", [".gitignore", ".dockerignore"])
def test_secrets_beside_the_files_get_into_no_commit_and_no_image(ignored):
    lines = (ROOT / ignored).read_text().splitlines()
    assert "deploy/**/secrets" in lines
    assert "!deploy" not in lines[lines.index("deploy/**/secrets") :]
