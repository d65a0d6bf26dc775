"""Write the generated docs: settings, help texts, man page, wings.

`python docs/generate.py` brings them up to date; a test fails while they are not.
"""

import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from click.testing import CliRunner
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from adapters import discord, slack
from docs import man, wings
from gateway.cli import main
from gateway.config.agent_parts import TeamMemoryConfig
from gateway.config.agents import AssistantConfig
from gateway.config.allowances import (
    AllowedAddress,
    AllowedCommand,
    AllowedContainer,
    AllowedExecutor,
    AllowedHosted,
    AllowedMount,
    AllowedVariable,
)
from gateway.config.budgets import Budget, Price
from gateway.config.conversable import (
    AssistantPreset,
    ChatConfig,
    ConversableTeam,
    NestedChatsConfig,
    PlainPreset,
    QueuedChatConfig,
    UserProxyPreset,
)
from gateway.config.descriptions import described_fields
from gateway.config.knowledge import EmbeddingsConfig, KnowledgeConfig
from gateway.config.mcp import McpConfig, McpReference, McpServer
from gateway.config.models import MODELS
from gateway.config.policies import HttpPolicy, Policies, ToolCase, ToolPolicies, ToolPolicy
from gateway.config.root import Config
from gateway.config.routes import Route, RouteLimits
from gateway.config.settings import (
    Attachments,
    BackupConfig,
    HealthConfig,
    LimitsConfig,
    LoggingConfig,
    NetworkConfig,
    StoreConfig,
    TerminalConfig,
)
from gateway.config.teams import (
    ComponentTeam,
    DemoTeam,
    FactoryTeam,
    GraphEdge,
    GraphNode,
    GraphTeam,
    GroupTeam,
    MagenticOneTeam,
    RoundRobinTeam,
    SelectorTeam,
    SwarmTeam,
)
from gateway.config.tracing import TracingConfig
from teams.agents.kinds import HandoffConfig, SourceFilter
from teams.kinds import KindsOf, ModelInfoConfig, ModelKind, RetryConfig, Section
from teams.memory.kinds import ListMemoryKind, MemoryEntry, OwnMemoryKind, StoreKind
from teams.model_context.kinds import (
    AutoKind,
    BufferedKind,
    HeadAndTailKind,
    InitialMessage,
    OwnContextKind,
    TokenLimitedKind,
    UnboundedKind,
)

NONE = type(None)
DOCS = Path(__file__).resolve().parent

AGENTS = KindsOf("agent").members
TOOLS = KindsOf("tool").members
EXECUTORS = KindsOf("executor").members
MEMORIES = KindsOf("memory").members

TABLES: list[tuple[str, list[type[Section]]]] = [
    ("At the top of the file", [Config]),
    ("`[models.NAME]`", [ModelKind, *MODELS.members.values()]),
    ("`[models.NAME.model_info]`", [ModelInfoConfig]),
    ("`[models.NAME.retry]`", [RetryConfig]),
    ("`[teams.NAME]`, in TOML: all types", [GroupTeam]),
    ("`[teams.NAME.memory]`", [TeamMemoryConfig]),
    ('`type = "round_robin"` and `"swarm"`', [RoundRobinTeam, SwarmTeam]),
    ('`type = "selector"`', [SelectorTeam]),
    ('`type = "graph"`', [GraphTeam]),
    ("An entry of `edges`", [GraphEdge]),
    ("An entry of `nodes`", [GraphNode]),
    ('`type = "magentic_one"`', [MagenticOneTeam]),
    ('`type = "conversable"`', [ConversableTeam]),
    ("An entry of its `chats`", [QueuedChatConfig]),
    (
        '`[teams.NAME.agents.AGENT]` in a team of `type = "conversable"`',
        [AssistantPreset, UserProxyPreset, PlainPreset],
    ),
    ("An entry of `nested`", [NestedChatsConfig]),
    ("An entry of its `chats`: a nested chat", [ChatConfig]),
    ("`[teams.NAME.agents.AGENT]`: an assistant", [AssistantConfig]),
    ("An agent of OpenAI's Responses API: `openai`", [AGENTS["openai"]]),
    ("An agent of Azure AI: `azure_ai`", [AGENTS["azure_ai"]]),
    ("A human: `user_proxy`", [AGENTS["user_proxy"]]),
    ("A team as an agent: `society_of_mind`", [AGENTS["society_of_mind"]]),
    ("An agent with a browser: `web_surfer`", [AGENTS["web_surfer"]]),
    ("An agent that is not shown all: `message_filter`", [AGENTS["message_filter"]]),
    ("An entry of `per_source`", [SourceFilter]),
    ("An agent that runs code: `code_executor`", [AGENTS["code_executor"]]),
    ("An agent for files: `file_surfer`", [AGENTS["file_surfer"]]),
    ("An agent for videos: `video_surfer`", [AGENTS["video_surfer"]]),
    ("A programmer: `coder`", [AGENTS["coder"]]),
    ("`executor`: a container", [EXECUTORS["docker"]]),
    ("`executor`: this machine", [EXECUTORS["local"]]),
    ("`executor`: a notebook's kernel", [EXECUTORS["jupyter"], EXECUTORS["docker_jupyter"]]),
    ("`executor`: of your own", [EXECUTORS["path"]]),
    ("An entry of `tools`: a function", [TOOLS["path"]]),
    ("An entry of `tools`: an agent", [TOOLS["agent"]]),
    ("An entry of `tools`: a team", [TOOLS["team"]]),
    ("An entry of `tools`: code", [TOOLS["executor"]]),
    ("An entry of `tools`: a web service", [TOOLS["http"]]),
    ("An entry of `tools`: Azure AI Search", [TOOLS["azure_search"]]),
    ("An entry of `tools`: GraphRAG", [TOOLS["graphrag"]]),
    ("An entry of `tools`: LangChain", [TOOLS["langchain"]]),
    ("`[mcp.NAME]`", [McpServer]),
    ("An entry of `mcp`", [McpReference, McpConfig]),
    ("`[knowledge.NAME]`", [KnowledgeConfig]),
    ("`[knowledge.NAME.embeddings]`", [EmbeddingsConfig]),
    ("An entry of `handoffs`", [HandoffConfig]),
    ("An entry of `memory`: contents", [ListMemoryKind]),
    ("An entry of `contents`", [MemoryEntry]),
    ("An entry of `memory`: your own", [OwnMemoryKind]),
    (
        "An entry of `memory`: a store",
        [StoreKind, *(MEMORIES[each] for each in ("chromadb", "redis", "mem0"))],
    ),
    ("An entry of `memory`: task-centric", [MEMORIES["task_centric"]]),
    (
        "`model_context`",
        [
            AutoKind,
            UnboundedKind,
            BufferedKind,
            HeadAndTailKind,
            TokenLimitedKind,
            OwnContextKind,
        ],
    ),
    ("An entry of `initial_messages`", [InitialMessage]),
    ("`[teams.NAME]`, from a component file", [ComponentTeam]),
    ("An entry of `allow`: a server", [AllowedAddress, AllowedVariable]),
    (
        "An entry of `allow`: a program, a folder or an executor",
        [AllowedCommand, AllowedMount, AllowedExecutor, AllowedContainer, AllowedHosted],
    ),
    ("`[teams.NAME]`, from Python", [FactoryTeam]),
    ("`[teams.NAME]`, the demo", [DemoTeam]),
    ("`[[routes]]`", [Route]),
    ("`limits` of a route", [RouteLimits]),
    ("`[policies]`", [Policies]),
    ("`[policies.http]`", [HttpPolicy]),
    ("`[policies.tools]`", [ToolPolicies]),
    ("`[policies.tools.TOOL]`", [ToolPolicy]),
    ("An entry of a tool's `cases`", [ToolCase]),
    ("`[limits]`", [LimitsConfig]),
    ("`[[budgets]]`", [Budget]),
    ('`[prices]`: `"MODEL" = { ... }`', [Price]),
    ("`[attachments]`", [Attachments]),
    ("`[adapters.slack]`", [slack.Config]),
    ("`[adapters.discord]`", [discord.Config]),
    ("`[store]`", [StoreConfig]),
    ("`[backup]`", [BackupConfig]),
    ("`[terminal]`", [TerminalConfig]),
    ("`[health]`", [HealthConfig]),
    ("`[network]`", [NetworkConfig]),
    ("`[logging]`", [LoggingConfig]),
    ("`[tracing]`", [TracingConfig]),
]
SUBTABLES = {
    *("models", "teams", "mcp", "adapters", "routes", "policies", "limits", "store", "terminal"),
    *("health", "network", "logging", "tools", "http", "budgets", "prices", "attachments"),
    *("knowledge", "backup", "tracing"),
}


def reference() -> str:
    """Every setting, as Markdown."""
    return "\n".join(line for title, kinds in TABLES for line in _table(title, kinds))


def _table(title: str, kinds: list[type[Section]]) -> Iterator[str]:
    yield f"### {title}\n"
    for kind in kinds:
        yield f"{_name(kind)}{_text(kind.__doc__)}\n"
    yield "| key | value | default | |\n|---|---|---|---|"
    rows: dict[str, list[FieldInfo]] = {}
    for kind in kinds:
        inherited = described_fields(GroupTeam) if kind is not GroupTeam else {}
        for name, field in described_fields(kind).items():
            if issubclass(kind, GroupTeam) and _same(inherited.get(name), field):
                continue
            if any(kind in each.__bases__ and name in each.__annotations__ for each in kinds):
                continue  # they say it themselves
            if not (kind in (Config, Policies) and name in SUBTABLES):
                rows.setdefault(field.alias or name, []).append(field)
    for name, fields in sorted(rows.items(), key=lambda row: row[0] != "type"):
        value = " or ".join(dict.fromkeys(_value(field.annotation) for field in fields))
        yield f"| `{name}` | {value} | {_default(fields[0])} | {_text(fields[0].description)} |"
    yield ""


def _name(kind: type[Section]) -> str:
    """The provider of a kind of model, before its text."""
    named = issubclass(kind, ModelKind) and kind.kind.name
    return f'`"{named}"`: ' if named else ""


def _same(inherited: FieldInfo | None, field: FieldInfo) -> bool:
    return inherited is not None and inherited.default == field.default


def _text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _value(kind: Any) -> str:
    """The name of this type's values."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _value(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_value(each) for each in arguments if each is not NONE))
    if origin is Literal:
        return " or ".join(f"`{each!r}`".replace("'", '"') for each in arguments)
    if origin in (list, dict):
        return f"{'list' if origin is list else 'table'} of {_value(arguments[-1])}"
    if isinstance(kind, type) and issubclass(kind, Section):
        return "table"
    names = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return {**names, SecretStr: "secret", Path: "path", Any: "anything"}[kind]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.get_default(call_default_factory=True):
        case None | "":
            return ""
        case bool() as value:
            return f"`{str(value).lower()}`"
        case str() as value:
            return f'`"{value}"`'
        case list() | dict() | Section():
            return ""
        case value:
            return f"`{value}`"


def help_texts() -> str:
    """The help of every command, as Markdown."""
    return "\n".join(_help([], main))


def _help(path: list[str], command: click.Command) -> Iterator[str]:
    shown = (
        CliRunner().invoke(main, [*path, "--help"], prog_name="parley", terminal_width=80).stdout
    )
    yield f"### `{' '.join(['parley', *path])}`\n\n```\n{shown.rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _help([*path, name], inner)


def updated(document: str, name: str, text: str) -> str:
    """The document with the text between its two marks."""
    pattern = rf"(<!-- {name}: .*? -->\n).*(<!-- end of {name} -->)"
    found, count = re.subn(pattern, lambda m: f"{m[1]}\n{text}\n{m[2]}", document, flags=re.DOTALL)
    assert count == 1, name
    return found


PICTURES = DOCS.parent / "tests/adapters/terminal/__snapshots__/test_snapshots"
"""Pictures that tests compare the terminal with."""
TAKEN = {
    "wide-chat.svg": "test_a_wide_chat_looks_as_before",
    "change.svg": "test_the_chat_looks_as_before[change-80x24]",
    "teams.svg": "test_the_teams_to_choose_from_look_as_before",
    "found.svg": "test_the_chat_looks_as_before[finding-80x24]",
}
"""Pictures in the docs, and the tests that they come from."""


def pages() -> dict[Path, str]:
    """The pages as they should be."""
    generated = {
        page: updated(page.read_text(encoding="utf-8"), name, text)
        for page, name, text in [
            (DOCS / "configuration.md", "reference", reference()),
            (DOCS / "commands.md", "help", help_texts()),
            (DOCS / "architecture.md", "map", wings.page()),
        ]
    }
    pictures = {
        DOCS / "images" / name: (PICTURES / f"{test}.svg").read_text(encoding="utf-8")
        for name, test in TAKEN.items()
    }
    return {**generated, **pictures, DOCS / "parley.1": man.page()}


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
