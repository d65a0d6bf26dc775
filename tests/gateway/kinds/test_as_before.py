"""Every config of the repository does what it did before.

Its mistakes have the same words, its powers are the same, and its teams dump to the same JSON,
which wants the same of the operator and becomes the same TOML.
"""

import json
from pathlib import Path

import pytest

from gateway.base.redaction import REDACTION
from teams._components import providers
from tests.gateway.kinds.observed import BEFORE, VARIABLES, kept, observe

KEPT = json.loads(BEFORE.read_text())


@pytest.fixture(autouse=True)
def trusted_as_before(monkeypatch: pytest.MonkeyPatch):
    """Component files of these configs trust modules."""
    monkeypatch.setattr(providers, "_trusted", {*vars(providers)["_trusted"]})


@pytest.mark.parametrize("part", range(4))
async def test_configs_do_what_they_did(part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    # Values that other tests have made secrets are no part of what a config does.
    monkeypatch.setattr(REDACTION, "_secrets", frozenset())
    monkeypatch.setattr(REDACTION, "_forms", frozenset())
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    for each in KEPT[part::4]:
        assert kept(await observe(each["config"], tmp_path)) == each["does"], each["config"]
