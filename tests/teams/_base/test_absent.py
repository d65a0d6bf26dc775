"""Imports of AutoGen's other modules fail with a hint."""

import pickle
from doctest import DocTestFinder
from importlib import import_module
from importlib.util import find_spec
from inspect import getattr_static, getmembers
from pkgutil import walk_packages

import pytest

import teams.core
from teams._base.absent import MODULES, NAMES
from teams.absent import instead_of
from teams.core import ComponentLoader

WAYS = ("import teams.models.llama_cpp", "from teams.models import llama_cpp")


@pytest.mark.parametrize(
    "way", [*WAYS, "from teams.models.llama_cpp import LlamaCppChatCompletionClient"]
)
def test_a_module_says_what_to_use_instead_however_it_is_imported(way: str):
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'teams.models.llama_cpp'. Use"):
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
    with pytest.raises(AttributeError, match=r"no attribute 'RoutedAgent'. Use instead"):
        _ = teams.core.RoutedAgent  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("module", NAMES)
def test_who_only_asks_for_a_name_is_told_that_it_is_not_there(module: str):
    home = import_module(module)
    for name in " ".join(NAMES[module].values()).split():
        assert not hasattr(home, name)
        assert getattr(home, name, None) is None
        assert getattr_static(home, name, None) is None


@pytest.mark.parametrize(
    ("way", "instead"),
    [
        ("from teams.conversable import initiate_group_chat", "initiate_chat with a Group"),
        ("from teams.conversable import OpenAILLMConfigEntry", "LLMConfig or a dict"),
        ("from teams.conversable import initiate_swarm_chat", "the team Swarm"),
        ("from teams.conversable import config_list_from_models", "a list of dicts"),
        ("from teams.conversable.agentchat.contrib.rag import Rag", "teams.conversable itself"),
        ("from teams.conversable.coding import MarkdownCodeExtractor", "teams.code_executors"),
        ("from teams.conversable.llm_config import LLMConfigEntry", "teams.conversable.LLMConfig"),
        ("from teams.conversable.function_utils import serialize_to_str", "register_function"),
        ("from teams.conversable.fast_depends import inject", "register_function"),
        ("from teams.conversable.import_utils import patch_object", "a function of your own"),
        ("from teams.conversable.version import __version__", "teams.__version__"),
    ],
)
def test_a_name_of_ag2_says_what_to_use_instead(way: str, instead: str):
    with pytest.raises(ImportError, match=f"Use instead: {instead}"):
        exec(way, {})


def test_no_name_is_both_there_and_absent():
    for module, advice in NAMES.items():
        absent = [name for names in advice.values() for name in names.split()]
        assert len(absent) == len(set(absent))
        assert not set(absent) & set(import_module(module).__all__)


@pytest.mark.parametrize("module", ["teams.core", "teams.logging", "teams.conversable"])
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
            "autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient",
            "OpenAIChatCompletionClient",
        ),
        ("autogen_ext.runtimes.grpc.GrpcWorkerAgentRuntime", "one process"),
    ],
)
def test_a_component_says_what_to_use_instead(provider: str, instead: str):
    with pytest.raises(ValueError, match=f"^'{provider}' is not there. Use instead: {instead}"):
        ComponentLoader.load_component({"provider": provider, "config": {}}, object)


@pytest.mark.parametrize("provider", ["my_own.Client", "autogen_ext.models.llama_cpps.Client"])
def test_a_component_of_somebody_else_is_unknown_as_ever(provider: str):
    with pytest.raises(ValueError, match=f"^Unknown component provider '{provider}'"):
        ComponentLoader.load_component({"provider": provider, "config": {}}, object)


@pytest.mark.parametrize("name", ["teams.models.llama_cpp", "teams.runtimes", "teams.nowhere"])
def test_who_only_asks_for_a_module_is_told_that_it_is_not_there(name: str):
    assert find_spec(name) is None
    with pytest.raises(ModuleNotFoundError):
        import_module(name)


def test_tools_that_look_around_meet_no_error():
    for found in walk_packages(teams.__path__, "teams.", onerror=pytest.fail):
        if not found.name.rpartition(".")[2].startswith("_"):
            module = import_module(found.name)
            for probed in ("__wrapped__", "pytest_plugins", "setUpModule", "__signature__"):
                assert not hasattr(module, probed)
            assert getmembers(module)
    assert [*DocTestFinder().find(teams.core)]
    with pytest.raises(pytest.skip.Exception, match="Use instead"):
        pytest.importorskip("teams.models.llama_cpp")


@pytest.mark.parametrize(
    ("dotted", "instead"),
    [
        ("autogen_core.RoutedAgent", "BaseChatAgent for an agent"),
        ("autogen_core.logging.MessageKind", "MessageEvent"),
        ("autogen_ext.code_executors.azure", "DockerJupyterCodeExecutor"),
        (
            "autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient",
            "OpenAIChatCompletionClient",
        ),
        ("autogen_ext.runtimes.grpc", "one process"),
        ("autogen_core.exceptions", "TeamError"),
    ],
)
def test_autogen_s_name_leads_to_its_replacement(dotted: str, instead: str):
    assert (instead_of(dotted) or "").startswith(instead)


@pytest.mark.parametrize("dotted", ["autogen_core.Image", "autogen_agentchat.agents", "os.path"])
def test_what_is_there_has_no_replacement(dotted: str):
    assert instead_of(dotted) is None


def test_the_list_holds_only_what_is_not_there():
    for module in MODULES:
        with pytest.raises(ModuleNotFoundError, match=f"'{module}'. Use instead: "):
            import_module(module)
