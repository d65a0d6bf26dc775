"""`[mcp.NAME]` and `mcp` of agents: servers of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

from pydantic import Discriminator, Field, SecretStr, Tag, model_validator
from typing_extensions import override

from teams.kinds import ConfigPath, Item, Maker, Secret, setting_error, shorthand

if TYPE_CHECKING:
    from teams.tools.mcp import McpServerParams, McpSessionHost

NAME = r"^[A-Za-z0-9_-]+$"
"""Form of a server's name: in the tool policy, a slash and a tool follow it."""


class McpServer(Item):
    """An MCP server (Model Context Protocol) whose tools agents can call.

    It needs Parley's extra `mcp`.
    """

    command: str = ""
    """The program to start, once for each thread; or give `url`."""

    args: list[str] = Field(default_factory=list)
    """Arguments of the program."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """Environment variables for it; it gets few of Parley's own."""

    cwd: ConfigPath | None = None
    """Working folder of the program; Parley's own if not given."""

    url: str = ""
    """The address of a server that runs already."""

    transport: Literal["http", "sse"] = "http"
    """Protocol for a server with a `url`."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Headers of each request to it, such as Authorization."""

    timeout: float = Field(default=60, gt=0)
    """Seconds an answer may take, without those that people and models take for it."""

    resources: bool = False
    """Offer its resources: list_resources and read_resource are tools, too."""

    prompts: bool = False
    """Offer its prompts: list_prompts and get_prompt are tools, too."""

    sampling: bool | str = False
    """Let it ask a model: true for the agent's own, or a name in [models].

    The rule for the tool "NAME/sampling" decides on each request.
    """

    elicitation: bool = False
    """Let it ask the person in the thread, in the midst of a call."""

    pinned: bool = True
    """Hold its tools to the descriptions and arguments that they had when they were first met.

    A tool that has changed is asked for until somebody accepts what it has become. False for a
    server that rewrites its texts.
    """

    roots: list[ConfigPath] = Field(default_factory=list)
    """Folders for it to work on; this gives and takes no rights."""

    @override
    async def build(self, maker: Maker, *, name: str = "mcp", model: str = "", **_: Any) -> Any:
        """Its tools as a workbench for an agent with this model."""
        from teams.tools.mcp import McpWorkbench  # few need it

        given: dict[str, Any] = {"prompts": self.prompts, "resources": self.resources}
        return McpWorkbench(self.params(), host=self._host(maker, model), name=name, **given)

    def params(self) -> McpServerParams:
        """The way to reach or start it."""
        from teams.tools import mcp  # few need it

        if self.command:
            return mcp.StdioServerParams(
                command=self.command,
                args=self.args,
                env=_revealed(self.env),
                cwd=self.cwd,
                read_timeout_seconds=self.timeout,
            )
        is_sse = self.transport == "sse"
        kind = mcp.SseServerParams if is_sse else mcp.StreamableHttpServerParams
        return kind(url=self.url, headers=_revealed(self.headers), sse_read_timeout=self.timeout)

    def _host(self, maker: Maker, model: str) -> McpSessionHost | None:
        """Whoever answers its own requests; None for nobody."""
        from teams.tools import mcp  # few need it

        if not (self.sampling or self.elicitation or self.roots):
            return None
        asked = self.sampling if isinstance(self.sampling, str) else model
        return mcp.McpSessionHost(
            mcp.ChatCompletionClientSampler(maker.client(asked)) if self.sampling else None,
            mcp.StaticRootsProvider(self.roots) if self.roots else None,
            mcp.RunElicitor() if self.elicitation else None,
        )

    @model_validator(mode="after")
    def _check_one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            found = "a command and a url" if self.url else "neither a command nor a url"
            said = f"found {found}, expected one of the two"
            raise setting_error("command", said, given=("command", "url"))
        return self


class McpConfig(McpServer):
    """An MCP server of one agent alone."""

    name: str = Field(default="mcp", pattern=NAME)
    """Name in the tool policy: "NAME/TOOL" is the rule for a tool of this server."""


class McpReference(Item):
    """An MCP server of [mcp].

    `"NAME"` is short for its `server`.
    """

    server: str
    """Name of the server in [mcp], which is also its name in the tool policy."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        return await maker.make(self, **more)


def _revealed(secrets: Mapping[str, SecretStr]) -> dict[str, Any]:
    return {name: secret.get_secret_value() for name, secret in secrets.items()}


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "server" if "server" in cast("Mapping[str, Any]", value) else "command"
    return "server" if isinstance(value, McpReference) else "command"


McpEntry = Annotated[
    Annotated[
        Annotated[McpReference, Tag("server")] | Annotated[McpConfig, Tag("command")],
        Discriminator(_kind),
    ],
    shorthand("server"),
]
"""A server for an agent: a name, or a table."""


def server_name(entry: McpReference | McpConfig) -> str:
    """The server's name in the tool policy."""
    return entry.server if isinstance(entry, McpReference) else entry.name
