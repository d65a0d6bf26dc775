"""The entries of an llm_config, and config lists out of files."""

import json
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from teams.conversable import config_list_from_json, filter_config
from teams.conversable._oai_reply import ModelMixin


class Bare(ModelMixin):
    def __init__(self, llm_config: Any = None) -> None:
        self._begin_models(llm_config)


LIST = [
    {"model": "gpt-4o", "tags": ["fast", "cheap"]},
    {"model": "o3", "tags": ["deep"]},
    {"model": "gpt-4o", "api_type": "azure"},
]


def test_no_config_is_the_classes_default() -> None:
    agent = Bare()
    assert agent.llm_config is False
    assert agent.client is None

    class WithDefault(Bare):
        DEFAULT_CONFIG: ClassVar[Any] = {"model": "gpt-4o"}

    assert WithDefault().llm_config == {"model": "gpt-4o"}
    assert WithDefault(False).client is None


def test_a_config_is_copied_in_depth() -> None:
    given = {"config_list": [{"model": "gpt-4o"}]}
    agent = Bare(given)
    assert agent.llm_config == given
    assert agent.llm_config
    assert agent.llm_config["config_list"][0] is not given["config_list"][0]


@pytest.mark.parametrize(
    "config", [{}, {"config_list": []}, {"model": ""}, {"config_list": [{"model": ""}]}]
)
def test_a_config_without_a_model_is_refused(config: Any) -> None:
    with pytest.raises(ValueError, match="names no model"):
        Bare(config)


def test_a_config_that_cannot_be_copied_is_refused() -> None:
    with pytest.raises(TypeError, match="can't be copied"):
        Bare({"model": "gpt-4o", "http_client": threading.Lock()})


@pytest.mark.parametrize("config", ["gpt-4o", 3, True, [{"model": "gpt-4o"}]])
def test_a_config_of_another_type_is_refused(config: Any) -> None:
    with pytest.raises(AssertionError, match=r"^llm_config must be a dict or False or None\.$"):
        Bare(config)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown api_type 'abacus'"):
        Bare({"model": "gpt-4o", "api_type": "abacus"})


def test_filter_takes_accepted_values() -> None:
    assert filter_config(LIST, {"model": ["o3"]}) == [LIST[1]]
    assert filter_config(LIST, None) == LIST


def test_all_criteria_must_match() -> None:
    assert filter_config(LIST, {"model": ["gpt-4o"], "api_type": ["azure"]}) == [LIST[2]]


def test_a_list_matches_by_a_common_value() -> None:
    assert filter_config(LIST, {"tags": ["cheap", "deep"]}) == LIST[:2]


def test_an_absent_key_matches_only_none() -> None:
    assert filter_config(LIST, {"api_type": ["azure", None]}) == LIST
    assert filter_config(LIST, {"tags": [None]}) == [LIST[2]]


def test_exclude_keeps_what_matches_none() -> None:
    assert filter_config(LIST, {"model": ["o3"], "api_type": ["azure"]}, exclude=True) == [LIST[0]]


def test_a_variable_holds_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAI_LIST", json.dumps(LIST))
    assert config_list_from_json("OAI_LIST", filter_dict={"model": ["o3"]}) == [LIST[1]]


def test_a_variable_holds_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps(LIST))
    monkeypatch.setenv("OAI_LIST", str(tmp_path / "list.json"))
    assert config_list_from_json("OAI_LIST") == LIST


def test_a_file_holds_the_list(tmp_path: Path) -> None:
    (tmp_path / "OAI_LIST").write_text(json.dumps(LIST))
    assert config_list_from_json("OAI_LIST", str(tmp_path)) == LIST
    with pytest.raises(FileNotFoundError):
        config_list_from_json("OTHER", str(tmp_path))


def test_what_is_no_json_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAI_LIST", "[{")
    with pytest.raises(ValueError, match="'OAI_LIST' is no JSON"):
        config_list_from_json("OAI_LIST")
