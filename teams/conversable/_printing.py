"""Where chats print and read, and how a received message looks."""

from __future__ import annotations

import getpass
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from teams.conversable._messages import shown_content
from teams.conversable._model_messages import fill_template
from teams.conversable._protocols import Message

LINE = "-" * 80


@runtime_checkable
class IOStream(Protocol):
    """A place that chats print to and read from.

    The default is the console; `set_default` changes it for the code inside.
    """

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print the objects."""
        ...

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Read a line."""
        ...

    @staticmethod
    def get_default() -> IOStream:
        """Stream in use here."""
        return _STREAM.get() or _CONSOLE

    @staticmethod
    @contextmanager
    def set_default(stream: IOStream | None) -> Generator[None]:
        """Use a stream for the code inside."""
        token = _STREAM.set(stream)
        try:
            yield
        finally:
            _STREAM.reset(token)


class IOConsole(IOStream):
    """The console."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print the objects to stdout."""
        print(*objects, sep=sep, end=end, flush=flush)  # noqa: T201 (its purpose)

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Read a line of stdin; a password is not shown."""
        return getpass.getpass(prompt or "Password: ") if password else input(prompt)


_STREAM: ContextVar[IOStream | None] = ContextVar("teams_conversable_io", default=None)
_CONSOLE = IOConsole()


def say(text: str) -> None:
    """Print a text to the default stream."""
    IOStream.get_default().print(text, flush=True)


def print_received(message: Message, *, sender: str, recipient: str, formats: bool) -> None:
    """Print a message that was received."""
    say(f"{sender} (to {recipient}):\n")
    for response in message.get("tool_responses") or ():
        _print_result(response)
    if message.get("tool_responses") and message["role"] == "tool":
        return  # its content is that of the responses
    if message["role"] in {"function", "tool"}:
        _print_result(message)
        return
    content = fill_template(message["content"], message.get("context", {}), texts=formats)
    if content is not None:
        say(shown_content(content))
    if call := message.get("function_call"):
        _print_call(f"function call: {call.get('name')}", call)
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        _print_call(f"tool call ({call.get('id')}): {function.get('name')}", function)
    say(f"\n{LINE}")


def _print_call(what: str, function: Message) -> None:
    banner = f"***** Suggested {what} *****"
    say(banner)
    say(f"Arguments: \n{function.get('arguments')}")
    say("*" * len(banner))


def _print_result(response: Message) -> None:
    kind, key = ("function", "name") if response["role"] == "function" else ("tool", "tool_call_id")
    banner = f"***** Response from calling {kind} ({response.get(key)}) *****"
    say(banner)
    say(shown_content(response["content"]))
    say("*" * len(banner))
    say(f"\n{LINE}")
