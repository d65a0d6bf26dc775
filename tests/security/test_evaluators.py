"""Law: no text becomes code; whatever could do that has a row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODULES = {
    *("code", "ctypes", "dill", "marshal", "multiprocessing", "pickle", "runpy", "shelve"),
    *("subprocess", "yaml"),
}
"""Modules that run, start or build what they are given: each import needs a row."""

CALLS = {
    *("ForwardRef", "__import__", "create_model", "create_subprocess_exec", "eval", "exec"),
    *("create_subprocess_shell", "get_type_hints", "import_attribute", "import_module"),
    *("spec_from_file_location", "subprocess_exec", "subprocess_shell", "vformat"),
    *("add_init_script", "add_script_tag", "evaluate", "evaluate_handle", "from_markup"),
}
"""Names that need a row, unless they are given a literal."""

SYSTEM = {"execv", "execve", "execvp", "fork", "popen", "posix_spawn", "startfile", "system"}
"""Functions of `os` that need a row."""

FORMATS = {"format", "format_map"}
"""Methods that need a row, unless the text is a literal, or a constant (in capitals) of ours."""

SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash", "cmd", "pwsh", "powershell"}

MENTIONED = re.compile(
    rf"\b(?:{'|'.join(CALLS | SYSTEM)})\b|import.*\b(?:{'|'.join(MODULES)})\b|"
    rf"from (?:{'|'.join(MODULES)})\b|\beval_str=|\bshell=|(?<!\.)\bcompile\b|builtins\.compile|"
    rf"(?<![A-Z_\"'])\.format(?:_map)?\(|[\"'](?:{'|'.join(SHELLS)})[\"']"
)
"""The mark of a file that is looked at: to parse all of them takes seconds."""

OURS = "its names and types are those of our own code, or of Python that the operator names"
LITERALS = "its modules stand in our own code"
TEXTS = "its texts stand in our own code"
WORD = "an import path of the operator's: a found config is asked about, a component file has none"
CODE = "code that a model or a person has written, as the policy of `execute_code` lets it run"

ROWS = {
    "teams/_base/bounded/clients.py": {"import_module": "httpx, by the classes of an SDK's client"},
    "teams/_base/document_process.py": {"fork": "a document is read in a fork that may do nothing"},
    "teams/_base/documents.py": {"subprocess": "our own reader of documents"},
    "teams/_base/environment.py": {"ctypes": "prctl of the C library"},
    "teams/_base/kind_family.py": {
        "import_module": "the table of names; a path of config.toml, which is a power, once that"
        " has loaded it",
    },
    "teams/_base/lazy_exports.py": {"import_module": LITERALS},
    "teams/_base/templates.py": {"vformat": "fields and keys alone; see test_templates.py"},
    "teams/_components/constructor_config.py": {"create_model": OURS, "eval_str": OURS},
    "teams/_components/json_schema.py": {
        "ForwardRef": "names that we have made: Definition0, Definition1, ...",
        "create_model": "the types are ours, the names of fields and models are never run",
    },
    "teams/_components/providers.py": {
        "import_attribute": "a provider that is ours or of a trusted module",
        "import_module": "for import_attribute, whose callers have rows",
    },
    "teams/_tools/function.py": {"import_attribute": WORD},
    "teams/_tools/signature.py": {"create_model": OURS, "get_type_hints": OURS},
    "teams/code_executors/_command_line.py": {"shell": CODE},
    "teams/code_executors/_container.py": {"shell": "in the container, around code"},
    "teams/code_executors/_process.py": {"subprocess_exec": CODE},
    "teams/code_executors/docker.py": {"shell": "in the container: `init_command`, a power"},
    "teams/agents/web_surfer/_controller.py": {
        "evaluate": "a script in a file of ours, in the page; the page's texts are its arguments"
    },
    "teams/conversable/_code_blocks.py": {"compile": "is it Python? It is compiled, never run"},
    "teams/conversable/_chat_client.py": {
        "format": "a method of the class that the user gives as response_format",
    },
    "teams/conversable/_group_chat.py": {
        "format": "templates of the program; the values are texts"
    },
    "teams/conversable/_providers.py": {"import_module": LITERALS},
    "teams/conversable/_speakers.py": {"format": "templates of the program; the values are texts"},
    "teams/models/_endpoint.py": {"format": "advice that stands in our own code"},
    "teams/tools/azure/_config.py": {"import_module": LITERALS},
    "teams/tools/mcp/_stdio.py": {
        "create_subprocess_exec": "the command of `[mcp]`, or of a component file's `allow`"
    },
    "teams/tools/mcp/_sdk.py": {"import_module": LITERALS},
    "teams/tools/langchain/__init__.py": {
        "create_model": "the fields of a pydantic class of LangChain's"
    },
    "gateway/base/own_packages.py": {
        "import_module": "a name in `[adapters]`, below our package; it is a power"
    },
    "gateway/app/service.py": {"subprocess": "systemctl, with arguments of our own"},
    "gateway/app/watched_chat.py": {"format": TEXTS},
    "gateway/base/background.py": {"import_module": LITERALS},
    "gateway/base/imports.py": {"import_module": WORD},
    "gateway/config/setting_types.py": {"get_type_hints": OURS},
    "gateway/content/attachments.py": {"format": TEXTS},
    "gateway/control/operations.py": {"create_model": OURS, "get_type_hints": OURS},
    "gateway/errors.py": {"format": TEXTS},
    "gateway/factory/component_files.py": {"import_module": LITERALS},
    "gateway/factory/conditions.py": {"eval_str": OURS},
    "gateway/factory/preparation.py": {"import_module": LITERALS},
    "gateway/migrate/names.py": {"import_module": LITERALS},
    "gateway/store/copying.py": {"marshal": "a checksum: rows are written and never read"},
    "gateway/store/postgres/copying.py": {"format": TEXTS},
    "gateway/store/units/files.py": {"format": TEXTS},
    "gateway/store/units/search.py": {"format": TEXTS},
    "gateway/store/value_rows.py": {"get_type_hints": OURS},
    "gateway/surface.py": {"format": TEXTS},
    "adapters/discord/adapter.py": {"format": TEXTS},
    "adapters/terminal/clipboard.py": {
        "create_subprocess_exec": "the clipboard's program, with constant arguments",
    },
    "adapters/terminal/paths.py": {
        "subprocess": "git with constant arguments, which runs no program of the folder's",
    },
    "adapters/terminal/desktop.py": {
        "create_subprocess_exec": "the editor that $VISUAL or $EDITOR names",
        "subprocess": "the clipboard's program; the text is its input",
    },
    "adapters/terminal/widgets/entries.py": {"format": TEXTS},
}


@cache
def found() -> dict[str, set[str]]:
    """By file: the evaluators in it that need a row."""
    places: dict[str, set[str]] = {}
    for package in ("teams", "gateway", "adapters"):
        for file in sorted((ROOT / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if MENTIONED.search(text) and (names := {*evaluators(ast.parse(text))}):
                places[str(file.relative_to(ROOT))] = names
    return places


def evaluators(tree: ast.AST) -> Iterator[str]:
    """The evaluators in a tree that are not given a literal."""
    harmless = {id(each) for each in given_literals(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (module for _ in names if module.split(".")[0] in MODULES)
                yield from (each.name for each in names if each.asname and each.name in CALLS)
                yield from (each.name for each in names if module == "os" and each.name in SYSTEM)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in CALLS:
                yield from () if id(node) in harmless else (name,)
            case ast.Name(id="compile" as name):
                yield name
            case ast.Attribute(value=ast.Name(id="builtins"), attr="compile" as name):
                yield name
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in SYSTEM:
                yield name
            case ast.keyword(arg="eval_str" | "shell" as name):
                yield name
            case ast.Call(func=ast.Attribute(value=text, attr=name)) if name in FORMATS:
                yield from () if is_literal(text) else (name,)
            case ast.List(elts=[ast.Constant(value=str(name)), *_]) if name in SHELLS:
                yield "shell"
            case ast.Tuple(elts=[ast.Constant(value=str(name)), *_]) if name in SHELLS:
                yield "shell"
            case _:
                pass


def given_literals(tree: ast.AST) -> Iterator[ast.expr]:
    """Functions that get a literal, as f in `to_thread(f, "x")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            chain = [node.func, *node.args]
            for function, argument in pairwise(chain):
                if isinstance(argument, ast.Constant):
                    yield function


def is_literal(text: ast.expr) -> bool:
    """True for a text of ours, and for `self` and `super()`."""
    match text:
        case ast.Constant() | ast.JoinedStr() | ast.Name(id="self"):
            return True
        case ast.Call(func=ast.Name(id="super")):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_").isupper()
        case ast.Subscript(value=table):
            return is_literal(table)
        case ast.IfExp(body=one, orelse=other):
            return is_literal(one) and is_literal(other)
        case _:
            return False


def test_every_evaluator_has_a_row():
    assert found() == {file: {*rows} for file, rows in ROWS.items()}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("eval(x)", {"eval"}),
        ("builtins.exec(x)", {"exec"}),
        ("run = eval", {"eval"}),
        ("map(eval, texts)", {"eval"}),
        ("from importlib import import_module as load", {"import_module"}),
        ("load = importlib.import_module", {"import_module"}),
        ("to_thread(import_module, name)", {"import_module"}),
        ("typing.ForwardRef(name)", {"ForwardRef"}),
        ("pydantic.create_model(name)", {"create_model"}),
        ("text.format(x=1)", {"format"}),
        ("self.text.format_map(x)", {"format_map"}),
        ("(ONE if x else other).format()", {"format"}),
        ("import pickle", {"pickle"}),
        ("from yaml import load", {"yaml"}),
        ("import os.path, subprocess as s", {"subprocess"}),
        ("run(x, shell=True)", {"shell"}),
        ("run(['sh', '-c', x])", {"shell"}),
        ("os.system(x)", {"system"}),
        ("from os import popen", {"popen"}),
        ("compile(x, '', 'exec')", {"compile"}),
        ("FORMATTER.vformat(x, (), {})", {"vformat"}),
        ("signature(x, eval_str=True)", {"eval_str"}),
        ("import_module('x'); to_thread(import_module, 'x'); TEXT.format(); '{}'.format(x)", set()),
        ("re.compile(x); self.format(x); super().format(x); TABLE[x].format()", set()),
    ],
)
def test_the_walk_finds_an_evaluator_however_it_is_named(code: str, names: set[str]):
    assert {*evaluators(ast.parse(code))} == names
