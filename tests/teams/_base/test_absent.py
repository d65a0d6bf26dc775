"""Imports of AutoGen's other modules fail with a hint."""

import pickle
from importlib import import_module

import pytest

from teams._base.absent import MODULES
from teams.core import ComponentLoader

WAYS = ("import teams.models.anthropic", "from teams.models import anthropic")


@pytest.mark.parametrize("way", [*WAYS, "from teams.models.anthropic import BedrockInfo"])
def test_a_module_says_what_to_use_instead_however_it_is_imported(way: str):
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'teams.models.anthropic'. Use"):
        exec(way, {})


def test_the_first_module_that_is_not_there_says_it_for_those_inside():
    with pytest.raises(ModuleNotFoundError, match=r"'teams.runtimes'. Use instead: one process"):
        import_module("teams.runtimes.grpc")


def test_a_module_that_nobody_has_is_missed_in_python_s_own_words():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'teams.nowhere'$") as missed:
        import_module("teams.nowhere")
    assert missed.value.name == "teams.nowhere"


def test_a_name_says_what_to_use_instead():
    with pytest.raises(ImportError, match=r"'RoutedAgent' from 'teams.core'. Use instead"):
        exec("from teams.core import RoutedAgent", {})


@pytest.mark.parametrize("module", ["teams.core", "teams.logging", "teams.ui"])
def test_other_names_are_missed_as_ever(module: str):
    home = import_module(module)
    assert not hasattr(home, "Nobody")
    with pytest.raises(ImportError, match=f"^cannot import name 'Nobody' from '{module}' "):
        exec(f"from {module} import Nobody", {})
    assert pickle.loads(pickle.dumps(getattr(home, home.__all__[-1])))


@pytest.mark.parametrize(
    ("provider", "instead"),
    [
        (
            "autogen_ext.models.anthropic.AnthropicChatCompletionClient",
            "OpenAIChatCompletionClient",
        ),
        ("autogen_ext.memory.redis.redis_memory.RedisMemory", "ListMemory"),
        ("autogen_ext.teams.magentic_one.MagenticOne", "MagenticOneGroupChat"),
    ],
)
def test_a_component_says_what_to_use_instead(provider: str, instead: str):
    with pytest.raises(ValueError, match=f"^'{provider}' is not there. Use instead: {instead}"):
        ComponentLoader.load_component({"provider": provider, "config": {}}, object)


@pytest.mark.parametrize("provider", ["my_own.Client", "autogen_ext.models.anthropical.Client"])
def test_a_component_of_somebody_else_is_unknown_as_ever(provider: str):
    with pytest.raises(ValueError, match=f"^Unknown component provider '{provider}'"):
        ComponentLoader.load_component({"provider": provider, "config": {}}, object)


def test_the_list_holds_only_what_is_not_there():
    for module in MODULES:
        with pytest.raises(ModuleNotFoundError, match=f"'{module}'. Use instead: "):
            import_module(module)
