"""Tables of config.toml: strict fields, secrets, shorthands and mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, Field, SecretStr, ValidationError

from teams._base.tables import (
    ConfigPath,
    Section,
    SettingMistake,
    config_folder,
    setting_error,
    setting_errors,
    shorthand,
    shorthand_of,
    tag_by,
    tag_of,
)


class Inner(Section):
    """A table that a text is short for."""

    name: str


class Table(Section):
    """A table with a secret."""

    key: SecretStr | None = None
    size: int = Field(default=1, validation_alias=AliasChoices("size", "length"))
    folder: ConfigPath | None = None
    inner: Annotated[Inner | None, shorthand("name")] = None


def test_a_table_knows_its_keys_and_secrets():
    assert Table.secrets() == ["key"]
    assert Table.names_of("size") == ["size", "length"]
    assert Table.settings() == [
        *("key", "size", "length", "folder", "inner"),
        *("key_env", "key_file"),
    ]


def read(written: dict[str, Any], folder: Path | None = None) -> Table:
    return Table.model_validate(written, context={"folder": folder})


def test_a_secret_comes_from_the_table_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "k-1")
    (tmp_path / "key").write_text("k-1\n")
    for written in ({"key": "k-1"}, {"key_env": "MY_KEY"}, {"key_file": "key"}):
        found = read(written, tmp_path).key
        assert found is not None
        assert found.get_secret_value() == "k-1"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"key_env": "MY_KEY"}, "MY_KEY is not set"),
        ({"key_env": "sk-123"}, "It is not shown, as it may be a secret"),
        ({"key_env": 3}, "such as 'KEY'"),
        ({"key_file": "none"}, "cannot read"),
        ({"key": "YOUR_TOKEN"}, "found what stands for a secret"),
        ({"key": " "}, "found an empty text"),
    ],
    ids=str,
)
def test_a_secret_that_can_not_be_had_is_a_mistake(written: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=said) as caught:
        read(written)
    [error] = caught.value.errors()
    [mistake] = error.get("ctx", {})["mistakes"]
    assert mistake.key == tuple(written)


def test_a_path_starts_at_the_folder_of_the_config(tmp_path: Path):
    assert read({"folder": "x"}, tmp_path).folder == tmp_path / "x"
    assert read({"folder": "/x"}, tmp_path).folder == Path("/x")


def test_without_a_folder_it_is_the_present_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    class Info:
        context: dict[str, Any] | None = None

    info: Any = Info()
    monkeypatch.chdir(tmp_path)
    assert config_folder(info) == tmp_path
    info.context = {"folder": Path("/x")}
    assert config_folder(info) == Path("/x")


def test_a_text_is_short_for_a_table():
    assert read({"inner": "x"}).inner == Inner(name="x")
    [short] = [each for each in Table.model_fields["inner"].metadata if hasattr(each, "func")]
    assert shorthand_of(short.func) == "name"
    expand: Any = shorthand("size").func
    assert (expand("x"), expand(3)) == ({"size": "x"}, 3)
    assert shorthand_of(len) == ""


@pytest.mark.parametrize(
    ("value", "tag"),
    [({"type": "a"}, "a"), ({}, "other"), ({"type": 3}, None), (Inner(name="x"), "other")],
    ids=str,
)
def test_a_type_tells_the_member_of_a_union(value: Any, tag: str | None):
    assert tag_of("type", "other")(value) == tag


def test_a_key_tells_the_member_of_a_union():
    tag = tag_by("name", "path", or_type=True)
    assert tag({"path": 1, "type": "a"}) == "path"
    assert tag({"type": "a"}) == "a"
    assert tag(Inner(name="x")) == "name"
    assert tag_by("path")({"type": "a"}) is None


def test_mistakes_are_told_with_their_keys():
    one = setting_error("size", "too small", given=["key"])
    assert one.message() == "size: too small"
    assert one.context == {
        "said": "size: too small",
        "mistakes": (SettingMistake(("size",), "too small", ("key",)),),
    }
    two = setting_errors([SettingMistake(("a",), "x"), SettingMistake(("b",), "y")])
    assert two.message() == "a: x; b: y"
