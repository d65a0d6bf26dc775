"""Make our component classes of hostile configs; print what ran meanwhile.

    python -m tests.security.made_of_hostile harmless

Audit hooks can't be removed, so it is a process of its own.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import CodeType
from typing import Any

from gateway.factory.component_files import READERS, needs_of
from teams._components.providers import resolve_provider
from teams.core import ComponentLoader
from tests.security.component_examples import HARMLESS_PARTS, OTHERS, Part, part

CODE = ("exec", "compile", "import", "pickle.", "marshal.", "code.__new__")
WATCHED = (
    *(*CODE, "open", "subprocess.", "socket.", "os.", "shutil.", "ctypes.", "urllib.", "sqlite3."),
    *("builtins.input", "tempfile.", "webbrowser."),
)
"""Beginnings of audit events of code, files, processes and connections."""
OURS = re.compile(r"Definition\d+")


def add(left: int) -> int:
    """Add."""
    return left


def hostile(mark: str) -> Iterator[Any]:
    """Values that would leave the mark in what the process does."""
    run = f"(open('{mark}', 'w'), __import__('{mark}_module'), str)[1]"
    texts = [
        *(run, f"{mark}_module:main", f"{mark}_module.Class", f"{mark}/x", f"file:{mark}/x"),
        *(f"$(touch {mark})", f"http://127.0.0.1:9/{mark}", f"{{x.{mark}}}", f"{{{run}}}"),
        *(f"import {mark}_module", f"!!python/object:{mark}_module.Class"),
    ]
    for text in texts:
        yield from (text, [text], {text: text})
    point = {"$ref": f"#/$defs/{run}"}
    for named in (point, {"type": "object", "properties": {"y": point}}, {"anyOf": [point, {}]}):
        yield {"type": "object", "properties": {"x": point}, "$defs": {run: named}}
    yield from (
        part(f"{mark}_module.Class"),
        part(run),
        {"type": run, "content": run, "source": run},
    )
    yield from (
        {"module": f"{mark}_module", "imports": [run]},
        {"command": "touch", "args": [mark]},
    )
    image = {"data": b64encode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n").decode()}
    yield [{"type": "UserMessage", "content": ["x", image], "source": mark}]
    yield [{"content": image, "mime_type": "image/*"}]


def changed(example: Part, mark: str) -> Iterator[Part]:
    """The example, each of its fields replaced by each hostile value."""
    kind: Any = resolve_provider(example["provider"])
    known = kind.component_config_schema.model_fields
    for value in hostile(mark):
        for path in {*((field,) for field in known), *places(example["config"])}:
            yield {**example, "config": replaced(example["config"], path, value)}


def places(data: Any) -> Iterator[tuple[Any, ...]]:
    """The paths to all values that are not inside another component."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (key,)
        if isinstance(value, list) or (isinstance(value, dict) and "provider" not in value):
            yield from ((key, *rest) for rest in places(value))


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The data with another value at the path."""
    key, *rest = path
    inner = replaced(data[key], tuple(rest), value) if rest else value
    if isinstance(data, dict):
        return {**data, key: inner}
    return [*data[:key], inner, *data[key + 1 :]]


def load(component: Part) -> bool:
    """Load it; False if it is refused."""
    with suppress(Exception):  # what is raised is the matter of test_loading.py
        ComponentLoader.load_component(component, tool_overrides={"add": f"{__name__}:add"})
        return True
    return False


def read(component: Part) -> bool:
    """Read its powers; False if it is refused."""
    with suppress(ValueError):
        needs_of(component)
        return True
    return False


def is_reference(event: str, given: Any) -> bool:
    """True if pydantic resolves a reference with a name of ours."""
    if event == "compile":
        return (
            OURS.fullmatch(given.decode() if isinstance(given, bytes) else str(given)) is not None
        )
    is_plain = event == "exec" and isinstance(given, CodeType) and {*given.co_consts} <= {None}
    return is_plain and all(map(OURS.fullmatch, given.co_names))


class Watch:
    """The events of the process while somebody looks."""

    def __init__(self) -> None:
        self.looks = False
        self.seen: dict[str, None] = {}
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: Sequence[Any]) -> None:
        if self.looks and event.startswith(WATCHED) and not is_reference(event, arguments[0]):
            self.seen[f"{event} {arguments!r:.300}"] = None

    def during(
        self,
        do: Callable[[Part], bool],
        example: Part,
        marks: Sequence[str] = ("marked", "marked_again"),
    ) -> tuple[int, list[str]]:
        """Count the changes that pass, and list what happens meanwhile."""
        passed = 0
        for mark in marks:  # what we import late is there the second time
            self.seen.clear()
            components = [*changed(example, mark)]
            self.looks = True
            passed = sum(map(do, components))
            self.looks = False
            if not self.seen:
                break
        return passed, list(self.seen)


def wanting() -> Iterator[Part]:
    """An example of each class that wants something."""
    named: set[str] = set()
    for data in OTHERS:
        for component in components(data):
            name = component["provider"].rpartition(".")[2]
            if name in READERS and name not in named:
                named.add(name)
                yield component


def components(data: Any) -> Iterator[Part]:
    """All components in the data."""
    if isinstance(data, dict) and "provider" in data:
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from components(each)


def report(what: str) -> Iterator[tuple[str, bool, int, list[str]]]:
    """Each class: if its example passes, how many changes do, what happened."""
    watch = Watch()
    if what == "harmless":
        for example in HARMLESS_PARTS:
            yield example["provider"], load(example), *watch.during(load, example)
    if what == "read":
        for example in wanting():
            yield example["provider"], read(example), *watch.during(read, example)
    if what == "wanting":
        for example in wanting():
            passed, seen = watch.during(load, example, ["marked"])
            run = [each for each in seen if each.startswith(CODE) and "marked" in each]
            yield example["provider"], load(example), passed, run


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump([*report(sys.argv[1])], sys.stdout)
