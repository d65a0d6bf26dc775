"""Parts of agents: tools, hand-offs, memories, contexts and executors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from gateway.config.http_tool import HttpConfig
from gateway.config.table import ConfigPath, Section, shorthand, tag_by

CODE_SECONDS = 60


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


class _Executor(Section):
    timeout: int = Field(default=CODE_SECONDS, ge=1)
    """Seconds a block of code may run."""

    functions: list[str] = Field(default_factory=list)
    """Import paths of functions that the code may import."""

    functions_module: str = "functions"
    """Module that the code imports them from."""


class LocalExecutorConfig(_Executor):
    """Code runs on this machine, with your rights.

    If others can reach the team, `parley serve` needs `local_code = true` in [policies] for it.
    """

    type: Literal["local"]
    """Kind of executor."""

    work_dir: ConfigPath | None = None
    """Folder for scripts; the thread's own folder if not given."""

    cleanup_temp_files: bool = True
    """Remove scripts after they ran, except those the code names itself."""

    virtual_env: ConfigPath | None = None
    """Folder of the virtual environment for the code; created if missing."""


class DockerExecutorConfig(_Executor):
    """Code runs in a container of the thread's own.

    Unless you say otherwise, it has no network and no rights, and sees only its work folder. It
    needs Parley's extra `docker`.
    """

    type: Literal["docker"]
    """Kind of executor."""

    image: str = "python:3-slim"
    """Image of the container."""

    work_dir: ConfigPath | None = None
    """Folder for scripts; the thread's own folder if not given.

    In the container it is /workspace.
    """

    auto_remove: bool = True
    """Remove the container once it stops."""

    stop_container: bool = True
    """Stop the container when it is not needed any more."""

    delete_tmp_files: bool = False
    """Remove scripts after they ran, except those the code names itself."""

    init_command: str | None = None
    """Shell command that runs once in the container, before any code."""

    extra_volumes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Further mounts.

    Each is a path on the engine's machine = { bind = "/path", mode = "ro" }.
    """

    extra_hosts: dict[str, str] = Field(default_factory=dict)
    """Further host names and their addresses."""

    device_requests: list[dict[str, Any]] = Field(default_factory=list)
    """Devices such as GPUs, as the engine's API describes them."""

    network_mode: str = "none"
    """Network of the container: "none", "bridge", or any of the engine's."""

    user: str | None = None
    """User that runs the code, as "uid:gid".

    If not given, it is you, or nobody if you are root.
    """

    mem_limit: str = "1g"
    """Memory of the container."""

    pids_limit: int = Field(default=256, ge=1)
    """Highest number of processes in the container."""

    cpus: float = Field(default=1.0, gt=0)
    """Processors that the container may use."""

    read_only: bool = True
    """Keep the container's own files as they are.

    /tmp, which is also the home folder, is kept in memory, at most 256 MiB.
    """


class _Notebook(Section):
    timeout: int = Field(default=CODE_SECONDS, ge=1)
    """Seconds a block of code may run."""

    kernel_name: str = "python3"
    """Name of the kernel, which keeps variables between blocks."""

    output_dir: ConfigPath | None = None
    """Folder of the code; if not given, the thread's own."""


class JupyterExecutorConfig(_Notebook):
    """Code runs in a notebook's kernel on this machine, with your rights.

    If others can reach the team, `parley serve` needs `local_code = true` in [policies] for it. It
    needs Parley's extra `jupyter-executor`.
    """

    type: Literal["jupyter"]
    """Kind of executor."""


class DockerJupyterExecutorConfig(_Notebook):
    """Code runs in a notebook's kernel, in a container for the thread.

    The container has a network. It needs Parley's extra `docker-jupyter-executor`.
    """

    type: Literal["docker_jupyter"]
    """Kind of executor."""

    image: str = ""
    """Image with Jupyter; quay.io/jupyter/scipy-notebook if not given."""

    mem_limit: str = "1g"
    """Memory of the container."""

    cpus: float = Field(default=1.0, gt=0)
    """Processors that the container may use."""


class OwnExecutorConfig(_OwnPart):
    """An executor of your own."""


ExecutorConfig = Annotated[
    Annotated[DockerExecutorConfig, Tag("docker")]
    | Annotated[LocalExecutorConfig, Tag("local")]
    | Annotated[JupyterExecutorConfig, Tag("jupyter")]
    | Annotated[DockerJupyterExecutorConfig, Tag("docker_jupyter")]
    | Annotated[OwnExecutorConfig, Tag("path")],
    Discriminator(tag_by("path", or_type=True)),
]


class ToolConfig(Section):
    """A tool made from a Python function.

    `"package.module:function"` is short for its `path`.
    """

    path: str
    """Import path of a function, or of a tool class, "package.module:name"."""

    name: str | None = None
    """Name for the model; the function's own name if not given."""

    description: str | None = None
    """Description for the model; the function's docstring if not given."""

    strict: bool = False
    """Ask the model to follow the arguments' schema exactly.

    The function's parameters must have no defaults then.
    """


class AgentToolConfig(Section):
    """An agent as a tool: its answer is the result.

    Each agent with this tool has its own copy, which remembers earlier tasks.
    """

    agent: str
    """Name of another agent of this team.

    The model sees the agent's own name and description.
    """

    return_value_as_last_message: bool = False
    """Return only the last message, not all messages."""


class TeamToolConfig(Section):
    """A team as a tool: its messages are the result."""

    team: str
    """Name of another team of the config."""

    name: str | None = None
    """Name for the model; the team's name if not given."""

    description: str | None = None
    """Description for the model; the team's description if not given."""

    return_value_as_last_message: bool = False
    """Return only the last message, not all messages."""


class CodeToolConfig(Section):
    """The tool `CodeExecutor`, with which the model runs Python code.

    It is denied unless [policies.tools] allows it.
    """

    executor: ExecutorConfig
    """Executor of the code."""


AnyToolConfig = Annotated[
    Annotated[ToolConfig, Tag("path")]
    | Annotated[AgentToolConfig, Tag("agent")]
    | Annotated[TeamToolConfig, Tag("team")]
    | Annotated[CodeToolConfig, Tag("executor")]
    | Annotated[HttpConfig, Tag("http")],
    Discriminator(tag_by("path", "agent", "team", "executor", "http")),
]


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
