"""Dotted names, calls and texts that name AutoGen, rewritten."""

from __future__ import annotations

import ast
import re

import libcst as cst
from typing_extensions import override

from gateway.migrate.imports import ImportRewriter
from gateway.migrate.names import MODULES, ROOTS, Absent, Here, find_dotted
from gateway.migrate.syntax import dotted_name, is_none, join_dots, last_name, quoted_as

LOGGERS = {
    "autogen": "teams",
    "autogen.oai.client": "teams",
    "autogen_agentchat": "teams",
    "autogen_agentchat.events": "teams.events",
    "autogen_agentchat.trace": "teams.trace",
    "autogen_core": "teams",
    "autogen_core.events": "teams.events",
    "autogen_core.trace": "teams.trace",
}
"""AutoGen's loggers and ours."""

_TYPE = re.compile(r"[\w.\[\], |]+")
_DOTTED = re.compile(r"\bautogen(?:_agentchat|_core|_ext)?(?:\.\w+)+")


class ProgramRewriter(ImportRewriter):
    """Rewrites imports, then the expressions that use what they bind."""

    @override
    def visit_Attribute(self, node: cst.Attribute) -> bool:
        dotted = dotted_name(node)
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
                self._dotted[node] = join_dots(module, name, rest)
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
                    self._dotted[node] = join_dots(alias + module[len(bound) :], name, more)
                else:
                    self._note(node, f"{alias}.{rest}: import {module} and use it here")
            case (Absent(advice), _):
                self._note(node, f"{alias}.{rest}: {advice}")
            case None:
                pass

    @override
    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        new = self._dotted.get(original_node)
        if new is None or new == dotted_name(original_node):
            return updated_node
        changed = cst.parse_expression(new)
        return changed.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)

    @override
    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        bases = {dotted_name(base.value) for base in node.bases}
        if bases & {*self._group_chats, "autogen_agentchat.teams.BaseGroupChat"}:
            self._note(node.name, f"{node.name.value}: write select_speaker; there is no manager")

    @override
    def visit_Call(self, node: cst.Call) -> None:
        called = last_name(node.func)
        for argument in node.args:
            name = argument.keyword.value if argument.keyword is not None else ""
            if name == "runtime" and called in self._teams and not is_none(argument.value):
                self._note(argument, "runtime=: leave it out; a team needs no runtime")

    @override
    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        match node.type:
            case None:
                return
            case cst.Tuple(elements=elements):
                caught = [element.value for element in elements]
            case alone:
                caught = [alone]
        if any(map(self._is_terminated, caught)):
            text = "TerminatedException: a RuntimeError here; `except Exception` before it takes it"
            self._note(node.type, text)

    def _is_terminated(self, node: cst.BaseExpression) -> bool:
        dotted = dotted_name(node) or ""
        root, _, last = dotted.rpartition(".")
        known = root.partition(".")[0] in (*ROOTS, *self._aliases)
        return dotted in self._terminated or (known and last == "TerminatedException")

    @override
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if last_name(original_node.func) != "getLogger" or len(updated_node.args) != 1:
            return updated_node
        argument = updated_node.args[0]
        value = argument.value
        if isinstance(value, cst.SimpleString) and value.evaluated_value in ROOTS:
            named = quoted_as(value, "teams")
            return updated_node.with_changes(args=[argument.with_changes(value=named)])
        return updated_node

    @override
    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        text = original_node.evaluated_value
        if not isinstance(text, str) or "autogen" not in text:
            return updated_node
        if text in LOGGERS:
            return updated_node if text in ROOTS else quoted_as(updated_node, LOGGERS[text])
        # A name, or a type's: text for people is none of ours.
        if original_node.prefix or not _TYPE.fullmatch(text) or not _is_expression(text):
            return updated_node

        def renamed(found: re.Match[str]) -> str:
            match find_dotted(found[0]):
                case (Here(module=module, name=name), rest):
                    return join_dots(module, name, rest)
                case (Absent(advice), _):
                    self._note(original_node, f"{found[0]!r}: {advice}")
                    return found[0]
                case None:
                    return found[0]

        return quoted_as(updated_node, _DOTTED.sub(renamed, text))


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
