"""Python source with AutoGen's imports and names rewritten; formatting and comments stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import MetadataWrapper, PositionProvider

from gateway.migrate.names import (
    MODULES,
    ROOTS,
    Absent,
    Here,
    find_dotted,
    find_module,
    find_name,
    is_autogen,
)

LOGGERS = {
    "autogen_agentchat": "teams",
    "autogen_agentchat.events": "teams.events",
    "autogen_agentchat.trace": "teams.trace",
    "autogen_core": "teams",
    "autogen_core.events": "teams.events",
    "autogen_core.trace": "teams.trace",
}
"""AutoGen's loggers and ours."""

_TEAMS = frozenset(
    {
        "GraphFlow",
        "MagenticOneGroupChat",
        "RoundRobinGroupChat",
        "SelectorGroupChat",
        "Swarm",
        "BaseGroupChat",
    }
)


_TYPE = re.compile(r"[\w.\[\], |]+")
_DOTTED = re.compile(r"\bautogen_(?:agentchat|core|ext)(?:\.\w+)+")


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """A place that needs a hand, and what to do there."""

    line: int
    text: str


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
        module = cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        raise NotPython(error.raw_line, error.message.splitlines()[0]) from error
    except (SyntaxError, UnicodeError) as error:
        raise NotPython(1, str(error)) from error
    used = _Used()
    module.visit(used)
    rewriter = _Rewriter(used.modules)
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
        dotted = _dotted(node)
        if dotted is None or dotted.partition(".")[0] not in ROOTS:
            return True
        match find_dotted(dotted):
            case (Here(module=module), _) if module not in self.modules:
                self.modules.append(module)
            case _:
                pass
        return False


class _Rewriter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, used: Sequence[str]) -> None:
        super().__init__()
        self.notes: list[Note] = []
        self.binds_teams = False
        self._missing = [*used]
        self._aliases: dict[str, str] = {}
        self._teams = set(_TEAMS)
        self._group_chats: set[str] = set()
        self._dotted: dict[cst.CSTNode, str] = {}

    def _note(self, node: cst.CSTNode, text: str) -> None:
        position = cast("Any", self.get_metadata(PositionProvider, node))
        self.notes.append(Note(position.start.line, text))

    # Imports

    def visit_Import(self, node: cst.Import) -> bool:
        return False  # its dotted names are no expressions

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        names: list[cst.ImportAlias] = []
        plain: set[str] = set()
        for alias in original_node.names:
            dotted = get_full_name_for_node(alias.name) or ""
            match find_module(dotted) if is_autogen(dotted) else None:
                case None:
                    names.append(alias)
                case Absent(advice):
                    self._note(alias, f"{dotted}: {advice}")
                    names.append(alias)
                case Here(module=module):
                    names.append(alias.with_changes(name=_name(module)))
                    if alias.asname is not None:
                        self._aliases[_bound(alias)] = dotted
                    else:
                        plain.add(module)
        if not plain:
            return updated_node.with_changes(names=names)
        self.binds_teams = True
        # Without this, `import autogen_core` would not reach `teams.models`.
        more = [module for module in self._missing if module not in plain]
        self._missing.clear()
        names += [cst.ImportAlias(name=_name(module)) for module in more]
        return updated_node.with_changes(names=_with_commas(names))

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement]:
        module = original_node.module
        dotted = get_full_name_for_node(module) if module is not None else None
        if original_node.relative or not dotted or not is_autogen(dotted):
            return updated_node
        if isinstance(original_node.names, cst.ImportStar):
            match find_module(dotted):
                case Absent(advice):
                    self._note(original_node, f"{dotted}: {advice}")
                    return updated_node
                case Here(module=ours):
                    self._note(original_node, f"import * of {dotted}: name what you need")
                    return updated_node.with_changes(module=_name(ours))
        groups: dict[str, list[cst.ImportAlias]] = {}
        for alias in original_node.names:
            home, renamed = self._home(dotted, alias)
            groups.setdefault(home, []).append(renamed)
        return _statements(updated_node, groups)

    def _home(self, dotted: str, alias: cst.ImportAlias) -> tuple[str, cst.ImportAlias]:
        """The module to import from, or "", and the name."""
        name = cast("cst.Name", alias.name).value
        match find_name(dotted, name):
            case Absent(advice):
                self._note(alias, f"{dotted}.{name}: {advice}")
                return dotted, alias
            case Here(module=module, name=""):
                self._aliases[_bound(alias)] = f"{dotted}.{name}"
                parent, _, leaf = module.rpartition(".")
                if not parent and alias.asname is None:
                    self.binds_teams = True
                changed = alias.with_changes(name=cst.Name(leaf))
                if parent and leaf != name and alias.asname is None:
                    changed = changed.with_changes(asname=cst.AsName(cst.Name(name)))
                return parent, changed
            case Here(module=module):
                if name == "BaseGroupChat":
                    self._group_chats.add(_bound(alias))
                if name in _TEAMS:
                    self._teams.add(_bound(alias))
                return module, alias

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        body = updated_node.body
        if len(original_node.body) != 1 or len(body) == 1:
            return updated_node
        none = cst.TrailingWhitespace()
        last = len(body) - 1
        return cst.FlattenSentinel(
            [
                updated_node.with_changes(
                    body=[statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)],
                    leading_lines=updated_node.leading_lines if at == 0 else [],
                    trailing_whitespace=updated_node.trailing_whitespace if at == last else none,
                )
                for at, statement in enumerate(body)
            ]
        )

    # Expressions

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        dotted = _dotted(node)
        if dotted is None:
            return True
        root, _, rest = dotted.partition(".")
        if root in ROOTS:
            self._plain(node, dotted)
        elif root in self._aliases:
            self._through_alias(node, root, rest)
        else:
            return True
        return False

    def _plain(self, node: cst.Attribute, dotted: str) -> None:
        match find_dotted(dotted):
            case (Here(module=module, name=name), rest):
                self._dotted[node] = _join(module, name, rest)
            case (Absent(advice), _):
                self._note(node, f"{dotted}: {advice}")
            case None:
                pass

    def _through_alias(self, node: cst.Attribute, alias: str, rest: str) -> None:
        meant = self._aliases[alias]
        bound = MODULES[meant][0]
        match find_dotted(f"{meant}.{rest}"):
            case (Here(module=module, name=name), more):
                if module == bound or module.startswith(f"{bound}."):
                    self._dotted[node] = _join(alias + module[len(bound) :], name, more)
                else:
                    self._note(node, f"{alias}.{rest}: import {module} and use it here")
            case (Absent(advice), _):
                self._note(node, f"{alias}.{rest}: {advice}")
            case None:
                pass

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        new = self._dotted.get(original_node)
        if new is None or new == _dotted(original_node):
            return updated_node
        changed = cst.parse_expression(new)
        return changed.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        bases = {_dotted(base.value) for base in node.bases}
        if bases & {*self._group_chats, "autogen_agentchat.teams.BaseGroupChat"}:
            self._note(node.name, f"{node.name.value}: write select_speaker; there is no manager")

    def visit_Call(self, node: cst.Call) -> None:
        called = _last_name(node.func)
        for argument in node.args:
            name = argument.keyword.value if argument.keyword is not None else ""
            if name == "runtime" and called in self._teams and not _is_none(argument.value):
                self._note(argument, "runtime=: leave it out; a team needs no runtime")

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if _last_name(original_node.func) != "getLogger" or len(updated_node.args) != 1:
            return updated_node
        argument = updated_node.args[0]
        value = argument.value
        if isinstance(value, cst.SimpleString) and value.evaluated_value in ROOTS:
            named = _quoted_as(value, "teams")
            return updated_node.with_changes(args=[argument.with_changes(value=named)])
        return updated_node

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        text = original_node.evaluated_value
        if not isinstance(text, str) or "autogen_" not in text:
            return updated_node
        if text in LOGGERS:
            return updated_node if text in ROOTS else _quoted_as(updated_node, LOGGERS[text])
        # A name, or a type's: text for people is none of ours.
        if original_node.prefix or not _TYPE.fullmatch(text) or not _is_expression(text):
            return updated_node

        def renamed(found: re.Match[str]) -> str:
            match find_dotted(found[0]):
                case (Here(module=module, name=name), rest):
                    return _join(module, name, rest)
                case (Absent(advice), _):
                    self._note(original_node, f"{found[0]!r}: {advice}")
                    return found[0]
                case None:
                    return found[0]

        return _quoted_as(updated_node, _DOTTED.sub(renamed, text))


def _statements(
    node: cst.ImportFrom, groups: dict[str, list[cst.ImportAlias]]
) -> cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement]:
    """The import, once for each module in `groups`."""
    if len(groups) == 1 and "" not in groups:
        (module, names) = next(iter(groups.items()))
        return node.with_changes(module=_name(module), names=names)
    made: list[cst.BaseSmallStatement] = []
    for module, names in groups.items():
        plain = _with_commas(names)
        if module:
            several = node.lpar if len(names) > 1 or _has_comment(names) else None
            made.append(
                node.with_changes(
                    module=_name(module),
                    names=_closed(names) if several else plain,
                    lpar=several,
                    rpar=node.rpar if several else None,
                )
            )
        else:
            made.append(cst.Import(names=plain))
    if len(made) == 1:
        return cst.FlattenSentinel(made)
    return cst.FlattenSentinel(
        [each.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for each in made]
    )


def _closed(names: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """The names in parentheses; the last may have been another one."""
    last = names[-1]
    if not isinstance(last.comma, cst.Comma):
        return [*names]
    space = last.comma.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace):
        space = space.with_changes(indent=False, last_line=cst.SimpleWhitespace(""))
    comma = last.comma.with_changes(whitespace_after=space)
    return [*names[:-1], last.with_changes(comma=comma)]


def _has_comment(names: Sequence[cst.ImportAlias]) -> bool:
    return any("#" in cst.Module([]).code_for_node(name) for name in names)


def _with_commas(names: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """The names on one line, with a comma between them."""
    return [name.with_changes(comma=cst.MaybeSentinel.DEFAULT) for name in names]


def _name(dotted: str) -> cst.Attribute | cst.Name:
    return cast("cst.Attribute | cst.Name", cst.parse_expression(dotted))


def _bound(alias: cst.ImportAlias) -> str:
    """The name that the import binds."""
    if alias.asname is not None:
        return cast("cst.Name", alias.asname.name).value
    return (get_full_name_for_node(alias.name) or "").partition(".")[0]


def _dotted(node: cst.BaseExpression) -> str | None:
    """`a.b.c` as text; None for anything but names and dots."""
    match node:
        case cst.Name(value=value):
            return value
        case cst.Attribute(value=inner, attr=cst.Name(value=name)):
            before = _dotted(inner)
            return None if before is None else f"{before}.{name}"
        case _:
            return None


def _last_name(node: cst.BaseExpression) -> str:
    return (_dotted(node) or "").rpartition(".")[2]


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _quoted_as(node: cst.SimpleString, text: str) -> cst.SimpleString:
    return node.with_changes(value=f"{node.prefix}{node.quote}{text}{node.quote}")


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
