"""Components are dumped to JSON and loaded, through the providers' registry."""

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ValidationError

from teams._components.providers import is_foreign, known_providers, resolve_provider
from teams.core import (
    Component,
    ComponentBase,
    ComponentLoader,
    ComponentModel,
    InMemoryStore,
    is_component_class,
    is_component_instance,
    trust_component_prefix,
)
from teams.memory import ListMemory, MemoryContent, MemoryMimeType
from teams.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from teams.tools import FunctionTool, StaticWorkbench, Workbench


class LeafConfig(BaseModel):
    word: str
    times: int | None = 1


class Leaf(ComponentBase[BaseModel], Component[LeafConfig]):
    """Says one word.

    And does nothing else.
    """

    component_type = "leaf"
    component_config_schema = LeafConfig

    def __init__(self, word: str, times: int | None = 1) -> None:
        self._word = word
        self._times = times


class TreeConfig(BaseModel):
    first: Annotated[ComponentModel, Leaf]
    spare: Annotated[ComponentModel, Leaf] | None = None
    rest: list[Annotated[ComponentModel, Leaf] | str] = []
    named: dict[str, ComponentModel] = {}


class Tree(ComponentBase[BaseModel], Component[TreeConfig]):
    component_type = "tree"
    component_config_schema = TreeConfig
    component_label = "A tree"
    component_description = "Has leaves."

    def __init__(
        self,
        first: Leaf,
        spare: Leaf | None = None,
        rest: list[Leaf | str] | None = None,
        named: dict[str, Leaf] | None = None,
    ) -> None:
        self._first = first
        self._spare = spare
        self._rest = rest or []
        self._named = named or {}


class GreeterConfig(BaseModel):
    greeting: str


class Greeter(ComponentBase[BaseModel], Component[GreeterConfig]):
    """A custom agent as in the guide, with hooks and a provider."""

    component_type = "agent"
    component_config_schema = GreeterConfig
    component_provider_override = "tests.teams._components.test_component.Greeter"
    component_version = 2

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def _from_config(cls, config: GreeterConfig) -> "Greeter":
        return cls(text=config.greeting)

    def _to_config(self) -> GreeterConfig:
        return GreeterConfig(greeting=self.text)

    @classmethod
    def _from_config_past_version(cls, config: dict[str, Any], version: int) -> "Greeter":
        if version == 1:
            return cls(text=config["hello"])
        return super()._from_config_past_version(config, version)


class Forgetful(ComponentBase[BaseModel], Component[GreeterConfig]):
    component_type = "agent"
    component_config_schema = GreeterConfig

    def __init__(self, greeting: str) -> None:
        pass


class Undeclared(ComponentBase[BaseModel]):
    component_type = "agent"


class LoudGreeter(Greeter):
    pass


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust this module, as an operator would."""
    monkeypatch.setenv("PARLEY_TRUSTED_PROVIDERS", f"somewhere.else, {__name__}.")


def through_json(model: ComponentModel) -> dict[str, Any]:
    return json.loads(model.model_dump_json())


def test_a_component_without_hooks_dumps_its_constructor_arguments():
    assert through_json(Leaf("hello", times=3).dump_component()) == {
        "provider": f"{__name__}.Leaf",
        "component_type": "leaf",
        "version": 1,
        "component_version": 1,
        "description": "Says one word.",
        "label": "Leaf",
        "config": {"word": "hello", "times": 3},
    }


@pytest.mark.usefixtures("trusted")
def test_nested_components_round_trip_alone_in_lists_and_in_mappings():
    tree = Tree(Leaf("a"), rest=[Leaf("b"), "plain", Leaf("c", times=2)], named={"d": Leaf("d")})
    dumped = through_json(tree.dump_component())
    assert dumped["label"] == "A tree"
    assert dumped["description"] == "Has leaves."
    assert "spare" not in dumped["config"]
    loaded = ComponentLoader.load_component(dumped, Tree)
    assert through_json(loaded.dump_component()) == dumped


@pytest.mark.usefixtures("trusted")
def test_none_is_dumped_where_leaving_it_out_would_mean_something_else():
    loaded = Leaf.load_component(through_json(Leaf("a", times=None).dump_component()))
    assert loaded.dump_component().config == {"word": "a", "times": None}


def test_hooks_as_in_the_guide_are_used_and_the_class_at_hand_needs_no_trust():
    config = Greeter("hello").dump_component()
    assert config.provider == "tests.teams._components.test_component.Greeter"
    assert Greeter.load_component(config).text == "hello"


def test_a_subclass_is_not_dumped_under_the_name_of_its_parent():
    assert LoudGreeter("hello").dump_component().provider == f"{__name__}.LoudGreeter"


def test_an_old_version_is_converted_and_an_unknown_one_refused():
    config = {"provider": Greeter.component_provider_override, "config": {"hello": "old"}}
    assert Greeter.load_component({**config, "component_version": 1}).text == "old"
    with pytest.raises(NotImplementedError, match="version 0"):
        Greeter.load_component({**config, "component_version": 0})
    with pytest.raises(NotImplementedError, match="version 3; this is 2"):
        Greeter.load_component({**config, "component_version": 3})
    assert Greeter.load_component({**config, "config": {"greeting": "x"}}).text == "x"


def test_what_keeps_no_attribute_for_a_field_says_so():
    with pytest.raises(NotImplementedError, match="keeps no '_greeting'"):
        Forgetful("hello").dump_component()


def test_a_local_class_refuses_to_dump():
    class Local(Greeter):
        pass

    with pytest.raises(TypeError, match="Local"):
        Local("hello").dump_component()


def test_a_component_class_without_a_config_schema_is_warned_about():
    with pytest.warns(UserWarning, match=r"Forgotten has no .* component_config_schema"):

        class Forgotten(ComponentBase[BaseModel], Component[LeafConfig]):
            component_type = "leaf"

    assert not is_component_class(Forgotten)

    class Heir(Leaf):  # has its parent's
        pass

    assert Heir.component_config_schema is LeafConfig


def test_version_of_a_dump_is_that_of_the_component():
    class Later(Leaf):
        component_version = 3
        component_provider_override = "later"

    assert Leaf("hello").dump_component().version == 1
    dumped = Later("hello").dump_component()
    assert (dumped.version, dumped.component_version) == (3, 3)


def test_what_has_no_config_schema_is_no_component_and_refuses_to_dump():
    assert is_component_instance(InMemoryStore[str]())
    assert is_component_class(Greeter)
    assert not is_component_class(Workbench)
    assert not is_component_instance(Undeclared())
    with pytest.raises(TypeError, match="component_config_schema"):
        Undeclared().dump_component()


@pytest.mark.parametrize(
    "provider",
    [
        "os.system",
        "builtins.eval",
        "teams._components.providers.import_attribute",
        "teams.tools.in_daemon_worker",
        "autogen_ext.models.openai.os",
        "tests.teams._components.test_component.Leaf",
        "Leaf",
        "",
    ],
)
def test_unknown_providers_are_refused_and_the_setting_is_named(provider: str):
    with pytest.raises(ValueError, match="PARLEY_TRUSTED_PROVIDERS"):
        ComponentLoader.load_component({"provider": provider, "config": {"word": "a"}})


def test_trust_ends_at_whole_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PARLEY_TRUSTED_PROVIDERS", f"{__name__[:-1]}, , .")
    with pytest.raises(ValueError, match="trust its package"):
        ComponentLoader.load_component({"provider": f"{__name__}.Leaf", "config": {"word": "a"}})


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("provider", "error"),
    [
        (f"{__name__}.json", TypeError),
        (f"{__name__}.LeafConfig", TypeError),
        (f"{__name__}.through_json", TypeError),
        (f"{__name__}.Missing", ValueError),
        ("somewhere.else.Thing", ValueError),
    ],
    ids=["module", "other class", "function", "missing", "missing module"],
)
def test_a_trusted_name_that_is_no_component_is_an_error(provider: str, error: type[Exception]):
    with pytest.raises(error, match=provider.rpartition(".")[2]):
        ComponentLoader.load_component({"provider": provider, "config": {}})


def test_a_trusted_package_is_imported_when_a_config_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "parley_trusted_example.py").write_text(
        f"from {Greeter.__module__} import Greeter as Base\nclass Mine(Base): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    config = {"provider": "parley_trusted_example.Mine", "config": {"greeting": "hi"}}
    with pytest.raises(ValueError, match="trust_component_prefix"):
        ComponentLoader.load_component(config)
    trust_component_prefix("parley_trusted_example.")
    loaded = ComponentLoader.load_component(config)
    assert type(loaded).__name__ == "Mine"


@pytest.mark.parametrize("prefix", ["", " ", "."])
def test_trusting_everything_is_refused(prefix: str):
    with pytest.raises(ValueError, match="names a package"):
        trust_component_prefix(prefix)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("config", "where"),
    [
        ({}, "provider"),
        ({"provider": f"{__name__}.Leaf"}, "config"),
        ({"provider": f"{__name__}.Leaf", "config": []}, "config"),
        ({"provider": f"{__name__}.Leaf", "config": {}}, "word"),
        ({"provider": f"{__name__}.Leaf", "config": {"word": "a", "times": "many"}}, "times"),
        ({"provider": f"{__name__}.Tree", "config": {"first": "leaf"}}, "first"),
    ],
)
def test_a_malformed_config_says_where(config: dict[str, Any], where: str):
    with pytest.raises(ValidationError) as caught:
        ComponentLoader.load_component(config)
    assert caught.value.errors()[0]["loc"][0] == where


@pytest.mark.usefixtures("trusted")
def test_another_kind_of_component_than_expected_is_an_error():
    leaf = Leaf("a").dump_component()
    with pytest.raises(TypeError, match="Workbench"):
        Workbench.load_component(leaf)
    with pytest.raises(TypeError, match="ListMemory"):
        ComponentLoader.load_component(leaf, ListMemory)
    store = InMemoryStore[str]().dump_component().model_dump()
    for nested in (
        {"first": store},
        {"first": leaf, "spare": store},
        {"first": leaf, "rest": [store]},
    ):
        with pytest.raises(TypeError, match="Expected a component of type Leaf"):
            ComponentLoader.load_component({"provider": f"{__name__}.Tree", "config": nested})


@pytest.mark.parametrize("provider", known_providers())
def test_every_provider_of_the_table_is_a_component_that_dumps_under_that_name(provider: str):
    found = resolve_provider(provider)
    assert is_component_class(found)
    assert provider.endswith(f".{found.__name__}")


def test_autogen_json_loads_unchanged():
    context = ComponentLoader.load_component(
        {
            "provider": "autogen_core.model_context.BufferedChatCompletionContext",
            "component_type": "chat_completion_context",
            "version": 1,
            "component_version": 7,  # counts AutoGen's changes, not ours
            "description": "...",
            "label": "BufferedChatCompletionContext",
            "config": {
                "buffer_size": 4,
                "initial_messages": [{"content": "hello", "source": "user", "type": "UserMessage"}],
            },
        }
    )
    assert isinstance(context, BufferedChatCompletionContext)
    assert context.dump_component().provider == "teams.model_context.BufferedChatCompletionContext"
    assert is_foreign("OpenAIChatCompletionClient")
    assert not is_foreign("teams.memory.ListMemory")


def test_a_list_memory_survives_json():
    memory = ListMemory(
        "facts", [MemoryContent(content="metric units", mime_type=MemoryMimeType.TEXT)]
    )
    dumped = json.loads(json.dumps(memory.dump_component().model_dump()))
    loaded = ListMemory.load_component(dumped)
    assert (loaded.name, loaded.content) == ("facts", memory.content)


def test_an_unbounded_context_keeps_its_initial_messages():
    config = UnboundedChatCompletionContext().dump_component()
    assert UnboundedChatCompletionContext.load_component(config).dump_component() == config


def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


def whisper(text: str) -> str:
    return text.lower()


FOREIGN_TOOL = {
    "provider": "autogen_core.tools.FunctionTool",
    "component_type": "tool",
    "version": 1,
    "component_version": 1,
    "description": "Create custom tools by wrapping standard Python functions.",
    "label": "FunctionTool",
    "config": {
        "source_code": "open('executed', 'w').close()\ndef shout(text: str) -> str: ...\n",
        "name": "shout",
        "description": "Shouts.",
        "global_imports": ["os", {"module": "typing", "imports": ["Any"]}],
        "has_cancellation_support": False,
    },
}


def test_source_code_in_a_config_is_never_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"tool_overrides=\{'shout': 'package.module:function'\}"):
        FunctionTool.load_component(FOREIGN_TOOL)
    with pytest.raises(ValueError, match="'shout'"):
        FunctionTool.load_component(FOREIGN_TOOL, tool_overrides={"other": "os:getcwd"})
    assert list(tmp_path.iterdir()) == []


async def test_a_function_of_ours_stands_in_for_source_code_at_any_depth():
    overrides = {"shout": f"{__name__}:whisper"}
    bench = {"provider": "autogen_core.tools.StaticWorkbench", "config": {"tools": [FOREIGN_TOOL]}}
    loaded = Workbench.load_component(bench, tool_overrides=overrides)
    (schema,) = await loaded.list_tools()
    assert (schema["name"], schema.get("description")) == ("shout", "Shouts.")
    assert (await loaded.call_tool("shout", {"text": "Hi"})).to_text() == "hi"
    with pytest.raises(ValueError, match="tool_overrides"):
        Workbench.load_component(bench)


@pytest.mark.parametrize("path", ["os", "os:missing", "no.such.module:function", ":x", "os:"])
def test_an_override_that_leads_nowhere_is_an_error(path: str):
    with pytest.raises(ValueError, match=r"package\.module:name|Cannot import"):
        FunctionTool.load_component(FOREIGN_TOOL, tool_overrides={"shout": path})


def test_a_function_tool_dumps_its_source_for_people_to_read():
    config = StaticWorkbench([FunctionTool(shout)]).dump_component().config
    tool = config["tools"][0]
    assert tool["provider"] == "teams.tools.FunctionTool"
    assert tool["config"]["description"] == "Say it loudly."
    assert tool["config"]["source_code"].startswith("def shout(text: str) -> str:\n")
    sealed: dict[str, Any] = {}
    exec("def sealed() -> int: return 1", sealed)
    assert FunctionTool(sealed["sealed"]).dump_component().config["source_code"] == ""
