"""Entry points of packages, read before anything is imported."""

import sys
from pathlib import Path

import pytest

from teams.kinds import PluginError, packages_of, plugins_in


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def install(site: Path, name: str, points: str) -> None:
    info = site / f"{name}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[toys.of.ours]\n{points}\n")


def test_they_are_told_with_package_and_version_and_imported_when_asked(site: Path):
    install(site, "red", "ball = json:dumps\ncube = nothing_like_it")
    install(site, "blue", "ball = json:loads")
    found = plugins_in("toys.of.ours")
    assert [*found] == ["ball", "cube"]
    assert packages_of(found["ball"]) in ("'red' and 'blue'", "'blue' and 'red'")
    assert {(each.package, each.version) for each in found["ball"]} == {
        ("red", "1.5"),
        ("blue", "1.5"),
    }
    assert found["ball"][0].load()("1") in (1, '"1"')
    with pytest.raises(PluginError, match="'nothing_like_it' failed: ModuleNotFoundError"):
        found["cube"][0].load()


def test_one_that_is_installed_later_is_found(site: Path):
    assert not plugins_in("toys.of.ours")
    install(site, "red", "ball = json")
    assert [*plugins_in("toys.of.ours")] == ["ball"]
