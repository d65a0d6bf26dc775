"""deploy/kubernetes by Kubernetes' own schemas.

Run by `make extras`, in an environment of requirements/extras/kubernetes.txt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes_validate", reason="the schemas have an environment of their own")

import kubernetes_validate
import yaml

KUBERNETES = Path(__file__).parents[3] / "deploy" / "kubernetes"
OLDEST = "1.31"
"""The first Kubernetes with everything that the files use."""


def resources() -> list[dict[str, Any]]:
    files = [path.read_text() for path in sorted(KUBERNETES.iterdir())]
    return [each for text in files for each in yaml.safe_load_all(text)]


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_kubernetes_knows_every_setting(version: str) -> None:
    assert len(resources()) == 4
    for resource in resources():
        kubernetes_validate.validate(resource, version, strict=True)


def test_a_setting_that_kubernetes_does_not_know_is_found() -> None:
    [wrong] = [each for each in resources() if each["kind"] == "Deployment"]
    [container] = wrong["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"]["retries"] = 3
    with pytest.raises(kubernetes_validate.ValidationError, match="retries"):
        kubernetes_validate.validate(wrong, OLDEST, strict=True)
