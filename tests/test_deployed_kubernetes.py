"""deploy/kubernetes agrees with the code that it starts.

tests/extras/kubernetes holds it to Kubernetes' own schemas.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from adapters.slack import Config as SlackConfig
from gateway.app.load import LoadedConfig
from tests.deployed import (
    MARGIN,
    ROOT,
    image_config,
    image_volume,
    instruction,
    loaded,
    secret_files,
)

KUBERNETES = ROOT / "deploy" / "kubernetes"
RIGHTS = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
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
    assert container()["securityContext"] == RIGHTS
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


def slack_of(config: LoadedConfig) -> SlackConfig:
    found = config.adapters["slack"].config
    assert isinstance(found, SlackConfig)
    return found


def test_the_page_for_operators_names_the_deployment():
    page = (ROOT / "docs" / "nodes.md").read_text()
    name, image = resources()["Deployment"]["metadata"]["name"], container()["image"]
    new = f"{container()['name']}={image.rpartition(':')[0]}:NEW"
    assert f"kubectl set image deployment/{name} {new} " in page
    assert f"kubectl exec deployment/{name} -- parley reload" in page
