"""AutoGen's imports rewritten; what they bind is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import PositionProvider
from typing_extensions import override

from gateway.migrate.names import Absent, Here, find_module, find_name, is_autogen
from gateway.migrate.syntax import bound_name, name_node

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


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """A place that needs a hand, and what to do there."""

    line: int
    text: str


class ImportRewriter(cst.CSTTransformer):
    """Rewrites the imports of a module.

    `used` are modules of ours that dotted names lead to.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, used: Sequence[str]) -> None:
        super().__init__()
        self.notes: list[Note] = []
        self.binds_teams = False
        self._missing = [*used]
        self._aliases: dict[str, str] = {}
        self._teams = set(_TEAMS)
        self._group_chats: set[str] = set()
        self._terminated: set[str] = set()
        self._dotted: dict[cst.CSTNode, str] = {}

    def _note(self, node: cst.CSTNode, text: str) -> None:
        position = cast("Any", self.get_metadata(PositionProvider, node))
        self.notes.append(Note(position.start.line, text))

    @override
    def visit_Import(self, node: cst.Import) -> bool:
        return False  # its dotted names are no expressions

    @override
    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    @override
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
                    names.append(alias.with_changes(name=name_node(module)))
                    if alias.asname is not None:
                        self._aliases[bound_name(alias)] = dotted
                    else:
                        plain.add(module)
        if not plain:
            return updated_node.with_changes(names=names)
        self.binds_teams = True
        # Without this, `import autogen_core` would not reach `teams.models`.
        more = [module for module in self._missing if module not in plain]
        self._missing.clear()
        names += [cst.ImportAlias(name=name_node(module)) for module in more]
        return updated_node.with_changes(names=_with_commas(names))

    @override
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
                    return updated_node.with_changes(module=name_node(ours))
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
                self._aliases[bound_name(alias)] = f"{dotted}.{name}"
                parent, _, leaf = module.rpartition(".")
                if not parent and alias.asname is None:
                    self.binds_teams = True
                changed = alias.with_changes(name=cst.Name(leaf))
                if parent and leaf != name and alias.asname is None:
                    changed = changed.with_changes(asname=cst.AsName(cst.Name(name)))
                return parent, changed
            case Here(module=module):
                if name == "BaseGroupChat":
                    self._group_chats.add(bound_name(alias))
                if name == "TerminatedException":
                    self._terminated.add(bound_name(alias))
                if name in _TEAMS:
                    self._teams.add(bound_name(alias))
                return module, alias

    @override
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


def _statements(
    node: cst.ImportFrom, groups: dict[str, list[cst.ImportAlias]]
) -> cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement]:
    """The import, once for each module in `groups`."""
    if len(groups) == 1 and "" not in groups:
        (module, names) = next(iter(groups.items()))
        return node.with_changes(module=name_node(module), names=names)
    made: list[cst.BaseSmallStatement] = []
    for module, names in groups.items():
        plain = _with_commas(names)
        if module:
            several = node.lpar if len(names) > 1 or _has_comment(names) else None
            made.append(
                node.with_changes(
                    module=name_node(module),
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
