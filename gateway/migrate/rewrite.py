"""Python source with AutoGen's imports and names rewritten; formatting and comments stay."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper

from gateway.migrate.expressions import ProgramRewriter
from gateway.migrate.imports import Note
from gateway.migrate.names import ROOTS, Here, find_dotted
from gateway.migrate.syntax import dotted_name


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The source as it is now; `encoding` is that of the file."""

    code: str
    encoding: str
    notes: tuple[Note, ...]


class NotPython(ValueError):
    """Source that can't be parsed."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"it can't be read as Python, so it stays as it is: {reason}")
        self.line = line


def rewrite(source: bytes | str) -> Rewritten:
    """The source, rewritten. Raises NotPython."""
    try:
        return _rewritten(source)
    except RecursionError as error:
        raise NotPython(1, "it is nested too deeply") from error


def _rewritten(source: bytes | str) -> Rewritten:
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        raise NotPython(error.raw_line, error.message.splitlines()[0]) from error
    except (SyntaxError, UnicodeError) as error:
        raise NotPython(1, str(error)) from error
    used = _Used()
    module.visit(used)
    rewriter = ProgramRewriter(used.modules)
    changed = MetadataWrapper(module, unsafe_skip_copy=True).visit(rewriter)
    notes = {*rewriter.notes}
    if rewriter.binds_teams:
        notes.update(_shadowed(changed.code))
    return Rewritten(changed.code, module.encoding, tuple(sorted(notes)))


def _shadowed(code: str) -> Iterator[Note]:
    """Places where the program's own `teams` hides the package."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id="teams", ctx=ast.Store()) | ast.arg(arg="teams"):
                yield Note(node.lineno, "`teams` is the package now: rename this variable")
            case _:
                pass


class _Used(cst.CSTVisitor):
    """Our modules that dotted names such as `autogen_core.models.UserMessage` lead to."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        dotted = dotted_name(node)
        if dotted is None or dotted.partition(".")[0] not in ROOTS:
            return True
        match find_dotted(dotted):
            case (Here(module=module), _) if module not in self.modules:
                self.modules.append(module)
            case _:
                pass
        return False
