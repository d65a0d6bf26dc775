import json
import warnings
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from teams._components.json_schema import arguments_model
from teams.utils import schema_to_pydantic_model


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Everything(BaseModel):
    text: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")]
    number: Annotated[int, Field(ge=0, lt=10)]
    ratio: float
    flag: bool
    nothing: None
    color: Color
    fixed: Literal["x"]
    either: int | str
    tree: Tree
    trees: dict[str, Tree]
    few: Annotated[list[int], Field(max_length=2)]
    unique: set[int]
    pair: tuple[int, str]
    anything: Any
    moment: datetime
    day: date
    hour: time
    span: timedelta
    key: UUID
    maybe: int | None = None
    counted: int = 3


trees = st.deferred(
    lambda: st.builds(Tree, name=st.text(max_size=3), children=st.lists(trees, max_size=2))
)
everything = st.builds(
    Everything,
    text=st.from_regex("[a-z]{1,5}", fullmatch=True),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    tree=trees,
    trees=st.dictionaries(st.text(max_size=2), trees, max_size=2),
    anything=st.none() | st.integers() | st.text(max_size=3),
    span=st.timedeltas(timedelta(0), timedelta(days=9)),
    moment=st.datetimes(),
    hour=st.times(),
)


Rebuilt = schema_to_pydantic_model(Everything.model_json_schema(), "Everything")


@given(everything)
def test_a_rebuilt_model_reads_and_writes_the_same_json(value: Everything) -> None:
    written = value.model_dump_json()
    rewritten = Rebuilt.model_validate_json(written).model_dump_json()
    assert Everything.model_validate_json(rewritten) == value


VALID = json.loads(
    Everything(
        text="abc",
        number=1,
        ratio=0.5,
        flag=True,
        nothing=None,
        color=Color.RED,
        fixed="x",
        either="y",
        tree=Tree(name="t", children=[Tree(name="u")]),
        trees={},
        few=[],
        unique={1},
        pair=(1, "a"),
        anything=None,
        moment=datetime(2025, 1, 2, 3),  # noqa: DTZ001
        day=date(2025, 1, 2),
        hour=time(3),
        span=timedelta(seconds=4),
        key=UUID(int=0),
    ).model_dump_json()
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", ""),
        ("text", "ABC"),
        ("number", 10),
        ("number", "many"),
        ("ratio", None),
        ("nothing", 1),
        ("color", "green"),
        ("fixed", "y"),
        ("either", []),
        ("tree", {"name": "t", "children": [{"name": 1}]}),
        ("trees", {"a": {}}),
        ("few", [1, 2, 3]),
        ("pair", [1]),
        ("moment", "yesterday"),
        ("key", "not a uuid"),
    ],
)
def test_a_rebuilt_model_keeps_the_constraints(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Rebuilt.model_validate_json(json.dumps({**VALID, field: value}))
    assert {error["loc"][0] for error in caught.value.errors()} == {field}


def test_a_property_that_is_not_required_has_its_default_or_none() -> None:
    model = schema_to_pydantic_model(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "array", "default": [1]}},
        }
    )
    assert model.__name__ == "GeneratedModel"
    assert model().model_dump() == {"a": None, "b": [1]}


def test_types_may_be_a_list_and_definitions_may_be_of_the_older_draft() -> None:
    model = schema_to_pydantic_model(
        {
            "type": "object",
            "properties": {
                "age": {"type": ["integer", "null"]},
                "home": {"allOf": [{"$ref": "#/definitions/Home"}], "description": "where"},
            },
            "required": ["age", "home"],
            "definitions": {
                "Home": {"type": "object", "properties": {"street": {"type": "string"}}}
            },
        }
    )
    value = {"age": None, "home": {"street": "Main"}}
    assert model.model_validate(value).model_dump() == value
    assert model.model_fields["home"].description == "where"


def test_all_of_several_objects_is_their_join() -> None:
    schema = {
        "type": "object",
        "properties": {
            "both": {
                "allOf": [
                    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "integer"}}},
                ]
            }
        },
        "required": ["both"],
    }
    model = schema_to_pydantic_model(schema)
    assert model.model_validate({"both": {"a": 1}}).model_dump() == {"both": {"a": 1, "b": None}}
    with pytest.raises(ValidationError):
        model.model_validate({"both": {"b": 1}})


def test_arguments_of_foreign_tools_may_have_types_and_formats_of_their_own() -> None:
    model = arguments_model(
        {
            "properties": {
                "a": {"type": "frob"},
                "b": {"type": "string", "format": "frob"},
                "c": {"type": "integer", "format": "uint8"},
            },
            "required": ["a", "b", "c"],
        },
        "Arguments",
    )
    assert model(a=object, b="text", c=1).model_dump() == {"a": object, "b": "text", "c": 1}
    with pytest.raises(ValidationError):
        model(a=1, b=1, c=1)


@pytest.mark.parametrize("place", ["property", "root"])
def test_references_in_all_of_are_joined_with_the_rest(place: str) -> None:
    base = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    middle = {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"b": {"type": "integer"}}}]}
    joined: dict[str, Any] = {
        "allOf": [{"$ref": "#/$defs/Middle"}, {"properties": {"c": {"type": "string"}}}],
        "description": "all three",
    }
    definitions = {"$defs": {"Base": base, "Middle": middle}}
    schema = {"type": "object", "properties": {"x": joined}, "required": ["x"], **definitions}
    model = schema_to_pydantic_model(schema if place == "property" else {**joined, **definitions})
    if place == "property":
        assert model.model_fields["x"].description == "all three"
        model = model.model_fields["x"].annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
    assert model(a=1).model_dump() == {"a": 1, "b": None, "c": None}
    with pytest.raises(ValidationError):
        model(b=1)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    lives: float


class Home(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind", title="Who lives there")
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []
    street_name: str = Field(title="The street")


def test_discriminators_and_titles_are_kept() -> None:
    model = schema_to_pydantic_model(Home.model_json_schema(), "Home")
    value = {"pet": {"kind": "dog", "lives": 1}, "street_name": "Main"}
    loaded = model.model_validate({**value, "pets": [{"kind": "cat", "lives": 9}]})
    assert type(loaded.model_dump()["pet"]["lives"]) is float
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        model.model_validate({**value, "pet": {"kind": "fox", "lives": 1}})
    rebuilt, original = model.model_json_schema(), Home.model_json_schema()
    assert rebuilt["properties"]["street_name"]["title"] == "The street"
    for name in ("pet", "pets"):
        assert rebuilt["properties"][name] == original["properties"][name]


def test_a_discriminator_that_no_option_fixes_is_left_out() -> None:
    schema = Home.model_json_schema()
    schema["$defs"]["Cat"]["properties"]["kind"] = {"type": "string"}
    model = schema_to_pydantic_model(schema)
    value = {"pet": {"kind": "fox", "lives": 1}, "street_name": "Main"}
    assert model.model_validate(value).model_dump()["pet"] == {"kind": "fox", "lives": 1}


@pytest.mark.parametrize("key", ["_id", "schema", "model_config", "first-name", "1st", "été", "-"])
def test_a_property_may_have_a_name_that_python_cannot(key: str) -> None:
    schema = {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = schema_to_pydantic_model(schema)
    assert model.model_validate({key: 1}).model_dump(by_alias=True) == {key: 1}


def test_additional_properties_are_refused_or_kept_as_the_schema_says() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        a: int

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int

    with pytest.raises(ValidationError):
        schema_to_pydantic_model(Closed.model_json_schema()).model_validate({"a": 1, "b": 2})
    opened = schema_to_pydantic_model(Open.model_json_schema()).model_validate({"a": 1, "b": 2})
    assert opened.model_dump() == {"a": 1, "b": 2}


def test_a_model_whose_root_is_a_reference_is_read() -> None:
    model = schema_to_pydantic_model(Tree.model_json_schema(), "Tree")
    tree = {"name": "a", "children": [{"name": "b", "children": []}]}
    assert model.model_validate(tree).model_dump() == tree


def nested(levels: int) -> dict[str, Any]:
    """Lists of lists, this many levels deep."""
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "array", "items": inner}
    return {"properties": {"a": inner}}


def doubled(times: int) -> dict[str, Any]:
    """Definitions of which each has the next one twice."""
    definitions: dict[str, Any] = {
        f"A{at}": {"allOf": [{"$ref": f"#/$defs/A{at + 1}"}] * 2} for at in range(times)
    }
    last = {f"A{times}": {"type": "object"}}
    return {"properties": {"a": {"$ref": "#/$defs/A0"}}, "$defs": definitions | last}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "string"}, "Not the JSON schema of an object"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}}}, "'Gone'"),
        ({"properties": {"a": {"type": "frob"}}}, "Unknown type 'frob'"),
        ({"properties": {"a": {"anyOf": [{"type": "frob"}]}}}, "Unknown type 'frob'"),
        ({"properties": {"a": {"type": "string", "format": "frob"}}}, "Unknown format 'frob'"),
        ({"properties": {"a": {"type": "integer", "format": "uuid"}}}, "Unknown format 'uuid'"),
        (
            {
                "properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {}}]}},
                "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {}}]}},
            },
            "defines 'A' by itself",
        ),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}},
            },
            "defines 'A' by itself",
        ),
        ({"properties": ["a"]}, "damaged at properties: "),
        ({"properties": {"a": "string"}}, "damaged at properties.a: "),
        ({"properties": {"a": {"$ref": None}}}, r"damaged at properties.a.\$ref: "),
        ({"properties": {"a": {"allOf": ["x"]}}}, "damaged at properties.a.allOf.0: "),
        ({"properties": {"a": {"anyOf": []}}}, "damaged at properties.a.anyOf: "),
        ({"properties": {"a": {"enum": []}}}, "damaged at properties.a.enum: "),
        ({"properties": {"a": {"type": 5}}}, "damaged at properties.a.type.str: "),
        ({"properties": {"a": {"title": 5}}}, "damaged at properties.a.title: "),
        ({"properties": {"a": {"items": 5}}}, "damaged at properties.a.items: "),
        ({"properties": {"a": {"oneOf": [{}], "discriminator": 5}}}, "a.discriminator: "),
        ({"properties": {"a": {"type": "string", "pattern": "("}}}, "can't be read"),
        ({"properties": {"a": {"type": "integer", "multipleOf": 0}}}, "can't be read"),
        ({"type": "object", "required": 5}, "damaged at required: "),
        ({"type": "object", "additionalProperties": []}, "damaged at additionalProperties: "),
        ({"type": "object", "$defs": {"A": None}}, r"damaged at \$defs.A: "),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "Not the JSON schema"),
        (nested(300), "damaged at properties.a.items.items.items.items.items.items: "),
        (nested(100_000), "damaged at "),
        (doubled(30), "joins more than 1000 parts"),
        (cast("Any", None), "damaged at its root: "),
        (cast("Any", ["a"]), "damaged at its root: "),
    ],
)
def test_an_unreadable_schema_is_a_value_error(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        schema_to_pydantic_model(schema)


def test_a_property_may_be_described_by_true_alone() -> None:
    model = schema_to_pydantic_model(
        {"type": "object", "properties": {"a": True, "b": True}, "required": ["a"]}
    )
    assert model.model_validate({"a": [1]}).model_dump() == {"a": [1], "b": None}


HOSTILE = [
    "(__import__('os').system('touch PWNED'), str)[1]",
    "open('PWNED', 'w').__class__",
    "[open(name, 'w') for name in ['PWNED']]",
    "1 if open('PWNED', 'w') else int",
    "__builtins__['open']('PWNED', 'w')",
    "__builtins__",
    "class",
    "int",
    "Box[int]",
    "a b",
    "x\ny",
    "",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("read", [schema_to_pydantic_model, arguments_model])
def test_the_name_of_a_definition_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[..., type[BaseModel]]
) -> None:
    monkeypatch.chdir(tmp_path)
    point = {"$ref": f"#/$defs/{name}"}
    link = {"type": "object", "properties": {"y": point}}
    tree = {"anyOf": [{"type": "string"}, {"type": "array", "items": point}]}
    for definition, value in ((link, {"y": {"y": None}}), (tree, ["a", ["b"]])):
        schema = {"type": "object", "properties": {"x": point}, "$defs": {name: definition}}
        model = read(schema, name or "Model")
        assert model.model_validate({"x": value}).model_dump() == {"x": value}
        with pytest.raises(ValidationError):
            model.model_validate({"x": 5})
    assert not any(tmp_path.iterdir())


def test_limits_are_those_of_the_type() -> None:
    properties = {
        "count": {"type": "integer", "minLength": 3, "pattern": "^a"},
        "word": {"type": "string", "minimum": 3, "minItems": 2},
        "day": {"type": "string", "format": "date", "maxLength": 3},
        "rows": {"type": "array", "uniqueItems": True, "items": {"type": "object"}},
        "maybe": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
    }
    model = schema_to_pydantic_model(
        {"properties": properties, "additionalProperties": {"type": "string"}}
    )
    value = {"count": 1, "word": "", "day": "2025-01-02", "rows": [{}, {}], "maybe": None}
    assert model.model_validate(value).model_dump(mode="json") == value
