"""Queues of chats: each one gets what the earlier ones found."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from teams._base.tool_call import InputRequired
from teams.conversable._chats import ChatResult, ChatsMixin
from teams.conversable._facade import run_unsuspended
from teams.conversable._gate import all_done
from teams.conversable._journal import beside
from teams.conversable._mode import ASYNC, SYNC, Mode
from teams.conversable._printing import say
from teams.conversable._protocols import Agent, Given, Settings, Work

STARS = "*" * 80

ChatQueue = Sequence[Given]


def initiate_chats(chat_queue: ChatQueue) -> list[ChatResult]:
    """Run chats in order; each item names its sender and recipient."""
    return run_unsuspended(run_queue(SYNC, chat_queue))


async def a_initiate_chats(chat_queue: ChatQueue) -> dict[Any, ChatResult]:
    """Run chats by their `prerequisites`; independent ones overlap.

    A chat gets the summaries of its prerequisites. Nothing runs if one is unknown or needs itself.
    """
    queue = _checked(chat_queue)
    for item in queue:
        if item.get("chat_id") is None:
            raise ValueError("Each chat must have a unique chat_id for async multi-chat execution.")
        if not all(isinstance(each, int) for each in _prerequisites(item)):
            raise ValueError("Prerequisite chat id is not int.")
    ordered = _ordered({item["chat_id"]: item for item in queue})
    try:
        return await _overlapping(ordered)
    except BaseExceptionGroup as errors:  # the others were cancelled
        raise _first(errors) from None


async def run_queue(mode: Mode, chat_queue: ChatQueue) -> list[ChatResult]:
    """Run chats one after the other."""
    finished: list[ChatResult] = []
    for item in _checked(chat_queue):
        excluded = item.get("finished_chat_indexes_to_exclude_from_carryover", ())
        earlier = [chat for index, chat in enumerate(finished) if index not in excluded]
        finished.append(await _run(mode, item, earlier))
    return finished


def with_sender(chat_queue: ChatQueue, sender: Agent) -> list[Settings]:
    """Copies of the items, each with a sender."""
    return [{"sender": sender, **item} for item in chat_queue]


def partners_in(chat_queue: ChatQueue) -> list[Agent]:
    """Agents of the chats."""
    return [item[who] for item in chat_queue for who in ("sender", "recipient") if who in item]


def _checked(chat_queue: ChatQueue) -> list[Settings]:
    """Copies of the items; AssertionError if an agent is missing."""
    queue = [dict(item) for item in chat_queue]
    for item in queue:
        for who in ("sender", "recipient"):
            if item.get(who) is None:
                raise AssertionError(f"{who} must be provided.")
    recipients = [item["recipient"] for item in queue]
    if len(set(map(id, recipients))) < len(recipients):
        warnings.warn(
            "Repetitive recipients detected: a later chat clears an earlier one's "
            "history unless it has clear_history=False.",
            UserWarning,
            stacklevel=3,
        )
    return queue


async def _run(mode: Mode, item: Settings, earlier: Sequence[ChatResult]) -> ChatResult:
    arguments = dict(item)
    sender: ChatsMixin = arguments.pop("sender")
    own: Any = arguments.get("carryover") or []
    arguments["carryover"] = [
        *(own if isinstance(own, list) else [own]),
        *(chat.summary for chat in earlier),
    ]
    _print_heading(sender, arguments)
    return await mode.call(sender.initiate_chat, sender.a_initiate_chat, **arguments)


def _print_heading(sender: Agent, arguments: Given) -> None:
    silent = getattr(sender, "silent", None)
    if arguments.get("silent") if silent is None else silent:
        return
    say(f"\n{STARS}\nStarting a new chat....")
    if arguments.get("verbose"):
        carryover = "\n".join(map(str, arguments["carryover"]))
        say(f"\nMessage:\n{arguments.get('message')}\n\nCarryover: \n{carryover}")
    say(f"\n{STARS}")


def _prerequisites(item: Given) -> Sequence[Any]:
    return item.get("prerequisites") or ()


def _ordered(items: Mapping[Hashable, Settings]) -> list[Settings]:
    """Items, each after its prerequisites; none if that can't be."""
    placed: dict[Hashable, Settings] = {}
    waiting = dict(items)
    while waiting:
        ready = [
            key
            for key, item in waiting.items()
            if all(each in placed for each in _prerequisites(item))
        ]
        if not ready:
            return []
        for key in ready:
            placed[key] = waiting.pop(key)
    return list(placed.values())


async def _overlapping(ordered: Iterable[Settings]) -> dict[Any, ChatResult]:
    """Run ordered chats, each as soon as what it needs is done.

    Two chats of the same two agents share their conversation: they follow each other.
    """
    tasks: dict[Any, asyncio.Task[ChatResult | InputRequired]] = {}
    last_of_pair: dict[frozenset[int], asyncio.Task[ChatResult | InputRequired]] = {}
    async with asyncio.TaskGroup() as group:
        for item in ordered:
            pair = frozenset((id(item["sender"]), id(item["recipient"])))
            needed = [tasks[each] for each in _prerequisites(item)]
            chat = beside(ASYNC, partial(_run_after, item, needed, last_of_pair.get(pair)))
            task = group.create_task(_asking_last(chat), name=f"chat {item['chat_id']}")
            tasks[item["chat_id"]] = last_of_pair[pair] = task
    return dict(zip(tasks, all_done([task.result() for task in tasks.values()]), strict=True))


async def _asking_last(chat: Work[ChatResult]) -> ChatResult | InputRequired:
    """Let the chats beside one that waits for a person go on."""
    try:
        return await chat
    except InputRequired as required:
        return required


async def _run_after(
    item: Settings,
    needed: Sequence[asyncio.Task[ChatResult | InputRequired]],
    before: asyncio.Task[ChatResult | InputRequired] | None,
) -> ChatResult:
    earlier = all_done([await task for task in needed])
    if before is not None:
        all_done([await before])
    return await _run(ASYNC, item, earlier)


def _first(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error
