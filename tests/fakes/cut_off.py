"""A node that a test cuts off from its database."""

from __future__ import annotations

import pytest

from gateway.errors import NodeCutOff
from gateway.inbound.capabilities import HostLeases


class CutOff:
    """Cuts the gateways of this process off while it `lasts`.

    `refused` counts what they did not do.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lasts = False
        self.refused = 0
        monkeypatch.setattr(HostLeases, "check_speaking", lambda _: self._check())

    def _check(self) -> None:
        if self.lasts:
            self.refused += 1
            raise NodeCutOff
