"""Component files: what they want, and what their team's table allows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gateway.config.allowances import AllowedAddress, AllowedVariable
from gateway.config.root import Config
from gateway.config.teams import ComponentTeam
from gateway.factory import component_files
from gateway.factory.component_files import (
    ComponentNotAllowed,
    allow_line,
    import_classes,
    needs_of,
    read_component,
    refuse_unallowed,
    set_limits,
)
from teams.core import ComponentLoader
from tests.security.component_examples import agent, docker, local, openai, part, team

SERVER = "https://models.example"
PAYS = team(agent("a", model_client=openai(base_url=f"{SERVER}/v1")))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-operators")


def test_a_file_is_read_and_its_modules_trusted(tmp_path: Path) -> None:
    (tmp_path / "team.json").write_text(json.dumps(PAYS))
    table = {"component": str(tmp_path / "team.json"), "trusted_modules": ["own_trusted_parts"]}
    config = Config.model_validate({"teams": {"t": table}}).teams["t"]
    assert isinstance(config, ComponentTeam)
    assert read_component(config) == PAYS
    (tmp_path / "own_trusted_parts.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(ValueError, match="has no 'Nothing'"):  # its module was loaded
            ComponentLoader.load_component(part("own_trusted_parts.Nothing"))
    finally:
        sys.path.remove(str(tmp_path))


def test_what_a_file_wants_is_found_once_and_refused_until_it_is_allowed() -> None:
    [need] = needs_of(PAYS)
    assert need == AllowedVariable.model_validate({"env": "OPENAI_API_KEY", "for": SERVER})
    assert allow_line([need]) == f'allow = [{{ env = "OPENAI_API_KEY", for = "{SERVER}" }}]'
    refuse_unallowed(PAYS, [need])
    for allowed in ([], [AllowedAddress(base_url=SERVER)]):
        with pytest.raises(ComponentNotAllowed, match="write in the team's table: allow = "):
            refuse_unallowed(PAYS, allowed)


def test_code_of_a_file_has_the_limits_of_code_in_the_config() -> None:
    data = team(
        part("teams.agents.CodeExecutorAgent", name="c", code_executor=docker(work_mb=1e9)),
        part("teams.agents.CodeExecutorAgent", name="d", code_executor=local(work_mb=5)),
    )
    set_limits(data, work_mb=1000.0)
    found = [each["config"]["code_executor"]["config"] for each in data["config"]["participants"]]
    assert [each["work_mb"] for each in found] == [1000.0, 5]
    assert found[0]["read_only"] is True


def test_sdks_of_a_files_models_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(component_files, "import_module", imported.append)
    import_classes(PAYS)
    assert "openai" in {name.partition(".")[0] for name in imported}
