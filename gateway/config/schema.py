"""The JSON Schema of tables, for editors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic.json_schema import CoreRef, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import override

from gateway.config.descriptions import described_fields
from gateway.config.routes import listed
from teams.kinds import KINDS, KindsOf, ModelKind, Section, shorthand_of


def own_kind(key: str) -> dict[str, Any]:
    """The schema of a table of somebody's own kind."""
    return {
        "description": "A kind of your own: an import path.",
        "type": "object",
        "properties": {key: {"type": "string", "pattern": r"^[\w.]+:[\w.]+$"}},
        "required": [key],
    }


def schema_of(table: type[Section], tell: Callable[[str], object]) -> dict[str, Any]:
    """The JSON Schema of a table; plugins that fail are told."""

    class Telling(_Tables):
        def tell(self, name: str, error: Exception) -> None:
            tell(left_out(name, error))

    return table.model_json_schema(schema_generator=Telling)


def left_out(name: str, error: Exception) -> str:
    """A line about a table that fails."""
    said = str(error).partition("\n")[0]
    return f"{name} is left out: {type(error).__name__}: {said}"


class _Tables(GenerateJsonSchema):
    def tell(self, name: str, error: Exception) -> None:
        """Tell about a plugin that fails."""
        raise NotImplementedError

    @override
    def function_plain_schema(
        self, schema: core_schema.PlainValidatorFunctionSchema
    ) -> JsonSchemaValue:
        kinds = getattr(schema["function"]["function"], "__self__", None)
        if isinstance(kinds, KindsOf):
            return self._once(f"{kinds.family} {kinds.only}", lambda: self._kinds(kinds))
        return super().function_plain_schema(schema)

    @override
    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        inner = super().function_before_schema(schema)
        function = schema["function"]["function"]
        short = function is listed or shorthand_of(function)
        return {"anyOf": [{"type": "string"}, inner]} if short else inner

    @override
    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        if issubclass(table := schema["cls"], Section):
            made.pop("title", None)
            made["properties"] = _properties(
                table, cast("dict[str, dict[str, Any]]", made.get("properties", {}))
            )
            _let_secrets_be_elsewhere(table, made)
            if issubclass(table, ModelKind) and table.kind.name in KINDS["model"]:
                made["properties"]["provider"]["const"] = table.kind.name
                if table.kind.name != table.model_fields["provider"].default:
                    made.setdefault("required", []).append("provider")
        return made

    @override
    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        plain = isinstance(schema.get("default"), str | int | float)
        return super().default_schema(schema) if plain else self.generate_inner(schema["schema"])

    @override
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])  # TOML has no null

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def _kinds(self, kinds: KindsOf) -> JsonSchemaValue:
        tables = [self._table(kinds.members[name]) for name in kinds.members]
        for name in kinds.plugins:
            known = dict(self.definitions)
            try:
                tables.append(self._table(kinds.others(name)))
            except Exception as error:  # it is somebody else's
                self.definitions = known  # none that is half made
                self.tell(f"{kinds.family}.{name}", error)
        return {"anyOf": [*tables, *([] if kinds.only else [own_kind(kinds.key)])]}

    def _table(self, table: type[Section]) -> JsonSchemaValue:
        name = f"{table.__module__}:{table.__qualname__}"
        return self._once(name, lambda: self.generate_inner(table.__pydantic_core_schema__))

    def _once(self, name: str, make: Callable[[], JsonSchemaValue]) -> JsonSchemaValue:
        """A reference to what is made once; it may lead to itself."""
        place, reference = self.get_cache_defs_ref_schema(CoreRef(name))
        if place not in self.definitions:
            self.definitions[place] = {}
            self.definitions[place] = make()
        return reference


def _properties(table: type[Section], made: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The settings with their texts, under each of their names."""
    shown: dict[str, Any] = {}
    for name, field in described_fields(table).items():
        names = table.names_of(name)
        known: dict[str, Any] = next(
            (made[each] for each in names if each in made), dict[str, Any]()
        )
        text = " ".join((field.description or "").split())
        for each in names:
            shown[each] = {**known, **({"description": text} if text else {})}
    for name in table.secrets():
        shown[f"{name}_env"] = {"type": "string", "description": f"Variable that has {name}."}
        shown[f"{name}_file"] = {"type": "string", "description": f"File that has {name}."}
    return shown


def _let_secrets_be_elsewhere(table: type[Section], made: JsonSchemaValue) -> None:
    needed = cast("list[str]", made.get("required", []))
    for name in table.secrets():
        if name in needed:
            needed.remove(name)
            ways = [{"required": [f"{name}{end}"]} for end in ("", "_env", "_file")]
            made.setdefault("allOf", []).append({"anyOf": ways})
