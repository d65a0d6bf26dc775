"""`[tracing]`: traces of turns over OTLP."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from teams.kinds import Secret, Section

NEEDS_EXTRA = "[tracing] needs an extra: pip install 'parley-gateway[otel]'"
PATH = "/v1/traces"


class TracingConfig(Section):
    """Traces of turns, which `parley serve` sends over OTLP/HTTP.

    Needs `pip install 'parley-gateway[otel]'`. Without this table there are none. OpenTelemetry's
    variables, such as OTEL_EXPORTER_OTLP_ENDPOINT, hold for what the table does not say.
    """

    endpoint: (
        Annotated[str, StringConstraints(pattern=r"^https?://[^\s/@?#]+[^\s@?#]*$")] | None
    ) = None
    """Address of the collector, such as "http://localhost:4318"; `/v1/traces` is added."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Headers of each request, such as Authorization."""

    sample: float | None = Field(default=None, ge=0, le=1)
    """Share of the turns that are traced, from 0 to 1; all if neither this nor a variable says."""

    service_name: str | None = Field(default=None, min_length=1)
    """Name of this service; "parley" if neither this nor a variable says."""
