"""`parley plugins`, as its user sees it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from tests.gateway.app.test_find_adapters import install
from tests.gateway.app.test_plugins import brings

pytestmark = pytest.mark.usefixtures("fresh_imports")


def test_plugins_are_listed_with_their_packages_and_versions(tmp_path: Path):
    assert "No package adds" in CliRunner().invoke(main, ["plugins"]).stdout
    brings(tmp_path, "agent.parrot = birds:ParrotKind\ntool.echo = birds:ParrotKind\nbird = birds")
    install(tmp_path / "site", "acme = acme_chat")
    listed = CliRunner().invoke(main, ["plugins"])
    lines = [" ".join(each.split()) for each in listed.stdout.splitlines()]
    assert lines[0] == "agent parrot ok parley-birds 1.0"
    assert lines[1].startswith("kind bird FAILED parley-birds 1.0: found the name 'bird', expected")
    assert lines[2].startswith("tool echo FAILED parley-birds 1.0: found 'echo', expected a kind")
    assert lines[3] == "chat acme ok acme-chat 1.0"
    assert listed.exit_code == ExitCode.FAILED
