"""The contract with adapters: small, and each part is needed."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import adapter
from gateway.adapter import AdapterHost

ADAPTERS = Path(__file__).parents[2] / "adapters"
MOST = 20
SHARED = "shared"


def members(protocol: type) -> dict[str, object]:
    return {name: each for name, each in vars(protocol).items() if not name.startswith("_")}


def capability(member: object) -> type | None:
    """The protocol that a property gives."""
    if not isinstance(member, property) or member.fget is None:
        return None
    named = str(inspect.get_annotations(member.fget)["return"])
    found = getattr(adapter, named, None)
    return found if isinstance(found, type) and getattr(found, "_is_protocol", False) else None


def product_files() -> Iterator[tuple[str, Path]]:
    """Files of adapters that the gateway serves, each with its platform."""
    for path in ADAPTERS.rglob("*.py"):
        platform, *rest = path.relative_to(ADAPTERS).parts
        if not rest:
            yield SHARED, path
        elif platform != "terminal" and rest[0] not in ("simulator", "testing", "console"):
            yield platform, path


@pytest.fixture(scope="module")
def used() -> dict[str, set[str]]:
    """The names of attributes that are read in each platform's files."""
    found: dict[str, set[str]] = {}
    for platform, path in product_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        found.setdefault(platform, set()).update(names)
    return found


def test_it_has_few_members() -> None:
    assert len(members(AdapterHost)) <= MOST


@pytest.mark.parametrize(
    "name", [name for name, each in members(AdapterHost).items() if capability(each) is None]
)
def test_both_platforms_use_it(name: str, used: dict[str, set[str]]) -> None:
    lacking = [each for each in ("slack", "discord") if name not in used[each] | used[SHARED]]
    assert not lacking, f"{name} is for one platform alone: make it a capability, or leave it out"


CAPABILITIES = {
    f"{name}.{inner}": inner
    for name, each in members(AdapterHost).items()
    if (protocol := capability(each)) is not None
    for inner in members(protocol)
}


def test_there_are_capabilities() -> None:
    assert {name.partition(".")[0] for name in CAPABILITIES} >= {"tokens", "leases", "health"}


@pytest.mark.parametrize("name", CAPABILITIES)
def test_somebody_uses_what_a_capability_has(name: str, used: dict[str, set[str]]) -> None:
    assert any(CAPABILITIES[name] in names for names in used.values())
