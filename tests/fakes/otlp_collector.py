"""A collector of traces: an OTLP/HTTP receiver on this machine.

It answers from threads of its own, so that it also hears what is sent while the loop is blocked.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status


@dataclass(frozen=True)
class Received:
    """A span as it was sent, and its service."""

    span: Any
    service: str
    scope: str

    @property
    def name(self) -> str:
        return self.span.name

    @property
    def id(self) -> bytes:
        return self.span.span_id

    @property
    def attributes(self) -> dict[str, Any]:
        return {each.key: _value(each.value) for each in self.span.attributes}

    @property
    def is_root(self) -> bool:
        return not self.span.parent_span_id

    @property
    def failed(self) -> bool:
        return self.span.status.code == Status.STATUS_CODE_ERROR

    @property
    def seconds(self) -> float:
        return (self.span.end_time_unix_nano - self.span.start_time_unix_nano) / 1e9


def _value(value: Message) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")


@dataclass
class Collector:
    """Everything that was sent."""

    url: str = ""
    answer: int = 200
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    received: Event = field(default_factory=Event)

    @property
    def spans(self) -> list[Received]:
        """In the order in which they began."""
        found: list[Received] = []
        for body in self.bodies:
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {
                    each.key: each.value.string_value for each in of_resource.resource.attributes
                }
                for of_scope in of_resource.scope_spans:
                    found += [
                        Received(span, named["service.name"], of_scope.scope.name)
                        for span in of_scope.spans
                    ]
        return sorted(found, key=lambda each: (each.span.start_time_unix_nano, not each.is_root))

    def named(self, name: str) -> list[Received]:
        return [each for each in self.spans if each.name == name]

    def tree(self) -> list[tuple[str, str | None]]:
        """Each span with its parent, in the order in which they began."""
        names = {each.id: each.name for each in self.spans}
        return [(each.name, names.get(each.span.parent_span_id)) for each in self.spans]

    def traces(self) -> set[bytes]:
        return {each.span.trace_id for each in self.spans}


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector that listens within the context."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.headers.append({key.lower(): value for key, value in self.headers.items()})
            if collector.answer == 200 and self.path == "/v1/traces":
                collector.bodies.append(body)
                collector.received.set()
            self.send_response(collector.answer if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
