"""The lock of the browser for tests: versions and hashes, no addresses."""

import json
from pathlib import Path

HERE = Path(__file__).parent
LOCK = (HERE / "package-lock.json").read_text()


def test_the_lock_names_each_package_by_version_and_hash_and_never_by_address():
    packages = json.loads(LOCK)["packages"]
    declared = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert packages.pop("")["dependencies"] == declared
    for name, package in packages.items():
        assert package["version"], name
        assert package["integrity"].startswith("sha512-"), name
        assert not package.get("hasInstallScript"), name
    assert "://" not in LOCK
