"""Families of kinds, as annotations of settings."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError

from teams._base import kind_family
from teams._base.kind_family import KindsOf, family_of, is_others, needs_part
from teams._base.kinds import Kind, Model, Part
from teams._base.tables import Section
from teams.code_executors.kinds import DockerKind, LocalKind
from teams.model_context.kinds import BufferedKind

EXECUTORS = KindsOf("executor", "docker")


class Table(Section):
    """Settings that take parts."""

    executor: Annotated[Part | None, EXECUTORS] = None
    contexts: list[Annotated[Part, KindsOf("context")]] = Field(default_factory=list)
    model: Model = ""
    name: str = ""


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ({}, "docker"),
        ({"type": "local"}, "local"),
        ({"type": "my:Kind"}, "my:Kind"),
        ({"path": "my:Executor"}, "path"),
        ({"type": 3}, ""),
        ("local", ""),
    ],
    ids=str,
)
def test_a_kind_is_told_by_its_type_or_key(value: Any, tag: str):
    assert EXECUTORS.tag(value) == tag
    assert (EXECUTORS.key, KindsOf("model").key) == ("type", "provider")


def test_the_members_are_imported_when_they_are_taken():
    assert EXECUTORS.members["local"] is LocalKind
    assert [*KindsOf("executor", only=("local",)).members] == ["local"]
    with pytest.raises(KeyError):
        _ = KindsOf("executor", only=("local",)).members["docker"]


def test_a_table_is_of_its_kind():
    assert isinstance(EXECUTORS.table(type="docker"), DockerKind)
    assert isinstance(Table.model_validate({"executor": {"type": "local"}}).executor, LocalKind)
    with pytest.raises(ValidationError, match="nowhere"):
        Table.model_validate({"executor": {"type": "nowhere"}})


def test_what_a_setting_takes_is_known():
    settings = ("executor", "contexts", "name")
    assert [family_of(Table, each) for each in settings] == ["executor", None, None]
    assert [needs_part(Table, each) for each in (*settings, "model")] == [True, False, False, True]


class Own(Part):
    """A kind of somebody's own."""

    kind: ClassVar[Kind] = Kind("executor", "my:Own", "my:Executor")

    type: str = ""


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_family, "OTHERS", {})


@pytest.mark.usefixtures("others")
def test_a_kind_of_one_s_own_is_one_of_the_family():
    assert EXECUTORS.others("my:Own", lambda path: Own) is Own
    assert EXECUTORS.members["my:Own"] is Own
    assert is_others(Own(type="my:Own"))
    assert not is_others(LocalKind(type="local"))


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("found", [3, int, BufferedKind], ids=str)
def test_anything_else_is_refused(found: Any):
    with pytest.raises(ValueError, match="expected a kind of executor"):
        EXECUTORS.others("my:Own", lambda path: found)


def test_plugins_are_known_by_name_unless_none_are_taken():
    assert KindsOf("executor", only=("local",)).plugins == {}
    assert "local" not in EXECUTORS.plugins
