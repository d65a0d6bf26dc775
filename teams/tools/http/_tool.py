"""Requests to an HTTP server as a tool."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

from teams._base import web
from teams._base.bounded.clients import http_client, tls
from teams._base.bounded.encodings import decode_text
from teams._base.bounded.gate import Bounds
from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.tables import Method
from teams._base.whole_text import whole_json
from teams._components.component import Component
from teams._components.json_schema import schema_to_pydantic_model
from teams._tools.base import BaseTool, ToolTraits
from teams.tools.http._request import (
    checked_headers,
    checked_host,
    checked_path,
    filled_path,
    query_of,
)

if TYPE_CHECKING:
    import httpx

MAX_ANSWER = 1_000_000
"""Bytes of an answer, unpacked."""
BOUNDS = Bounds(body=MAX_ANSWER, stream=MAX_ANSWER, error=None)

_REPEATABLE: frozenset[str] = frozenset({"GET", "PUT", "DELETE"})


class HttpToolConfig(BaseModel, defer_build=True):
    """See `HttpTool`."""

    model_config = ConfigDict(hide_input_in_errors=True)  # headers hold secrets

    name: str
    host: str
    port: int = Field(ge=1, le=65535)
    json_schema: dict[str, Any]
    headers: dict[str, Any] | None = None
    description: str | None = "HTTP tool"
    path: str = "/"
    scheme: Literal["http", "https"] = "http"
    method: Method | None = "POST"
    return_type: Literal["text", "json"] | None = "text"
    timeout: float = 5.0

    @property
    def address(self) -> str:
        """Scheme, host and port.

        Raises ValueError for a host that is more than a host.
        """
        return f"{self.scheme}://{checked_host(self.host)}:{self.port}"


class HttpTool(BaseTool[BaseModel, Any], Component[HttpToolConfig]):
    """A tool that sends a request to its server.

    The answer is the result, also one with an error status. `json_schema` describes the arguments.
    Those that `path` names, as in "/books/{id}", go into the path, quoted; the others are the query
    of a GET or DELETE and the JSON body of other methods. `timeout` bounds the whole call, in
    seconds.

    Redirects are followed on the same server alone. An answer has at most 1 MB. If `public_only` is
    set, the host's name may not lead to an address of a private network or of this machine; a host
    that is an address itself, or localhost, is taken as it is. (A proxy finds addresses by itself.)
    """

    component_config_schema = HttpToolConfig
    public_only: bool = False

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        json_schema: dict[str, Any],
        headers: dict[str, Any] | None = None,
        description: str | None = "HTTP tool",
        path: str = "/",
        scheme: Literal["http", "https"] = "http",
        method: Method | None = "POST",
        return_type: Literal["text", "json"] | None = "text",
        timeout: float = 5.0,
    ) -> None:
        self._config = HttpToolConfig(
            name=name,
            host=host,
            port=port,
            json_schema=json_schema,
            headers=headers,
            description=description,
            path=path,
            scheme=scheme,
            method=method,
            return_type=return_type,
            timeout=timeout,
        )
        self._address = self._config.address
        self._headers = checked_headers(headers or {})
        self._method: Method = method or "POST"
        self._path = checked_path(path)
        self.traits = ToolTraits(idempotent=self._method in _REPEATABLE)
        arguments = schema_to_pydantic_model(json_schema, f"{name}_arguments")
        super().__init__(arguments, object, name, description or "HTTP tool")

    @property
    def host(self) -> str:
        """The server's name or address."""
        return self._config.host

    @property
    def method(self) -> Method:
        """The method of its requests."""
        return self._method

    @override
    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """Send the request.

        Raises:
            TimeoutError: the whole answer was not there in time.
            ConnectionError: the server can't be reached, or broke off.
            ValueError: an argument does not fit into the path, or the answer is too large, leads to
                another server or is no JSON; or the host is not public, and has to be.
        """
        return await run_cancellable(self._answer(self._arguments(args)), cancellation_token)

    @override
    def return_value_as_string(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _arguments(self, args: BaseModel) -> dict[str, Any]:
        """The given arguments, and the schema's own defaults."""
        given = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        properties: dict[str, Any] = self._config.json_schema.get("properties", {})
        defaults = {
            name: cast("dict[str, Any]", about).get("default")
            for name, about in properties.items()
            if isinstance(about, dict)
        }
        return {name: value for name, value in defaults.items() if value is not None} | given

    async def _answer(self, arguments: dict[str, Any]) -> Any:
        import httpx  # for a quick start

        path, used = filled_path(self._path, arguments)
        rest = {name: value for name, value in arguments.items() if name not in used}
        url, body = httpx.URL(f"{self._address}{path}"), None
        if self._method in ("GET", "DELETE"):
            url = url.copy_merge_params(query_of(rest))
        else:
            body = rest
        try:
            async with (
                asyncio.timeout(self._config.timeout),
                http_client(
                    httpx.AsyncClient, BOUNDS, timeout=None, transport=self._transport()
                ) as client,
            ):
                request = client.build_request(self._method, url, json=body, headers=self._headers)
                response = await web.exchange(client, request)
        except TimeoutError as error:
            seconds = self._config.timeout
            raise TimeoutError(f"{self._address} did not answer within {seconds:g} s.") from error
        except httpx.HTTPError as error:
            raise ConnectionError(
                f"{self._address} gave no answer: {type(error).__name__}: {error}"
            ) from error
        text = await decode_text(response.content, response.encoding)
        return self._result(response.status_code, text)

    def _transport(self) -> httpx.AsyncBaseTransport | None:
        host, scheme = self._config.host, self._config.scheme
        if not self.public_only or web.is_named(host) or web.has_proxy(scheme, host):
            return None
        return web.public_transport(tls("httpx"))

    def _result(self, status: int, text: str) -> Any:
        is_json = self._config.return_type == "json"
        if not text and (is_json or status >= HTTPStatus.BAD_REQUEST):
            return f"(no text, status {status})"
        if not is_json:
            return text
        try:
            return whole_json(text)
        except ValueError as error:
            raise ValueError(f"The answer (status {status}) is not JSON.") from error

    @override
    def _to_config(self) -> HttpToolConfig:
        return self._config.model_copy(deep=True)

    @classmethod
    @override
    def _from_config(cls, config: HttpToolConfig) -> Self:
        return cls(**dict(config))
