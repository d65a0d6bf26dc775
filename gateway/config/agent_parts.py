"""Parts of agents: tools, hand-offs, memories, contexts and executors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from teams.kinds import KindsOf, Part, Section, Tool, shorthand, tag_by


class InitialMessage(Section):
    """A message at the beginning of a model context.

    A text is short for its `content`.
    """

    role: Literal["system", "user", "assistant"] = "user"
    """Role of the speaker."""

    content: str
    """Text of the message."""

    source: str | None = None
    """Name of the speaker; the role if not given."""


class _Context(Section):
    initial_messages: list[Annotated[InitialMessage, shorthand("content")]] = Field(
        default_factory=list
    )
    """Messages before the conversation: texts, or tables."""


class UnboundedContextConfig(_Context):
    """The model sees the whole conversation."""

    type: Literal["unbounded"]
    """Kind of context."""


class BufferedContextConfig(_Context):
    """The model sees the last messages."""

    type: Literal["buffered"]
    """Kind of context."""

    buffer_size: int = Field(gt=0)
    """Number of messages that the model sees."""


class HeadAndTailContextConfig(_Context):
    """The model sees the first and the last messages.

    It is told how many messages were left out between them.
    """

    type: Literal["head_and_tail"]
    """Kind of context."""

    head_size: int = Field(gt=0)
    """Number of first messages that the model sees."""

    tail_size: int = Field(gt=0)
    """Number of last messages that the model sees."""


class TokenLimitedContextConfig(_Context):
    """The model sees as much as fits into a number of tokens.

    Messages in the middle are left out first. The agent's tools count, too.
    """

    type: Literal["token_limited"]
    """Kind of context."""

    token_limit: int | None = Field(default=None, gt=0)
    """Number of tokens; the model's own limit if not given."""

    model: str = ""
    """Name of the model in [models] that counts them; default_model if not given."""


class _OwnPart(Section):
    path: str
    """Import path of its class, or of a function that returns one; called once per thread."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


class OwnContextConfig(_OwnPart):
    """A context of your own."""


ModelContextConfig = Annotated[
    Annotated[UnboundedContextConfig, Tag("unbounded")]
    | Annotated[BufferedContextConfig, Tag("buffered")]
    | Annotated[HeadAndTailContextConfig, Tag("head_and_tail")]
    | Annotated[TokenLimitedContextConfig, Tag("token_limited")]
    | Annotated[OwnContextConfig, Tag("path")],
    Discriminator(tag_by("path", or_type=True)),
]


class TeamMemoryConfig(Section):
    """Things that a team's assistants remember from one conversation to the next.

    They get the tools `remember` and `forget`, and are told the entries before they answer.
    `/memory` shows a person what is remembered of them, and deletes it.
    """

    scope: Literal["thread", "person", "team", "workspace"] = "person"
    """People who are told an entry.

    "thread": those of its thread, "person": the one it was written for, in all of the team's
    threads, "team": everybody, "workspace": everybody in its workspace.
    """

    max_entries: int = Field(default=100, ge=1, le=1000)
    """Entries that a thread, person, team or workspace may have."""


class MemoryEntry(Section):
    """One thing remembered. A text is short for its `content`."""

    content: str
    """Text of the entry."""

    mime_type: str = "text/plain"
    """Media type of the text."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """Notes about it."""


class ListMemoryConfig(Section):
    """A memory that tells the model all of its contents."""

    contents: list[Annotated[MemoryEntry, shorthand("content")]]
    """Entries that it starts with: texts, or tables."""

    name: str | None = None
    """Its name."""


class OwnMemoryConfig(_OwnPart):
    """A memory of your own.

    `"package.module:Class"` is short for its `path`.
    """


class StoreMemoryConfig(Section):
    """A memory in a store of yours, in parts for each scope.

    The agent gets the tool `remember`, unless it has it already, and is told the best matches.
    """

    type: Literal["chromadb", "redis", "mem0"]
    """Kind of store."""

    scope: Literal["thread", "person", "team", "workspace"] = "person"
    """People who share a part, as in [teams.NAME.memory]."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of the store, as its class in Python takes them.

    The name of a part, `collection_name`, `index_name` or `user_id`, is followed by a hash. The
    `function` of a custom embedding is an import path.
    """


MemoryConfig = Annotated[
    Annotated[OwnMemoryConfig, Tag("path")]
    | Annotated[ListMemoryConfig, Tag("contents")]
    | Annotated[StoreMemoryConfig, Tag("chromadb")]
    | Annotated[StoreMemoryConfig, Tag("redis")]
    | Annotated[StoreMemoryConfig, Tag("mem0")],
    Discriminator(tag_by("path", "contents", or_type=True)),
]


ExecutorConfig: TypeAlias = Annotated[Part, KindsOf("executor")]
AnyToolConfig: TypeAlias = Annotated[Tool, KindsOf("tool")]


class HandoffConfig(Section):
    """A hand-off to another agent.

    `"other"` is short for its `target`.
    """

    target: str
    """Name of the agent that takes over.

    It can also be somebody that the termination waits for, such as "user".
    """

    name: str | None = None
    """Name of the model's tool; transfer_to_TARGET if not given."""

    description: str | None = None
    """Description of the tool for the model."""

    message: str | None = None
    """Message to the next agent."""
