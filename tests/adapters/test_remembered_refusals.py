"""Memories of refusals in adapters and backfill, with owners and ends.

A refusal of one call is no property of a place. Whatever is kept of one beyond its call is
found here by the syntax tree, and has a row.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import pytest

ROOT = Path(__file__).parents[2] / "adapters"
PLAYED = {"simulation", "simulator", "testing", "console", "terminal"}
CHANGES = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "forget", "insert"),
    *("pop", "popitem", "put", "remove", "setdefault", "update"),
}
"""Methods that change a collection."""
DEPTH = 2
"""Calls that are followed from where a refusal is caught."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Memory: TypeAlias = tuple[str, str]
"""A file, and an attribute that is written there."""


Owner: TypeAlias = Literal[
    "call",
    "message",
    "thread",
    "person",
    "channel",
    "workspace",
    "rate limit",
    "connection",
    "store",
]
"""Whose property a refusal is."""


class Row(NamedTuple):
    of: Owner
    until: str


REMEMBERED: dict[Memory, Row] = {
    ("backfill/offers.py", "_posted"): Row(
        "thread", "at once: a card that is not there offers nothing"
    ),
    ("backfill/offers.py", "_seen"): Row("thread", "its gap is read"),
    ("backfill/pauses.py", "_failed_at"): Row("store", "the next pause is noted"),
    ("backfill/work_list.py", "_failures"): Row("channel", "its page is read"),
    ("backfill/work_list.py", "_not_before"): Row("channel", "a minute at most, a new gap"),
    ("awaited_files.py", "_begun"): Row("message", "its file has come, or is given up"),
    ("dead_ends.py", "_told"): Row("person", "an hour, for who takes no direct messages"),
    ("known_places.py", "_told"): Row("store", "at once: what was not stored is not noted"),
    ("bounded_cache.py", "_values"): Row("call", "said by the rows of its users"),
    ("discord/connection/shard_session.py", "_session"): Row("connection", "the next READY"),
    ("discord/conversations/locked_threads.py", "_known"): Row(
        "thread", "an event, a refused call"
    ),
    ("discord/inbound/author_lookup.py", "_known"): Row("person", "five minutes"),
    ("discord/outbound/avatars.py", "_known"): Row(
        "workspace", "five minutes: it is read again, by the code"
    ),
    ("discord/outbound/avatars.py", "_refused_until"): Row("workspace", "the code's seconds"),
    ("discord/outbound/surface.py", "_targets"): Row("thread", "at once: it is looked up anew"),
    ("discord/outbound/webhooks.py", "_known"): Row("channel", "at once: a gone one is forgotten"),
    ("discord/outbound/webhooks.py", "_refused"): Row("channel", "an hour, by the code"),
    ("pacing/bucket.py", "_closed"): Row("rate limit", "the platform's seconds"),
    ("pacing/limits.py", "_calls"): Row("rate limit", "the next refusal"),
    ("pacing/limits.py", "_every"): Row("rate limit", "20 calls in a row went well"),
    ("pacing/limits.py", "_left"): Row("rate limit", "the platform's seconds"),
    ("pacing/limits.py", "_next_later"): Row("rate limit", "1.25 seconds"),
    ("pacing/limits.py", "_reset_at"): Row("rate limit", "the platform's seconds"),
    ("pacing/limits.py", "_tokens"): Row("rate limit", "they come in again"),
    **{
        ("slack/connection/installs.py", name): Row("workspace", "the next look into the store")
        for name in ("_known", "_org_of")
    },
    ("slack/connection/installs.py", "_refused_lately"): Row(
        "workspace", "a minute, or another token"
    ),
    ("slack/connection/installs.py", "_renewing"): Row("workspace", "its renewal has ended"),
    ("slack/connection/web_api.py", "_lost"): Row("workspace", "another token"),
    **{
        ("slack/connection/web_api.py", name): Row("workspace", "its next event, or a grant")
        for name in ("_clients", "_workspaces")
    },
    ("slack/connection/web_api.py", "_orgs"): Row(
        "workspace", "the next start: a token is revoked"
    ),
    ("slack/inbound/author_lookup.py", "_members"): Row(
        "workspace", "five minutes, of Slack's refusals"
    ),
    ("slack/inbound/author_lookup.py", "_named_lately"): Row(
        "channel", "five minutes, of final refusals"
    ),
    ("slack/inbound/author_lookup.py", "_people"): Row("person", "five minutes"),
    ("slack/inbound/place_names.py", "_asked"): Row("channel", "a day; a minute if it may change"),
    ("slack/outbound/message_lookup.py", "_waits"): Row("rate limit", "Slack's seconds and ten"),
    ("slack/outbound/message_streams.py", "_streams"): Row("message", "it is written, or an hour"),
    ("slack/outbound/message_streams.py", "phase"): Row("message", "its stream is forgotten"),
    ("slack/outbound/refusals.py", "_noted"): Row("workspace", "an hour; owners by the code"),
    ("slack/outbound/surface.py", "_attached"): Row("message", "no refusal is kept"),
    ("slack/outbound/surface.py", "_posting"): Row("thread", "its next post"),
    ("slack/outbound/thread_status.py", "_noted"): Row("thread", "its next status"),
    ("slack/outbound/thread_status.py", "_shown"): Row(
        "thread", "a status that is not set is none"
    ),
    ("slack/outbound/thread_status.py", "_to_clear"): Row("thread", "it is cleared, or refused"),
}
NO_REFUSALS: dict[str, set[str]] = {
    "backfill/pauses.py": {"_looked", "_whole_from", "_woken"},
    "backfill/work_list.py": {"_busy", "_changed", "back"},
    "discord/adapter.py": {"_servers_unknown"},
    "discord/connection/connection.py": {
        *("_heard_at", "_opened_at", "_was_opened", "client", "tells_all"),
    },
    "discord/connection/event_queue.py": {"_number", "_open", "looks_at_direct", "open", "owed"},
    "discord/connection/rate_limits.py": {"_hashes"},
    "discord/connection/shard_session.py": {"_leaving", "ws"},
    "discord/conversations/threads.py": {"_unkept"},
    "discord/connection/shards.py": {"_connected", "_held", "_newest", "_open"},
    "discord/inbound/archived_threads.py": {"_inherited", "told"},
    "discord/inbound/message_handler.py": {"_participates"},
    "discord/outbound/surface.py": {"_busy", "_dead_ends", "_typing", "_webhooks"},
    "discord/outbound/webhooks.py": {"_sent"},
    "pacing/bucket.py": {"_is_busy"},
    "pacing/limits.py": {"_before", "_counted", "_growing", "_last"},
    "progress.py": {"_changed", "_woken"},
    "slack/connection/oauth.py": {"_clients"},
    "slack/connection/socket_mode.py": {"_ws", "counted", "reason"},
    "slack/connection/web_api.py": {"_session"},
    "slack/inbound/handler.py": {"_accepted", "clients"},
    "slack/outbound/message_streams.py": {"_messages", "channel", "marked", "place", "ts"},
    "slack/outbound/thread_status.py": {"_locks", "_wake"},
}
"""Written beside refusals, but not of them: progress, connections, times, locks."""


class Defined(NamedTuple):
    file: str
    function: Function


class Adapters:
    """The functions of the adapters, and what they write."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self.functions = [
            Defined(file, node)
            for file, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, Function)
        ]
        self._named: defaultdict[str, list[Defined]] = defaultdict(list)
        for each in self.functions:
            self._named[each.function.name].append(each)

    def remembered(self) -> set[Memory]:
        """The attributes that are written where a call was refused."""
        found: set[Memory] = set()
        for each in self.functions:
            if _is_of_a_refusal(each.function):
                found |= self._written(each.file, each.function, None, DEPTH)
            for node in _nodes(each.function):
                if isinstance(node, ast.ExceptHandler):
                    found |= self._written(each.file, node, node.name, DEPTH)
            if _swallows(each.function) or any(map(_swallows, self._called(each))):
                found |= {(each.file, name) for name in _writes(each.function)}
        return found

    def _written(self, file: str, node: ast.AST, error: str | None, depth: int) -> set[Memory]:
        found = {(file, name) for name in _writes(node)}
        if depth:
            for call in _nodes(node):
                if isinstance(call, ast.Call):
                    for each in self._definitions(call, file, error):
                        found |= self._written(each.file, each.function, None, depth - 1)
        return found

    def _called(self, caller: Defined) -> Iterator[Function]:
        for call in _nodes(caller.function):
            if isinstance(call, ast.Call):
                for each in self._definitions(call, caller.file, None):
                    if each.file == caller.file:
                        yield each.function

    def _definitions(self, call: ast.Call, file: str, error: str | None) -> Iterable[Defined]:
        """Those of its file, else the only one of its name."""
        match call.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                return [each for each in self._named[name] if each.file == file]
            case ast.Attribute(attr=name):
                told = any(
                    isinstance(node, ast.Name) and node.id == error
                    for argument in (*call.args, *call.keywords)
                    for node in _nodes(argument)
                )
                named = self._named[name]
                return named if told or len(named) == 1 else ()
            case _:
                return ()


@cache
def _nodes(node: ast.AST) -> list[ast.AST]:
    return [*ast.walk(node)]


@cache
def _writes(node: ast.AST) -> set[str]:
    """Names of the attributes that are set, or whose collections are changed."""
    found: set[str] = set()
    for each in _nodes(node):
        match each:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                found.update(name for target in targets for name in _attributes(target))
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found.update(_attributes(target))
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=change)):
                if change in CHANGES:
                    found.add(name)
            case _:
                pass
    return found


def _attributes(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Tuple(elts=targets):
            for each in targets:
                yield from _attributes(each)
        case ast.Subscript(value=value):
            yield from _attributes(value)
        case ast.Attribute(attr=name):
            yield name
        case _:
            pass


def _is_error(annotation: ast.expr | None) -> bool:
    ends = ("Error", "Exception", "Refusal", "Rejected", "RateLimited")
    return annotation is not None and any(
        isinstance(node, ast.Name) and node.id.endswith(ends) for node in _nodes(annotation)
    )


def _is_of_a_refusal(function: Function) -> bool:
    """True if it is given an error, or makes one."""
    told = [*function.args.args, *function.args.kwonlyargs]
    return _is_error(function.returns) or any(_is_error(each.annotation) for each in told)


@cache
def _swallows(function: Function) -> bool:
    """True if it goes on after an error."""
    for node in _nodes(function):
        match node:
            case ast.ExceptHandler(body=[*_, last] as body):
                returns = any(
                    isinstance(each, ast.Return) for part in body for each in _nodes(part)
                )
                if returns or not isinstance(last, ast.Raise):
                    return True
            case ast.With(items=items) if any("suppress(" in ast.unparse(each) for each in items):
                return True
            case _:
                pass
    return False


def modules() -> dict[str, ast.Module]:
    found = {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for path in sorted(ROOT.rglob("*.py"))
        if PLAYED.isdisjoint(path.parts)
    }
    wings = {"backfill", "pacing"}
    return found | {
        f"{wing}/{path.name}": ast.parse(path.read_text())
        for wing in wings
        for path in (ROOT.parent / "gateway" / wing).glob("*.py")
    }


def test_each_memory_of_a_refusal_says_whose_it_is_and_when_it_is_forgotten() -> None:
    others = {(file, name) for file, names in NO_REFUSALS.items() for name in names}
    assert Adapters(modules()).remembered() == others | REMEMBERED.keys()
    assert not others & REMEMBERED.keys()


@pytest.mark.parametrize(
    "work",
    [
        "try: call()\n        except Refusal: self.off = True",
        "try: call()\n        except Refusal: self.off.add(1)",
        "try: call()\n        except Refusal as error: self._note(error)",
        "try: call()\n        except Refusal as error: self.other.note(1, error.code)",
        "if not self._try(): self.off[1] = 2",
        "self.off[1] = self._try()",
        "with suppress(Refusal): self.off |= {1}",
    ],
)
def test_a_new_memory_is_found_however_it_is_kept(work: str) -> None:
    source = f"""
class Surface:
    def post(self):
        {work}

    def _try(self):
        try:
            return call()
        except Refusal:
            return None

    def _note(self, error):
        self.off = error
"""
    other = "class Other:\n    def note(self, what, code): self.off.add(what)"
    found = Adapters({"new.py": ast.parse(source), "other.py": ast.parse(other)}).remembered()
    assert {name for _, name in found} == {"off"}


def test_what_is_done_with_an_error_or_makes_one_is_a_refusal_too() -> None:
    source = """
class Calls:
    def refused(self, error: SlackApiError) -> None: self.one = 1
    def rejected(self) -> CallRejected: self.two = 2
    def answered(self) -> str: self.three = 3
"""
    found = Adapters({"new.py": ast.parse(source)}).remembered()
    assert {name for _, name in found} == {"one", "two"}
