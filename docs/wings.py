"""Draw and list the packages' wings from the contracts in pyproject.toml."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 78
"""Characters of a line of the drawing."""


class House:
    """The modules of the packages, and what the contracts say about them."""

    def __init__(self) -> None:
        pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        settings = pyproject["tool"]["importlinter"]
        self.packages: list[str] = settings["root_packages"]
        self.contracts: list[dict[str, Any]] = settings["contracts"]
        files = [file for package in self.packages for file in (ROOT / package).rglob("*.py")]
        self.files = {_module(file.relative_to(ROOT)): file for file in sorted(files)}
        self._inside: dict[str, set[str]] = defaultdict(set)
        for name in self.files:
            for part in accumulate(name.split("."), "{}.{}".format):
                self._inside[part].add(name)
        self._bans = [ban for contract in self.contracts if (ban := self._ban(contract))]

    def floors(self, container: str) -> list[list[str]]:
        """Modules of a package by floor, from the roof down."""
        layers = [
            contract["layers"]
            for contract in self.contracts
            if contract["type"] == "layers" and container in contract.get("containers", [])
        ]
        floors: list[list[str]] = []
        for layer in max(layers, key=len, default=[]):  # the whole house, not a part of it
            names = [name.strip(" ()") for name in re.split(r"[|:]", layer)]
            floor = [f"{container}.{name}" for name in names]
            floors.append([name for name in floor if name in self.files])
        return [floor for floor in floors if floor]

    def containers(self) -> list[str]:
        """The packages that have floors, each before those inside it."""
        layers = [each for each in self.contracts if each["type"] == "layers"]
        named = {name for contract in layers for name in contract.get("containers", [])}
        return sorted(named, key=lambda name: (self.packages.index(name.split(".")[0]), name))

    def inside(self, module: str) -> set[str]:
        """A module and all that is inside it."""
        return self._inside.get(module, set())

    def is_banned(self, source: str, target: str) -> bool:
        """True if a contract keeps one whole module or wing from another."""
        here, there = self.inside(source), self.inside(target)
        return any(sources >= here and targets >= there for sources, targets in self._bans)

    def open_to(self, source: str, package: str) -> list[str]:
        """The wings and modules of another package that a module may import."""
        found: list[str] = []
        for name in self.files:
            if name.startswith(f"{package}.") and not _is_in(name, found):
                rooms = self.inside(name)
                if not any(self.is_banned(source, room) for room in rooms):
                    found.append(name)
        return found

    def room(self, module: str, within: str = "") -> str:
        """The path of a module, relative to the repository or a package."""
        path = module.removeprefix(f"{within}.").replace(".", "/")
        return f"{path}/" if self.files[module].name == "__init__.py" else f"{path}.py"

    def purpose(self, module: str) -> str:
        """The first line of a module's docstring."""
        text = ast.get_docstring(ast.parse(self.files[module].read_text(encoding="utf-8"))) or ""
        return text.partition("\n")[0].replace("|", "\\|")

    def _ban(self, contract: dict[str, Any]) -> tuple[set[str], set[str]] | None:
        """The modules that a contract restricts, and those that it forbids them."""
        whole = contract.get("as_packages", True)
        match contract["type"]:
            case "forbidden":
                sources = self._named(contract["source_modules"], whole=whole)
                return sources, self._named(contract["forbidden_modules"], whole=whole)
            case "protected":
                targets = self._named(contract["protected_modules"], whole=whole)
                allowed = self._named(contract["allowed_importers"], whole=whole)
                return set(self.files) - targets - allowed, targets
            case _:
                return None

    def _named(self, patterns: Iterable[str], *, whole: bool) -> set[str]:
        """The modules that import-linter's expressions name."""
        found: set[str] = set()
        for pattern in patterns:
            escaped = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")
            for name in filter(re.compile(escaped).fullmatch, self.files):
                found |= self.inside(name) if whole else {name}
        return found


def _module(file: Path) -> str:
    return ".".join(file.parent.parts if file.stem == "__init__" else file.with_suffix("").parts)


def _is_in(module: str, wings: Iterable[str]) -> bool:
    return any(module.startswith(f"{wing}.") for wing in wings)


def drawing() -> str:
    """The packages with their floors from the roof down, in plain text."""
    house = House()
    lines: list[str] = []
    for package in house.packages:
        children = [name for name in house.files if name.rpartition(".")[0] == package]
        lines.append(f"┌─ {package}/ ".ljust(WIDTH - 1, "─") + "┐")
        for floor in house.floors(package) or [children]:
            rows = _rows(house.room(name, package) for name in floor)
            lines += [f"│   {row}".ljust(WIDTH - 1) + "│" for row in rows]
        lines += ["└".ljust(WIDTH - 1, "─") + "┘", "▼".center(WIDTH).rstrip()]
    return "\n".join(["```text", *lines[:-1], "```"])


def _rows(rooms: Iterable[str]) -> Iterator[str]:
    row = ""
    for room in rooms:
        if len(row) + len(room) > WIDTH - 10:
            yield row
            row = "  "
        row += f"{'   ' if row.strip() else ''}{room}"
    yield row


def tables() -> str:
    """Each package's wings with purpose and allowed imports, as Markdown."""
    house = House()
    lines: list[str] = []
    for container in house.containers():
        lines += [f"### `{house.room(container)}`\n", f"{house.purpose(container)}\n"]
        lines += ["| | | may import of these |", "|---|---|---|"]
        floors = house.floors(container)
        for number, floor in enumerate(floors):
            below = [name for lower in floors[number + 1 :] for name in lower]
            for name in floor:
                allowed = _allowed(house, name, below, container)
                room = house.room(name, container)
                lines.append(f"| `{room}` | {house.purpose(name)} | {allowed} |")
        lines.append("")
    return "\n".join(lines)


def _allowed(house: House, module: str, below: list[str], container: str) -> str:
    banned = [name for name in below if house.is_banned(module, name)]
    allowed = [name for name in below if name not in banned]
    if not allowed:
        return "nothing"
    if not banned:
        return "all below"
    listed = lambda names: ", ".join(f"`{house.room(name, container)}`" for name in names)  # noqa: E731
    return listed(allowed) if len(allowed) <= len(banned) else f"all below but {listed(banned)}"


def contracts() -> str:
    """The names of all contracts, and the adapters' allowed imports, as Markdown."""
    house = House()
    seen = house.open_to("adapters.slack.adapter", "gateway")
    rooms = ", ".join(f"`{house.room(name)}`" for name in seen)
    names = [f"- {contract['name']}" for contract in house.contracts]
    return "\n".join([f"An adapter may import of `gateway/`: {rooms}.\n", *names, ""])


def page() -> str:
    """All of it."""
    return f"{drawing()}\n\n{contracts()}\n{tables()}"
