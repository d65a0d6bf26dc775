"""Components: objects that dump to declarative JSON and load from it.

A component class names its config model and, where the constructor's parameters are the model's
fields and are stored as `self._<field>`, has nothing more to write:

    class Greeter(ComponentBase[BaseModel], Component[GreeterConfig]):
        component_type = "greeter"
        component_config_schema = GreeterConfig

Components inside it (alone, in lists and in mappings) are fields of type ComponentModel and dump
and load with it; `Annotated[ComponentModel, ChatCompletionClient]` says what is expected there.
`_to_config` and `_from_config` may be overridden for anything else.
"""

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    overload,
)

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from teams._components.providers import is_foreign, own_provider, resolve_provider

ComponentType = (
    Literal["model", "agent", "tool", "termination", "token_provider", "workbench"] | str
)

ConfigT = TypeVar("ConfigT", bound=BaseModel)
FromConfigT = TypeVar("FromConfigT", bound=BaseModel, contravariant=True)
ToConfigT = TypeVar("ToConfigT", bound=BaseModel, covariant=True)
ExpectedT = TypeVar("ExpectedT")

_TOOL_OVERRIDES: ContextVar[Mapping[str, str] | None] = ContextVar(
    "teams_tool_overrides", default=None
)


class ComponentModel(BaseModel, defer_build=True):
    """The declarative form of a component."""

    provider: str
    component_type: ComponentType | None = None
    version: int | None = None
    component_version: int | None = None
    description: str | None = None
    label: str | None = None
    config: dict[str, Any]


class ComponentFromConfig(Generic[FromConfigT]):
    """An object that can be made from a config."""

    @classmethod
    def _from_config(cls, config: FromConfigT) -> Self:
        """A new instance; by default the config's fields are the constructor's arguments."""
        return cls(**cls._constructor_arguments(config))

    @classmethod
    def _constructor_arguments(cls, config: BaseModel) -> dict[str, Any]:
        """The config's fields, components in them loaded."""
        return {
            name: _load_nested(getattr(config, name), _expected_type(field))
            for name, field in type(config).model_fields.items()
        }

    @classmethod
    def _from_config_past_version(cls, config: dict[str, Any], version: int) -> Self:
        """A new instance from a config of an earlier `component_version`."""
        raise NotImplementedError(
            f"{cls.__name__} cannot be made from component version {version}."
        )


class ComponentToConfig(Generic[ToConfigT]):
    """An object that can be written as a config."""

    component_type: ClassVar[ComponentType]
    component_version: ClassVar[int] = 1
    component_provider_override: ClassVar[str | None] = None
    component_description: ClassVar[str | None] = None
    component_label: ClassVar[str | None] = None
    component_only_ours: ClassVar[Mapping[str, object]] = {}
    """Fields that AutoGen lacks: the value that says the same as none, or `...` if none does."""

    def _to_config(self) -> ToConfigT:
        """The config of an equal instance; by default `x` from `self._x`."""
        schema = _config_schema(type(self))
        values = {name: _dump_nested(self._config_value(name)) for name in schema.model_fields}
        return cast("ToConfigT", schema(**values))

    def _config_value(self, name: str) -> Any:
        try:
            return getattr(self, f"_{name}")
        except AttributeError:
            raise NotImplementedError(
                f"{type(self).__name__} keeps no '_{name}' for its config field {name!r}: "
                "override _to_config()."
            ) from None

    def dump_component(self, *, provider: Literal["teams", "autogen"] = "teams") -> ComponentModel:
        """The declarative form.

        With the `provider` "autogen", as AutoGen 0.7.5 and its Studio load it.

        Raises:
            ValueError: the `provider` is neither "teams" nor "autogen".
            TypeError: the class is local to a function or is no component class.
            NotImplementedError: something in it cannot be written down, e.g. a function, or has no
                counterpart in AutoGen.
        """
        if provider == "autogen":
            from teams._components.autogen import autogen_form  # few need it

            return ComponentModel(**autogen_form(self.dump_component().model_dump(mode="json")))
        if provider != "teams":
            raise ValueError(f"The provider is 'teams' or 'autogen', found {provider!r}.")
        cls = type(self)
        return ComponentModel(
            provider=component_provider(cls),
            component_type=cls.component_type,
            version=cls.component_version,
            component_version=cls.component_version,
            description=cls.component_description or _first_paragraph(cls.__doc__),
            label=cls.component_label or cls.__name__,
            config=_dump_config(self._to_config()),
        )


class ComponentLoader:
    """A class that loads components of its own kind."""

    @overload
    @classmethod
    def load_component(
        cls,
        model: ComponentModel | dict[str, Any],
        expected: None = None,
        *,
        tool_overrides: Mapping[str, str] | None = None,
    ) -> Self: ...
    @overload
    @classmethod
    def load_component(
        cls,
        model: ComponentModel | dict[str, Any],
        expected: type[ExpectedT],
        *,
        tool_overrides: Mapping[str, str] | None = None,
    ) -> ExpectedT: ...
    @classmethod
    def load_component(
        cls,
        model: ComponentModel | dict[str, Any],
        expected: type[Any] | None = None,
        *,
        tool_overrides: Mapping[str, str] | None = None,
    ) -> Any:
        """An instance of the declarative form: a `cls` (or an `expected`).

        `tool_overrides` names, per function tool at any depth, the function
        (`"package.module:function"`) that stands in for its source code, which is never executed.

        Raises:
            ValueError: the provider is unknown or not trusted, a tool has no override, or nothing
                can be made from the config.
            ValidationError: the form or its config is malformed (a ValueError, too).
            NotImplementedError: the config is of another version, which the class cannot read.
            TypeError: the provider is no component, or another kind than expected.
            ImportError: the provider needs an extra that is not installed.
            BadCredentials: a model client has no key.
        """
        if tool_overrides is None:
            return _load(model, own=cls, expected=expected or cls)
        with _tool_overrides(tool_overrides):
            return _load(model, own=cls, expected=expected or cls)


class ComponentBase(ComponentToConfig[ConfigT], ComponentLoader, Generic[ConfigT]):
    """The base of everything that comes as components, e.g. model clients."""


class Component(ComponentFromConfig[ConfigT], Generic[ConfigT]):
    """Makes a class a concrete component; it gives `component_config_schema`."""

    component_config_schema: type[ConfigT]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Not asked of the class itself: that would build a schema that nobody may need.
        if not any("component_config_schema" in base.__dict__ for base in cls.__mro__):
            warnings.warn(
                f"{cls.__name__} has no class variable component_config_schema: it can be neither "
                "dumped nor loaded.",
                UserWarning,
                stacklevel=2,
            )


def is_component_class(cls: type) -> TypeGuard[type[ComponentBase[BaseModel]]]:
    """True if instances of the class can be dumped and loaded."""
    return (
        issubclass(cls, ComponentFromConfig)
        and issubclass(cls, ComponentToConfig)
        and hasattr(cls, "component_config_schema")
        and hasattr(cls, "component_type")
    )


def is_component_instance(instance: object) -> TypeGuard[ComponentBase[BaseModel]]:
    """True if the object can be dumped and loaded."""
    return is_component_class(type(instance))


def component_class(provider: str) -> type[ComponentBase[BaseModel]]:
    """The class that a config's provider name stands for.

    Raises ValueError for one that is unknown or not trusted, TypeError if it is no component.
    """
    found = resolve_provider(provider)
    if not isinstance(found, type) or not is_component_class(found):
        raise TypeError(f"{provider!r} is not a component class.")
    return found


def component_provider(cls: type) -> str:
    """The provider name of the class; TypeError for a local class."""
    # Not inherited: a subclass dumped under its parent's name would load as the parent.
    if override := cls.__dict__.get("component_provider_override"):
        return override
    if cls.__module__.startswith("teams.") and (provider := own_provider(cls.__name__)):
        return provider
    if _is_local(cls):
        raise TypeError(
            f"{cls.__qualname__} is not at a module's top level, so no config can name it."
        )
    return f"{cls.__module__}.{cls.__qualname__}"


def tool_override(tool_name: str) -> str | None:
    """The function that replaces this tool in the component being loaded."""
    return (_TOOL_OVERRIDES.get() or {}).get(tool_name)


@contextmanager
def _tool_overrides(overrides: Mapping[str, str]) -> Generator[None]:
    token = _TOOL_OVERRIDES.set(overrides)
    try:
        yield
    finally:
        _TOOL_OVERRIDES.reset(token)


def _load(model: ComponentModel | dict[str, Any], *, own: type, expected: type) -> Any:
    loaded = ComponentModel.model_validate(model)
    cls = _class_of(loaded.provider, own)
    try:
        component = _make(cls, loaded)
    except (ArithmeticError, AttributeError, LookupError, OSError) as error:
        raise ValueError(f"No {cls.__name__} can be made from its config: {error!r}") from error
    except RecursionError as error:
        raise ValueError(f"The config of {cls.__name__} is nested too deep.") from error
    if expected is not ComponentLoader and not isinstance(component, expected):
        raise TypeError(
            f"Expected a component of type {expected.__name__}, but {loaded.provider!r} is a "
            f"{type(component).__name__}."
        )
    return component


def _class_of(provider: str, own: type) -> type[Any]:
    # Who holds the class has decided to trust it.
    if is_component_class(own) and not _is_local(own) and provider == component_provider(own):
        return own
    return component_class(provider)


def _make(cls: type[Any], model: ComponentModel) -> Any:
    version = model.component_version
    current = cls.component_version
    from_config = cast("Callable[[BaseModel], Any]", getattr(cls, "_from_config"))  # noqa: B009
    if version is None or version == current or is_foreign(model.provider):
        return from_config(cls.component_config_schema.model_validate(model.config))
    if version > current:
        raise NotImplementedError(
            f"{model.provider!r} was dumped by component version {version}; this is {current}."
        )
    return getattr(cls, "_from_config_past_version")(model.config, version)  # noqa: B009


def _config_schema(cls: type) -> type[BaseModel]:
    schema = getattr(cls, "component_config_schema", None)
    if schema is None:
        raise TypeError(
            f"{cls.__name__} is not a component class: it has no component_config_schema."
        )
    return schema


def _dump_config(config: BaseModel) -> dict[str, Any]:
    dumped = config.model_dump(exclude_none=True)
    for name, field in type(config).model_fields.items():
        # None is worth writing down where leaving it out would load as something else.
        if name not in dumped and field.default is not None:
            dumped[name] = None
    return dumped


def _dump_nested(value: Any) -> Any:
    match value:
        case ComponentToConfig():
            return value.dump_component()
        case list() | tuple():
            return [_dump_nested(item) for item in cast("list[Any]", value)]
        case dict():
            return {key: _dump_nested(item) for key, item in cast("dict[Any, Any]", value).items()}
        case _:
            return value


def _load_nested(value: Any, expected: type) -> Any:
    match value:
        case ComponentModel():
            return _load(value, own=expected, expected=expected)
        case list() | tuple():
            return [_load_nested(item, expected) for item in cast("list[Any]", value)]
        case dict():
            items = cast("dict[Any, Any]", value).items()
            return {key: _load_nested(item, expected) for key, item in items}
        case _:
            return value


def _is_local(cls: type) -> bool:
    return "." in cls.__qualname__


def _expected_type(field: FieldInfo) -> type:
    metadata = [*field.metadata, *_metadata_within(field.annotation)]
    return next((entry for entry in metadata if isinstance(entry, type)), ComponentLoader)


def _metadata_within(annotation: Any) -> Generator[Any]:
    for argument in get_args(annotation):
        yield from getattr(argument, "__metadata__", ())
        yield from _metadata_within(argument)


def _first_paragraph(docstring: str | None) -> str | None:
    return docstring.split("\n\n")[0].strip() if docstring else None
