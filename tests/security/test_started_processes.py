"""Each start of a process has a row with its environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {"subprocess", "multiprocessing", "pty"}
OF_OS = re.compile(r"popen|system|fork|forkpty|(exec|spawn|posix_spawn)[lvpe]*")
CALLS = {
    "StdioServerParameters",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "launch",
    "launch_persistent_context",
    "start_kernel",
    "subprocess_exec",
    "subprocess_shell",
}
MAYBE = re.compile("|".join([*MODULES, *CALLS, OF_OS.pattern]))
"""A text of each file with a start: the others are not parsed."""

OWN = "the person's own program, asked for by them: this process's environment"
LISTED = "others' code or pages: environment_for_code()"
STARTS = {
    "adapters/terminal/clipboard.py": OWN,
    "adapters/terminal/desktop.py": OWN,
    "adapters/terminal/paths.py": OWN,
    "gateway/app/service.py": OWN,
    "teams/_base/document_process.py": "others' bytes: a fork of itself, with its variables",
    "teams/_base/documents.py": "others' bytes: three fixed variables",
    "teams/agents/web_surfer/_session.py": LISTED,
    "teams/code_executors/_process.py": "what its caller has made: environment_for_code()",
    "teams/code_executors/docker_jupyter.py": "a kernel of the container, which has its own",
    "teams/code_executors/jupyter.py": LISTED,
    "teams/tools/mcp/_stdio.py": "the SDK's six variables, and those of the server's own table",
}


def starts(source: str) -> Iterator[str]:
    """Imports and calls in a program that start a process."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in MODULES:
                    yield module
                if module == "os":
                    yield from (each.name for each in names if OF_OS.fullmatch(each.name))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
                if OF_OS.fullmatch(name):
                    yield name
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in CALLS:
                yield name
            case _:
                pass


def test_each_start_of_a_process_says_what_environment_it_gets():
    texts = {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for part in ("teams", "gateway", "adapters")
        for file in (ROOT / part).rglob("*.py")
    }
    found = {name for name, text in texts.items() if MAYBE.search(text) and any(starts(text))}
    assert found == {*STARTS}


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess as s\ns.run(['x'])",
        "import os\nos.system('x')",
        "from subprocess import run\nrun(['x'])",
        "async def f(): await asyncio.create_subprocess_shell('x')",
        "import multiprocessing.pool",
        "async def f(p): await p.chromium.launch()",
        "import os\nos.fork()",
        "from os import execve",
    ],
)
def test_a_start_is_found(source: str):
    assert MAYBE.search(source)
    assert [*starts(source)]
