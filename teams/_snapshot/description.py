"""One description of a state, for both formats.

A class lists the fields of its state once, by the attributes that hold them. The documented dicts
name a field by its key, the compact format by a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, cast

from teams._contract.turn_record import Item
from teams._messages.factory import MessageFactory
from teams.model_context._contexts import ChatCompletionContext

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

Decode = Callable[[Any], Item]


class SnapshotMember(Protocol):
    """An object that writes itself in the compact format."""

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        """Write its state under this path."""
        ...

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        """Take over what `write_state` wrote."""
        ...


class StateField(Protocol):
    """One field of the state of an owner, in both formats."""

    async def save(self, owner: Any, state: dict[str, Any]) -> None:
        """Add the field to a documented state."""
        ...

    async def load(self, owner: Any, state: Mapping[str, Any], types: MessageFactory) -> None:
        """Take over what `save` added; `types` makes messages. Raises ValueError."""
        ...

    async def write(self, owner: Any, path: str, writer: SnapshotWriter) -> None:
        """Write the field in the compact format."""
        ...

    async def read(self, owner: Any, path: str, reader: SnapshotReader) -> None:
        """Take over what `write` wrote."""
        ...


class MemberField:
    """An agent, team or other object inside, with its own state.

    One that does not know the compact format is a value in it. An `optional` one is left out of the
    documented state while it has nothing to say.
    """

    def __init__(
        self, attribute: str, *, key: str, prefix: str = "", optional: bool = False
    ) -> None:
        self._member = attrgetter(attribute)
        self._key = key
        self._prefix = prefix
        self._value = prefix.removesuffix("/") or "state"
        self._optional = optional

    async def save(self, owner: Any, state: dict[str, Any]) -> None:
        saved = await self._member(owner).save_state()
        if saved or not self._optional:
            state[self._key] = saved

    async def load(self, owner: Any, state: Mapping[str, Any], types: MessageFactory) -> None:
        if (saved := state.get(self._key)) is not None:  # AutoGen saves less
            await self._member(owner).load_state(saved)

    async def write(self, owner: Any, path: str, writer: SnapshotWriter) -> None:
        member = self._member(owner)
        if (write_state := getattr(member, "write_state", None)) is not None:
            await write_state(path + self._prefix, writer)
        else:
            writer.value(path + self._value, await member.save_state())

    async def read(self, owner: Any, path: str, reader: SnapshotReader) -> None:
        member = self._member(owner)
        if (read_state := getattr(member, "read_state", None)) is not None:
            await read_state(path + self._prefix, reader)
        else:
            await member.load_state(reader.value(path + self._value, {}))


REST = "/rest"
"""End of the path of what a context knows besides its messages."""


class ContextField(MemberField):
    """The model context: a growing history and a small rest.

    One that overrides `save_state` has more to remember than its messages: it is a value there.
    """

    def __init__(self) -> None:
        super().__init__("_model_context", key="llm_context", prefix="context")

    async def write(self, owner: Any, path: str, writer: SnapshotWriter) -> None:
        context, path = self._member(owner), path + "context"
        if not _is_plain(context):
            writer.value(path, await context.save_state())
            return
        unread = context.unread
        if not (unread and writer.has(path, unread.history, len(unread.messages))):
            writer.items(path, context.history, writer.llm_message)
        if context.has_rest:
            writer.value(path + REST, context.rest() or None)

    async def read(self, owner: Any, path: str, reader: SnapshotReader) -> None:
        context, path = self._member(owner), path + "context"
        if _is_plain(context):
            context.read_later(reader.llm_messages_later(path))
            if context.has_rest:
                context.load_rest(reader.value(path + REST) or {})
        elif (saved := reader.value(path)) is not None:
            await context.load_state(cast("Mapping[str, Any]", saved))


class ValueField:
    """A JSON value; None where a state has none."""

    def __init__(self, name: str, attribute: str) -> None:
        self._name = name
        parent, _, self._attribute = attribute.rpartition(".")
        self._parent = attrgetter(parent) if parent else None

    def _holder(self, owner: Any) -> Any:
        return self._parent(owner) if self._parent else owner

    async def save(self, owner: Any, state: dict[str, Any]) -> None:
        state[self._name] = getattr(self._holder(owner), self._attribute)

    async def load(self, owner: Any, state: Mapping[str, Any], types: MessageFactory) -> None:
        setattr(self._holder(owner), self._attribute, state.get(self._name))

    async def write(self, owner: Any, path: str, writer: SnapshotWriter) -> None:
        writer.value(path + self._name, getattr(self._holder(owner), self._attribute))

    async def read(self, owner: Any, path: str, reader: SnapshotReader) -> None:
        setattr(self._holder(owner), self._attribute, reader.value(path + self._name))


class RecordField:
    """A small record or None, such as a turn record.

    Its `dump(encode)` writes its messages with `encode`; `load` makes it again, `put` gives it to
    the owner.
    """

    def __init__(
        self,
        name: str,
        attribute: str,
        *,
        load: Callable[[Mapping[str, Any], Decode], Any],
        put: Callable[[Any, Any], None],
    ) -> None:
        self._name = name
        self._record = attrgetter(attribute)
        self._load = load
        self._put = put

    async def save(self, owner: Any, state: dict[str, Any]) -> None:
        if (record := self._record(owner)) is not None:
            state[self._name] = record.dump(_dump)

    async def load(self, owner: Any, state: Mapping[str, Any], types: MessageFactory) -> None:
        self._take_over(owner, state.get(self._name), types.create)

    async def write(self, owner: Any, path: str, writer: SnapshotWriter) -> None:
        record = self._record(owner)
        writer.value(path + self._name, None if record is None else record.dump(writer.item))

    async def read(self, owner: Any, path: str, reader: SnapshotReader) -> None:
        self._take_over(owner, reader.value(path + self._name), reader.item)

    def _take_over(self, owner: Any, data: Any, decode: Decode) -> None:
        self._put(owner, None if data is None else self._load(data, decode))


def _dump(item: Item) -> Mapping[str, Any]:
    return item.dump()


def _is_plain(context: ChatCompletionContext) -> bool:
    return type(context).save_state is ChatCompletionContext.save_state
