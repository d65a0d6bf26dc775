"""A web service as a tool of config.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, model_validator
from typing_extensions import override

from teams._base.kinds import Kind, Load, ReadyTool, Want
from teams._base.meanings import Reaches
from teams._base.tables import Method, Secret, setting_error

if TYPE_CHECKING:
    from teams.tools.http._tool import HttpTool

_PLACE = re.compile(r"\{([^{}/]+)\}")
_PORTS = {"http": 80, "https": 443}


class HttpToolKind(ReadyTool):
    """A web service as a tool.

    A call is one request to it. The answer is the result, also one with an error status. Redirects
    are followed on the same server alone.
    """

    kind: ClassVar = Kind("tool", "http", "teams.tools.http:HttpTool", slow="httpx")

    http: Annotated[str, Reaches()]
    """Address of the service, such as "https://api.example.com/books/{id}".

    Arguments in braces stand in its path, quoted. The others are the query of a GET or DELETE, and
    the JSON body of a POST, PUT or PATCH.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """Name for the model."""

    description: str
    """Description for the model."""

    method: Method = "GET"
    """Method of the requests. A GET counts as a tool that only reads."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """The arguments, as the JSON schema of an object."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Headers of each request, such as Authorization."""

    return_type: Literal["text", "json"] = "text"
    """Form of the result: the answer's text, or its JSON."""

    timeout: float = Field(default=5, gt=0)
    """Seconds that a call may take."""

    @property
    def address(self) -> SplitResult:
        """The parts of the address."""
        return urlsplit(self.http)

    @property
    def port(self) -> int:
        """The port, also where the scheme's own is meant."""
        return self.address.port or _PORTS[self.address.scheme]

    @property
    def path(self) -> str:
        """The path and the query, as the tool fills them."""
        address = self.address
        return (address.path or "/") + (f"?{address.query}" if address.query else "")

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        try:
            address, _ = self.address, self.address.port
        except ValueError as error:
            raise setting_error(
                "http", f"found {self.http!r}, expected an address: {error}"
            ) from error
        if address.username or address.password:
            raise setting_error("http", "found a name or password in it; give a header instead")
        if address.scheme not in _PORTS or not address.hostname or address.fragment:
            said = f"found {self.http!r}, expected an address such as https://api.example.com/books"
            raise setting_error("http", said)
        known = self.parameters.get("properties", {})
        for name in _PLACE.findall(self.path):
            if name not in known:
                said = f"found {{{name}}}, which is not among the properties of `parameters`"
                raise setting_error("http", said, given=("parameters",))
        return self

    @override
    def made(self, load: Load) -> HttpTool:
        from teams.tools.http._tool import HttpTool  # few need it

        made = HttpTool(
            self.name,
            self.address.hostname or "",
            self.port,
            {"type": "object", **self.parameters},
            headers={name: secret.get_secret_value() for name, secret in self.headers.items()},
            description=self.description,
            path=self.path,
            scheme="https" if self.address.scheme == "https" else "http",
            method=self.method,
            return_type=self.return_type,
            timeout=self.timeout,
        )
        # The operator has written the whole request.
        made.traits = replace(made.traits, read_only=self.method == "GET")
        return made

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        yield Want("address", config.address)
