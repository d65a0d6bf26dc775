"""Configs that are made from a constructor's parameters when they are needed."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any, cast

from pydantic import BaseModel, create_model


def config_of_constructor() -> type[BaseModel]:
    """A `component_config_schema` made from the parameters of the class's constructor.

    It is made when somebody asks for it: few programs dump or load components, all import them.
    """
    return cast("type[BaseModel]", _ConstructorConfig())


class _ConstructorConfig:
    _schema: type[BaseModel] | None = None

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner = owner  # a subclass has the config of its parent, unless it says otherwise

    def __get__(self, instance: object, owner: type[Any]) -> type[BaseModel]:
        if self._schema is None:
            parameters = signature(self._owner, eval_str=True).parameters
            fields: dict[str, Any] = {
                name: (
                    parameter.annotation,
                    ... if parameter.default is Parameter.empty else parameter.default,
                )
                for name, parameter in parameters.items()
            }
            self._schema = create_model(
                f"{self._owner.__name__}Config", __module__=self._owner.__module__, **fields
            )
        return self._schema
