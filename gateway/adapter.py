"""What a chat platform's module is to the gateway, and how its name in config.toml leads to it.

`[adapters.NAME]` is the module `adapters.NAME`. It exports `Config`, the type of its table, and
`build(config)`, which makes its Adapter without touching the network. Reading it must be cheap: it
loads its platform's SDK in `build` at the earliest. It may have `check(config, routes)`, which
`parley check` asks (see Check), and `commands`, a click group that is `parley NAME`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gateway.errors import GatewayError
from gateway.values import value

if TYPE_CHECKING:
    from gateway.config.routes import Route
    from gateway.gateway import Gateway


class AuthError(GatewayError):
    """The platform refused the credentials; the text says which, and never their value."""


class Adapter(Protocol):
    """The connection to one platform."""

    @property
    def name(self) -> str:
        """Its name in [adapters]."""
        ...

    async def run(self, gateway: Gateway) -> None:
        """Connect, and hand in what arrives with `gateway.accept`, until cancelled.

        Each frame that comes in, a heartbeat, too, is told to `gateway.vitals.frame(self.name)`:
        a platform that is silent for two minutes counts as lost.

        Raises AuthError for credentials that no further try would help.
        """
        ...


@value
class Checked:
    """What a platform says to its settings: a line about them, and what is wrong, each with what
    to do.
    """

    text: str
    problems: tuple[str, ...] = ()


class Check(Protocol):
    """Tries a platform's settings out without changing anything there."""

    async def __call__(self, config: Any, routes: Sequence[Route]) -> Checked:
        """What is found out; raises nothing for what is the settings' or the platform's fault."""
        ...
