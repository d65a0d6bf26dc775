"""The house stands as drawn: contracts that really prevent imports, no circle."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
PACKAGES: list[str] = SETTINGS["root_packages"]
CONTRACTS: list[dict[str, Any]] = SETTINGS["contracts"]

Graph = dict[str, set[str]]


def graph_of(*packages: str) -> Graph:
    """Modules' imports anywhere: at the top, for types, or in functions."""
    found = grimp.build_graph(*packages, cache_dir=None)
    return {name: {*found.find_modules_directly_imported_by(name)} for name in found.modules}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """The imports in the repository, by importing module."""
    return graph_of(*PACKAGES)


def circles(graph: Graph) -> list[list[str]]:
    """Tarjan: the sets of modules that reach each other."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in sorted(graph[module]):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            start = path.index(module)
            if len(path) - start > 1:
                found.append(sorted(path[start:]))
            del path[start:]

    for module in graph:
        if module not in order:
            visit(module)
    return found


def test_no_module_imports_itself_through_others(graph: Graph):
    assert circles(graph) == []


def test_a_circle_is_seen_through_types_and_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    packages = {
        "circle_a": "import circle_b",
        "circle_b": "if TYPE_CHECKING:\n    import circle_c.inner",
        "circle_c": "",
        "circle_c.inner": "def f():\n    from circle_a import x",
        "circle_d": "from circle_a import x",
    }
    for name, text in packages.items():
        place = tmp_path / name.replace(".", "/")
        place.mkdir()
        (place / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    graph = graph_of("circle_a", "circle_b", "circle_c", "circle_d")
    assert graph["circle_d"] == {"circle_a"}
    assert circles(graph) == [["circle_a", "circle_b", "circle_c.inner"]]


# --- contracts --------------------------------------------------------------------------------

Import = tuple[str, str]
"""An importing and an imported module."""


def layers(contract: dict[str, Any], graph: Graph) -> Import:
    """The lowest layer imports the highest."""
    for container in contract.get("containers", [""]):
        prefix = f"{container}." if container else ""
        floors = [[f"{prefix}{name}" for name in _names(floor)] for floor in contract["layers"]]
        there = [[name for name in floor if name in graph] for floor in floors]
        high, *_, low = [floor[0] for floor in there if floor]
        return low, high
    raise AssertionError(contract)


def _names(layer: str) -> list[str]:
    return [name.strip(" ()") for name in re.split(r"[|:]", layer)]


def forbidden(contract: dict[str, Any], graph: Graph) -> Import:
    """A source imports what is forbidden to it."""
    targets = [*_matching(contract["forbidden_modules"], graph)]
    for source in _matching(contract["source_modules"], graph):
        for target in targets:
            if not _related(source, target) and target not in graph[source]:
                return source, target
    raise AssertionError(contract)


def independence(contract: dict[str, Any], graph: Graph) -> Import:
    """One of several that stand beside each other imports the next."""
    one, other, *_ = _matching(contract["modules"], graph)
    return one, other


def protected(contract: dict[str, Any], graph: Graph) -> Import:
    """A module that isn't allowed to imports what is protected."""
    target, *_ = _matching(contract["protected_modules"], graph)
    allowed = [*_matching(contract["allowed_importers"], graph)]
    for source in graph:
        if not any(_related(source, each) for each in (target, *allowed)):
            return source, target
    raise AssertionError(contract)


def acyclic_siblings(contract: dict[str, Any], graph: Graph) -> Import:
    """An import that closes a circle between siblings."""
    for ancestor in _matching(contract["ancestors"], graph):
        for source, targets in graph.items():
            for target in sorted(targets):
                if (
                    source.startswith(f"{ancestor}.")
                    and source.rpartition(".")[0] == target.rpartition(".")[0]
                ):
                    return target, source
    raise AssertionError(contract)


def _matching(patterns: Iterable[str], graph: Graph) -> Iterator[str]:
    """The modules that import-linter's expressions name."""
    for pattern in patterns:
        escaped = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")
        yield from (module for module in graph if re.fullmatch(escaped, module))


def _related(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


KINDS: dict[str, Callable[[dict[str, Any], Graph], Import]] = {
    kind.__name__: kind for kind in (layers, forbidden, independence, protected, acyclic_siblings)
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages' sources and the contracts, in a place of their own."""
    copied = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copied / package, ignore=_all_but_sources)
    shutil.copy(ROOT / "pyproject.toml", copied)
    return copied


def _all_but_sources(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if "." in name and not name.endswith(".py")] + ["__pycache__"]


def lint(copy: Path, *options: str) -> tuple[set[str], str]:
    """The broken contracts of the copy, with their messages.

    In a process of its own: there it configures logging, which ends all other loggers.
    """
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", *options]
    run = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    said = " ".join(run.stdout.split())  # lines are folded
    assert run.returncode in (0, 1), run.stderr
    assert f"{len(CONTRACTS)} kept" in said or "broken." in said, run.stdout + run.stderr
    return {each["name"] for each in CONTRACTS if f"{each['name']} BROKEN" in said}, run.stdout


def test_every_contract_is_kept(tmp_path: Path):
    broken, said = lint(ROOT, "--cache-dir", str(tmp_path))
    assert broken == set(), said


def lint_with(copy: Path, added: Import, form: str) -> tuple[set[str], str]:
    """The same, while a module imports another in this form."""
    source, target = added
    place = copy / source.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = file.read_text()
    try:
        file.write_text(f"{text}\n\n{form}\n    import {target}\n")
        return lint(copy)
    finally:
        file.write_text(text)


@pytest.mark.nightly  # seconds each, and only a change of the contracts can break one
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["name"])
def test_one_import_of_a_type_breaks_a_contract(copy: Path, graph: Graph, contract: dict[str, Any]):
    added = KINDS[contract["type"]](contract, graph)
    broken, said = lint_with(copy, added, "if TYPE_CHECKING:")
    assert contract["name"] in broken, f"{' may import '.join(added)}\n{said}"


def test_an_import_inside_a_function_breaks_a_contract(copy: Path, graph: Graph):
    first = CONTRACTS[0]
    broken, _ = lint_with(copy, KINDS[first["type"]](first, graph), "def later() -> None:")
    assert first["name"] in broken


SEEN_BY_ADAPTERS = (
    *(
        "adapter",
        "agent_state",
        "client",
        "conversation",
        "errors",
        "faces",
        "events",
        "history",
        "homes",
        "human_tools",
    ),
    *("human_tools", "interactions", "items", "missed", "pacing", "picture", "questions"),
    *("rates", "registry", "surface", "transcript", "values", "visible", "base", "render"),
    *("config.problems", "config.routes", "config.table"),
)


def test_whatever_is_not_made_for_adapters_is_forbidden_to_them(graph: Graph):
    (contract,) = (each for each in CONTRACTS if each["name"].startswith("adapters see"))
    known = (*contract["forbidden_modules"], *(f"gateway.{name}" for name in SEEN_BY_ADAPTERS))
    modules = [module for module in graph if module.startswith("gateway.")]
    assert [module for module in modules if not any(_related(module, each) for each in known)] == []
    assert not {*contract["forbidden_modules"]} & {f"gateway.{name}" for name in SEEN_BY_ADAPTERS}


SIMULATED = ("console", "simulator", "testing")


def test_no_file_of_an_adapter_is_left_out_of_what_knows_no_simulator(graph: Graph):
    (contract,) = (each for each in CONTRACTS if each["name"].startswith("an adapter knows"))
    bound = {*contract["source_modules"], *contract["forbidden_modules"]}
    doors = [module for module in graph if module.count(".") == 2 and module.startswith("adapters")]
    assert {door.split(".")[2] for door in doors} > {*SIMULATED}
    assert [door for door in doors if not any(_related(door, each) for each in bound)] == []


# --- the page about it ------------------------------------------------------------------------


def test_every_file_on_the_page_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = "|".join(PACKAGES)
    named = set(re.findall(rf"`((?:{packages}|docs|tests)/[^`]*)`", page))
    assert len(named) > 50
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
