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
from adapters.terminal.commands import Commands
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
from gateway.config.faces import FaceConfig
from gateway.config.knowledge import EmbeddingsConfig, KnowledgeConfig
from gateway.config.mcp import McpConfig, McpReference, McpServer
from gateway.config.models import MODELS
from gateway.config.policies import HttpPolicy, Policies, ToolCase, ToolPolicies, ToolPolicy
from gateway.config.root import Config
from gateway.config.routes import Reset, Route, RouteLimits
from gateway.config.settings import (
    Attachments,
    BackupConfig,
    HealthConfig,
    LimitsConfig,
    LoggingConfig,
    NetworkConfig,
    StoreConfig,
    TerminalConfig,
    WebConfig,
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

TABLES: dict[tuple[str, str], list[tuple[str, list[type[Section]]]]] = {
    ("top", "Top of the file"): [
        ("At the top of the file", [Config]),
    ],
    ("models", "Models"): [
        ("`[models.NAME]`", [ModelKind, *MODELS.members.values()]),
        ("`[models.NAME.model_info]`", [ModelInfoConfig]),
        ("`[models.NAME.retry]`", [RetryConfig]),
    ],
    ("teams", "Teams in TOML"): [
        ("`[teams.NAME]`, in TOML: all types", [GroupTeam]),
        ("`[teams.NAME.memory]`", [TeamMemoryConfig]),
        ('`type = "round_robin"` and `"swarm"`', [RoundRobinTeam, SwarmTeam]),
        ('`type = "selector"`', [SelectorTeam]),
        ('`type = "graph"`', [GraphTeam]),
        ("An entry of `edges`", [GraphEdge]),
        ("An entry of `nodes`", [GraphNode]),
        ('`type = "magentic_one"`', [MagenticOneTeam]),
    ],
    ("conversable", "Two-agent chats"): [
        ('`type = "conversable"`', [ConversableTeam]),
        ("An entry of its `chats`", [QueuedChatConfig]),
        (
            '`[teams.NAME.agents.AGENT]` in a team of `type = "conversable"`',
            [AssistantPreset, UserProxyPreset, PlainPreset],
        ),
        ("An entry of `nested`", [NestedChatsConfig]),
        ("An entry of its `chats`: a nested chat", [ChatConfig]),
    ],
    ("agents", "Agents"): [
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
        ("An entry of `handoffs`", [HandoffConfig]),
    ],
    ("executors", "Executors of code"): [
        ("`executor`: a container", [EXECUTORS["docker"]]),
        ("`executor`: this machine", [EXECUTORS["local"]]),
        ("`executor`: a notebook's kernel", [EXECUTORS["jupyter"], EXECUTORS["docker_jupyter"]]),
        ("`executor`: of your own", [EXECUTORS["path"]]),
    ],
    ("tools", "Tools"): [
        ("An entry of `tools`: a function", [TOOLS["path"]]),
        ("An entry of `tools`: an agent", [TOOLS["agent"]]),
        ("An entry of `tools`: a team", [TOOLS["team"]]),
        ("An entry of `tools`: code", [TOOLS["executor"]]),
        ("An entry of `tools`: a web service", [TOOLS["http"]]),
        ("An entry of `tools`: Azure AI Search", [TOOLS["azure_search"]]),
        ("An entry of `tools`: GraphRAG", [TOOLS["graphrag"]]),
        ("An entry of `tools`: LangChain", [TOOLS["langchain"]]),
    ],
    ("mcp", "Servers of tools"): [
        ("`[mcp.NAME]`", [McpServer]),
        ("An entry of `mcp`", [McpReference, McpConfig]),
    ],
    ("knowledge", "Knowledge"): [
        ("`[knowledge.NAME]`", [KnowledgeConfig]),
        ("`[knowledge.NAME.embeddings]`", [EmbeddingsConfig]),
    ],
    ("memory", "Memory"): [
        ("An entry of `memory`: contents", [ListMemoryKind]),
        ("An entry of `contents`", [MemoryEntry]),
        ("An entry of `memory`: your own", [OwnMemoryKind]),
        (
            "An entry of `memory`: a store",
            [StoreKind, *(MEMORIES[each] for each in ("chromadb", "redis", "mem0"))],
        ),
        ("An entry of `memory`: task-centric", [MEMORIES["task_centric"]]),
    ],
    ("model-context", "Model contexts"): [
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
    ],
    ("component-files", "Component files"): [
        ("`[teams.NAME]`, from a component file", [ComponentTeam]),
        ("An entry of `allow`: a server", [AllowedAddress, AllowedVariable]),
        (
            "An entry of `allow`: a program, a folder or an executor",
            [AllowedCommand, AllowedMount, AllowedExecutor, AllowedContainer, AllowedHosted],
        ),
    ],
    ("other-teams", "Teams from Python, and the demo"): [
        ("`[teams.NAME]`, from Python", [FactoryTeam]),
        ("`[teams.NAME]`, the demo", [DemoTeam]),
    ],
    ("faces", "Faces"): [
        ("`[faces.TEAM.AGENT]`", [FaceConfig]),
    ],
    ("routes", "Routes"): [
        ("`[[routes]]`", [Route]),
        ("`limits` of a route", [RouteLimits]),
        ("`reset` of a route", [Reset]),
    ],
    ("policies", "Policies"): [
        ("`[policies]`", [Policies]),
        ("`[policies.http]`", [HttpPolicy]),
        ("`[policies.tools]`", [ToolPolicies]),
        ("`[policies.tools.TOOL]`", [ToolPolicy]),
        ("An entry of a tool's `cases`", [ToolCase]),
    ],
    ("limits", "Limits and files"): [
        ("`[limits]`", [LimitsConfig]),
        ("`[attachments]`", [Attachments]),
    ],
    ("budgets", "Budgets and prices"): [
        ("`[[budgets]]`", [Budget]),
        ('`[prices]`: `"MODEL" = { ... }`', [Price]),
    ],
    ("slack", "Slack"): [
        ("`[adapters.slack]`", [slack.Config]),
    ],
    ("discord", "Discord"): [
        ("`[adapters.discord]`", [discord.Config]),
    ],
    ("store", "Store and backups"): [
        ("`[store]`", [StoreConfig]),
        ("`[backup]`", [BackupConfig]),
    ],
    ("process", "Terminal, network and logs"): [
        ("`[terminal]`", [TerminalConfig]),
        ("`[web]`", [WebConfig]),
        ("`[health]`", [HealthConfig]),
        ("`[network]`", [NetworkConfig]),
        ("`[logging]`", [LoggingConfig]),
        ("`[tracing]`", [TracingConfig]),
    ],
}
"""Tables of each page, by its file's name and its title."""
SUBTABLES = {
    *("models", "teams", "mcp", "adapters", "routes", "policies", "limits", "store", "terminal"),
    *("health", "network", "logging", "tools", "http", "budgets", "prices", "attachments"),
    *("knowledge", "backup", "tracing", "faces"),
}


def reference() -> dict[Path, str]:
    """Every setting: pages of tables, as Markdown."""
    return {
        DOCS / "configuration" / f"{stem}.md": "\n".join(
            [
                f"# {title}\n\n[Configuration](../configuration.md#reference) lists all tables.\n",
                *(line for name, kinds in tables for line in _table(name, kinds)),
            ]
        )
        for (stem, title), tables in TABLES.items()
    }


def table_index() -> str:
    """The pages of tables, as a table of links."""
    rows = (
        f"| [{title}](configuration/{stem}.md) | {' · '.join(name for name, _ in tables)} |\n"
        for (stem, title), tables in TABLES.items()
    )
    return "| page | tables |\n|---|---|\n" + "".join(rows)


def _table(title: str, kinds: list[type[Section]]) -> Iterator[str]:
    yield f"## {title}\n"
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


def help_texts() -> dict[Path, str]:
    """The help of every command: a page for each, as Markdown."""
    commands = sorted(main.commands.items())
    pages = {"parley": [_help([])], **{name: [*_helps([name], each)] for name, each in commands}}
    back = "[Commands](../commands.md#help-texts) lists all commands.\n\n"
    return {
        DOCS / "commands" / f"{name}.md": "\n".join(texts).replace("\n\n", f"\n\n{back}", 1)
        for name, texts in pages.items()
    }


def help_index() -> str:
    """Links to the pages of commands."""
    links = (f"- [`parley {name}`](commands/{name}.md)\n" for name in sorted(main.commands))
    return "- [`parley`](commands/parley.md)\n" + "".join(links)


def keys_table() -> str:
    """The keys of the terminal's commands, as a table."""
    rows = (f"| {keys} | `{name}` | {does} |\n" for name, keys, does in Commands().by_key())
    return "| key | command | does |\n| --- | --- | --- |\n" + "".join(rows)


def _helps(path: list[str], command: click.Command) -> Iterator[str]:
    yield _help(path)
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _helps([*path, name], inner)


def _help(path: list[str]) -> str:
    shown = (
        CliRunner()
        .invoke(main, [*path, "--help"], prog_name="parley", terminal_width=80)
        .stdout.rstrip()
    )
    return f"{'#' * max(1, len(path))} `{' '.join(['parley', *path])}`\n\n```\n{shown}\n```\n"


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
            (DOCS / "configuration.md", "reference", table_index()),
            (DOCS / "commands.md", "help", help_index()),
            (DOCS / "terminal.md", "keys", keys_table()),
            (DOCS / "architecture.md", "map", wings.page()),
        ]
    }
    pictures = {
        DOCS / "images" / name: (PICTURES / f"{test}.svg").read_text(encoding="utf-8")
        for name, test in TAKEN.items()
    }
    return {**generated, **reference(), **help_texts(), **pictures, DOCS / "parley.1": man.page()}


if __name__ == "__main__":
    for page, text in pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
