"""The files that start nodes agree with the code that they run.

They are deploy/compose.yaml and deploy/kubernetes.
"""

import copy
import http.server
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import kubernetes_validate
import pytest
import yaml

from adapters.slack import Config as SlackConfig
from adapters.slack.connection.socket_mode import SOCKETS
from gateway.app.load import LoadedConfig, load_config
from gateway.app.serve import check_servable
from gateway.config.settings import HealthConfig

ROOT = Path(__file__).parents[1]
COMPOSE = ROOT / "deploy" / "compose.yaml"
KUBERNETES = ROOT / "deploy" / "kubernetes"
SCHEMA = ROOT / "tests" / "data" / "compose" / "compose-spec.json"
OLDEST = "1.31"
"""The first Kubernetes with everything that the files use."""
MARGIN = 10.0
"""Seconds that a node has after its turns, to hand over and to close."""
MADE_UP = {
    "openai_api_key": "sk-made-up-for-the-test",
    "slack_app_token": "xapp-made-up-for-the-test",
    "slack_bot_token": "xoxb-made-up-for-the-test",
    "slack_signing_secret": "made-up-for-the-test",
    "store_url": "postgresql://parley:made-up-for-the-test@postgres/parley",
}
NOBODY_ELSE = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


# --- the image ---


def instruction(name: str) -> str:
    """The last one of this name in the Dockerfile."""
    text = (ROOT / "deploy" / "container" / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)[-1]


def image_config() -> str:
    """The path of the config in the image."""
    return dict(each.split("=", 1) for each in shlex.split(instruction("ENV")))["PARLEY_CONFIG"]


def image_volume() -> str:
    return json.loads(instruction("VOLUME"))[0]


def secret_files(text: str, folder: str) -> set[str]:
    """Names of the files in `folder` that a config reads."""
    named = re.findall(r'_file = "([^"]+)"', text)
    assert named
    assert {str(Path(each).parent) for each in named} == {folder}
    return {Path(each).name for each in named}


def loaded(text: str, folder: str, tmp_path: Path) -> LoadedConfig:
    """The config, with made-up secrets in place of those in `folder`."""
    for name in secret_files(text, folder):
        (tmp_path / name).write_text(MADE_UP[name] + "\n")
    source = tmp_path / "config.toml"
    source.write_text(text.replace(folder, str(tmp_path)))
    config = load_config(source)
    check_servable(config)
    assert config.config.store.url is not None
    return config


def slack_of(config: LoadedConfig) -> SlackConfig:
    found = config.adapters["slack"].config
    assert isinstance(found, SlackConfig)
    return found


# --- compose.yaml ---

DOCKER_SECRETS = "/run/secrets"


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())


def nodes() -> dict[str, dict[str, Any]]:
    return {name: each for name, each in compose()["services"].items() if name != "postgres"}


def compose_config() -> str:
    return (ROOT / "deploy" / "compose" / "config.toml").read_text()


def seconds(duration: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m)", duration).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return int(number) * {"s": 1, "m": 60}[unit]


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """The places of a service's volumes, with their sources."""
    return {each.split(":")[1]: each.split(":")[0] for each in service["volumes"]}


def compose_schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


def test_the_compose_file_keeps_to_the_specification():
    compose_schema().validate(compose())


def test_the_specification_finds_a_misspelt_setting():
    wrong = compose()
    wrong["services"]["node1"]["healthcheck"]["retrys"] = 3
    with pytest.raises(jsonschema.ValidationError, match="retrys"):
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


# --- kubernetes ---

MOUNTED_SECRETS = "/run/secrets/parley"


def resources() -> dict[str, dict[str, Any]]:
    """The documents of deploy/kubernetes, by kind."""
    found = [
        document
        for path in sorted(KUBERNETES.iterdir())
        for document in yaml.safe_load_all(path.read_text())
    ]
    return {each["kind"]: each for each in found}


def pod() -> dict[str, Any]:
    return resources()["Deployment"]["spec"]["template"]["spec"]


def container() -> dict[str, Any]:
    [found] = pod()["containers"]
    return found


def kubernetes_config() -> str:
    return resources()["ConfigMap"]["data"]["config.toml"]


def volumes() -> dict[str, dict[str, Any]]:
    """Volumes of the container, by their paths."""
    given = {each["name"]: each for each in pod()["volumes"]}
    return {each["mountPath"]: given[each["name"]] for each in container()["volumeMounts"]}


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_kubernetes_knows_every_setting(version):
    kinds = ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service"]
    assert sorted(resources()) == kinds
    for resource in resources().values():
        kubernetes_validate.validate(resource, version, strict=True)


def test_a_setting_that_kubernetes_does_not_know_is_found():
    wrong = copy.deepcopy(resources()["Deployment"])
    [each] = wrong["spec"]["template"]["spec"]["containers"]
    each["readinessProbe"]["retries"] = 3
    with pytest.raises(kubernetes_validate.ValidationError, match="retries"):
        kubernetes_validate.validate(wrong, OLDEST, strict=True)


def test_all_resources_mean_the_same_pods():
    found = resources()
    deployment = found["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    for spread in pod()["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == labels


def test_an_update_and_a_drain_leave_nodes_enough():
    deployment = resources()["Deployment"]["spec"]
    assert deployment["replicas"] == 3
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert resources()["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_the_config_of_kubernetes_loads_and_leaves_a_node_time_to_end(tmp_path):
    config = loaded(kubernetes_config(), MOUNTED_SECRETS, tmp_path).config
    before = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    needed = before + config.limits.shutdown_seconds + MARGIN
    assert pod()["terminationGracePeriodSeconds"] >= needed


def test_the_probes_ask_the_health_that_is_served(tmp_path):
    health = loaded(kubernetes_config(), MOUNTED_SECRETS, tmp_path).config.health
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    asked = {
        name: container()[f"{name}Probe"]["httpGet"]
        for name in ("startup", "liveness", "readiness")
    }
    assert {name: each["path"] for name, each in asked.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",  # `/readyz` would restart every node while a platform is away
        "readiness": "/readyz",
    }
    assert {ports[each["port"]] for each in asked.values()} == {health.port}
    assert health.host == "0.0.0.0"  # the kubelet's requests are not from this machine


def test_slacks_requests_reach_the_port_where_a_node_listens(tmp_path):
    slack = slack_of(loaded(kubernetes_config(), MOUNTED_SECRETS, tmp_path))
    service = resources()["Service"]["spec"]
    assert service["sessionAffinity"] == "None"
    [port] = service["ports"]
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert (slack.mode, slack.host, slack.port) == ("http", "0.0.0.0", ports[port["targetPort"]])


def test_the_pods_have_no_rights_but_those_of_a_user():
    given, user = pod()["securityContext"], int(instruction("USER"))
    assert given["runAsNonRoot"]
    assert {given[each] for each in ("runAsUser", "runAsGroup", "fsGroup")} == {user}
    assert given["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == NOBODY_ELSE
    assert not pod()["automountServiceAccountToken"]
    assert not pod()["enableServiceLinks"]  # a service called parley would set PARLEY_ variables
    assert not {"command", "args", "env"} & {*container()}


def test_a_pod_writes_in_its_own_folders_alone(tmp_path):
    mounted = volumes()
    written = {path for path, volume in mounted.items() if "emptyDir" in volume}
    assert written == {image_volume(), "/tmp"}
    config = loaded(kubernetes_config(), MOUNTED_SECRETS, tmp_path).config
    # Not the volume itself: it is root's, and only a folder's owner can make it private.
    assert config.store.folder is not None
    assert str(config.store.folder.parent) == image_volume()


def test_config_and_secrets_are_mounted_where_they_are_looked_for():
    mounted, found = volumes(), resources()
    config = mounted[str(Path(image_config()).parent)]["configMap"]
    assert config["name"] == found["ConfigMap"]["metadata"]["name"]
    assert [*found["ConfigMap"]["data"]] == [Path(image_config()).name]
    assert all("subPath" not in each for each in container()["volumeMounts"])
    secret = mounted[MOUNTED_SECRETS]["secret"]
    text = (KUBERNETES / "deployment.yaml").read_text()
    assert f"kubectl create secret generic {secret['secretName']} --from-file=secrets\n" in text
    [named] = re.findall(r"mkdir -m 700 secrets +\(([^)]*)\)", text)
    assert {*named.split(", ")} == secret_files(kubernetes_config(), MOUNTED_SECRETS)
    assert secret["defaultMode"] == 0o440


# --- the page for operators ---


def test_the_page_names_the_nodes_and_the_deployment_that_there_are():
    page = (ROOT / "docs" / "nodes.md").read_text()
    assert f"for node in {' '.join(nodes())}; do docker compose up" in page
    assert f"docker compose exec {next(iter(nodes()))} parley reload" in page
    name, image = resources()["Deployment"]["metadata"]["name"], container()["image"]
    new = f"{container()['name']}={image.rpartition(':')[0]}:NEW"
    assert f"kubectl set image deployment/{name} {new} " in page
    assert f"kubectl exec deployment/{name} -- parley reload" in page


def test_nodes_with_socket_mode_and_one_more_have_the_connections_that_slack_allows():
    page = (ROOT / "docs" / "nodes.md").read_text()
    assert "ten connections for an app, and a node has two. So run at most four" in page
    assert len(nodes()) <= 4
    assert (4 + 1) * SOCKETS == 10


# --- what is carried along ---


@pytest.mark.parametrize("ignored", [".gitignore", ".dockerignore"])
def test_secrets_beside_the_files_get_into_no_commit_and_no_image(ignored):
    lines = (ROOT / ignored).read_text().splitlines()
    assert "deploy/**/secrets" in lines
    assert "!deploy" not in lines[lines.index("deploy/**/secrets") :]
