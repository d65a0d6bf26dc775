"""What agents are given in TOML: tools, hand-offs, memories, model contexts, code executors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, SecretStr, Tag, model_validator

from gateway.config.table import ConfigPath, Section, shorthand, tag_by

CODE_SECONDS = 60

Secret = Annotated[SecretStr, Field()]
"""The value of a table whose names are free."""


class InitialMessage(Section):
    """A message that a model context begins with. A text is short for its `content`."""

    role: Literal["system", "user", "assistant"] = "user"
    """Who speaks to the model."""

    content: str
    """What is said."""

    source: str | None = None
    """The name of whoever said it; the role if not given."""


class _Context(Section):
    initial_messages: list[Annotated[InitialMessage, shorthand("content")]] = Field(
        default_factory=list
    )
    """What stands before the conversation: texts, or tables."""


class UnboundedContextConfig(_Context):
    """The model sees the whole conversation."""

    type: Literal["unbounded"]
    """Kind of context."""


class BufferedContextConfig(_Context):
    """The model sees the last messages."""

    type: Literal["buffered"]
    """Kind of context."""

    buffer_size: int = Field(gt=0)
    """How many messages it sees."""


class HeadAndTailContextConfig(_Context):
    """The model sees the first and the last messages, and how many were left out between them."""

    type: Literal["head_and_tail"]
    """Kind of context."""

    head_size: int = Field(gt=0)
    """How many of the first messages it sees."""

    tail_size: int = Field(gt=0)
    """How many of the last messages it sees."""


class TokenLimitedContextConfig(_Context):
    """The model sees what fits, with gaps in the middle; the agent's tools count, too."""

    type: Literal["token_limited"]
    """Kind of context."""

    token_limit: int | None = Field(default=None, gt=0)
    """How many tokens fit; what the model takes if not given."""

    model: str = ""
    """Name of the model in [models] that counts them; default_model if not given."""


class OwnContextConfig(Section):
    """A context of your own."""

    path: str
    """Import path of its class, or of a function that returns one; called once per thread."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


ModelContextConfig = Annotated[
    Annotated[UnboundedContextConfig, Tag("unbounded")]
    | Annotated[BufferedContextConfig, Tag("buffered")]
    | Annotated[HeadAndTailContextConfig, Tag("head_and_tail")]
    | Annotated[TokenLimitedContextConfig, Tag("token_limited")]
    | Annotated[OwnContextConfig, Tag("path")],
    Discriminator(tag_by("path", or_type=True)),
]


class MemoryEntry(Section):
    """One thing remembered. A text is short for its `content`."""

    content: str
    """What it is."""

    mime_type: str = "text/plain"
    """What kind of text."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """Notes about it."""


class ListMemoryConfig(Section):
    """A memory that tells the model all of its contents."""

    contents: list[Annotated[MemoryEntry, shorthand("content")]]
    """What it knows from the start: texts, or tables."""

    name: str | None = None
    """Its name."""


class OwnMemoryConfig(Section):
    """A memory of your own. `"package.module:Class"` is short for its `path`."""

    path: str
    """Import path of its class, or of a function that returns one; called once per thread."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


MemoryConfig = Annotated[
    Annotated[OwnMemoryConfig, Tag("path")] | Annotated[ListMemoryConfig, Tag("contents")],
    Discriminator(tag_by("path", "contents")),
]


class LocalExecutorConfig(Section):
    """Code runs on this machine, with your rights. Where others can reach the team, `parley serve`
    wants `local_code = true` in [policies] for it.
    """

    type: Literal["local"]
    """Kind of executor."""

    timeout: int = Field(default=CODE_SECONDS, ge=1)
    """Seconds a block of code may run."""

    work_dir: ConfigPath | None = None
    """Where scripts are kept and run; the thread's own folder if not given."""

    functions: list[str] = Field(default_factory=list)
    """Import paths of functions that the code may import."""

    functions_module: str = "functions"
    """The module that it imports them from."""

    cleanup_temp_files: bool = True
    """Remove scripts after they ran, except those the code names itself."""

    virtual_env: ConfigPath | None = None
    """The folder of a virtual environment, made if missing, whose Python runs the code."""


class McpConfig(Section):
    """A server that speaks MCP (the Model Context Protocol): its tools are the agent's. It needs
    Parley's extra `mcp`.
    """

    command: str = ""
    """The program to start, once for each thread; or give `url`."""

    args: list[str] = Field(default_factory=list)
    """What it is started with."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """Variables that it gets; of Parley's own it sees only a few harmless ones."""

    cwd: ConfigPath | None = None
    """The folder it is started in; Parley's own if not given."""

    url: str = ""
    """The address of a server that runs already."""

    transport: Literal["http", "sse"] = "http"
    """How a server at an address is spoken to."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Headers of each request to it, such as Authorization."""

    timeout: float = Field(default=60, gt=0)
    """Seconds an answer may take."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        return self


class DockerExecutorConfig(Section):
    """Code runs in a container of the thread's own: without network and rights unless you say
    otherwise, and seeing only its work folder. It needs Parley's extra `docker`.
    """

    type: Literal["docker"]
    """Kind of executor."""

    image: str = "python:3-slim"
    """What the container is made of."""

    timeout: int = Field(default=CODE_SECONDS, ge=1)
    """Seconds a block of code may run."""

    work_dir: ConfigPath | None = None
    """Where scripts are kept, /workspace in the container; the thread's own folder if not given."""

    functions: list[str] = Field(default_factory=list)
    """Import paths of functions that the code may import."""

    functions_module: str = "functions"
    """The module that it imports them from."""

    auto_remove: bool = True
    """Remove the container once it stops."""

    stop_container: bool = True
    """Stop the container when it is not needed any more."""

    delete_tmp_files: bool = False
    """Remove scripts after they ran, except those the code names itself."""

    init_command: str | None = None
    """A shell command that is run in the container once, before any code."""

    extra_volumes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Further mounts: path on the engine's machine to { bind = "/path", mode = "ro" }."""

    extra_hosts: dict[str, str] = Field(default_factory=dict)
    """Further host names and their addresses."""

    device_requests: list[dict[str, Any]] = Field(default_factory=list)
    """Devices such as GPUs, in the words of the engine's API."""

    network_mode: str = "none"
    """The container's network: "none", "bridge", or any of the engine's."""

    user: str | None = None
    """As whom the code runs, "uid:gid"; as you, or as nobody if you are root, if not given."""

    mem_limit: str = "1g"
    """The container's memory."""

    pids_limit: int = Field(default=256, ge=1)
    """How many processes may run in it."""


class OwnExecutorConfig(Section):
    """An executor of your own."""

    path: str
    """Import path of its class, or of a function that returns one; called once per thread."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


ExecutorConfig = Annotated[
    Annotated[DockerExecutorConfig, Tag("docker")]
    | Annotated[LocalExecutorConfig, Tag("local")]
    | Annotated[OwnExecutorConfig, Tag("path")],
    Discriminator(tag_by("path", or_type=True)),
]


class ToolConfig(Section):
    """A tool made from a Python function. `"package.module:function"` is short for its `path`."""

    path: str
    """Import path of a function, or of a tool class, "package.module:name"."""

    name: str | None = None
    """What the model calls it; the function's own name if not given."""

    description: str | None = None
    """What the model reads about it; the function's docstring if not given."""

    strict: bool = False
    """Ask the model to keep exactly to the arguments' schema (no defaults allowed then)."""


class AgentToolConfig(Section):
    """An agent as a tool: it is given a task, and what it answers is the result. Each agent that
    has the tool gets one of its own; it remembers earlier tasks.
    """

    agent: str
    """Name of another agent of this team. By its own name and description the model knows it."""

    return_value_as_last_message: bool = False
    """The result is its last message alone, not all that was said."""


class TeamToolConfig(Section):
    """A team as a tool: it is given a task, and what its members say is the result."""

    team: str
    """Name of another team of the config."""

    name: str | None = None
    """What the model calls it; the team's name if not given."""

    description: str | None = None
    """What the model reads about it; the team's description if not given."""

    return_value_as_last_message: bool = False
    """The result is its last message alone, not all that was said."""


class CodeToolConfig(Section):
    """A tool called `CodeExecutor`, with which the model runs Python code. It is denied unless
    [policies.tools] says otherwise.
    """

    executor: ExecutorConfig
    """Where the code runs."""


AnyToolConfig = Annotated[
    Annotated[ToolConfig, Tag("path")]
    | Annotated[AgentToolConfig, Tag("agent")]
    | Annotated[TeamToolConfig, Tag("team")]
    | Annotated[CodeToolConfig, Tag("executor")],
    Discriminator(tag_by("path", "agent", "team", "executor")),
]


class HandoffConfig(Section):
    """A way to pass the work on. `"other"` is short for its `target`."""

    target: str
    """Name of the agent that takes over, or of whom the termination waits for, such as "user"."""

    name: str | None = None
    """Name of the tool that the model calls; transfer_to_TARGET if not given."""

    description: str | None = None
    """What the model reads about it."""

    message: str | None = None
    """What the next agent is told."""
