"""Failures that are logged, and those that are not."""

import logging

import pytest

from adapters.tolerated import tolerated
from gateway.adapter import AuthError
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters")


@pytest.mark.parametrize("error", [GatewayError("no room"), TimeoutError("late")])
def test_a_failure_is_logged(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "adapters")
    with tolerated(LOG, "rename a thread"):
        raise error
    assert caplog.messages == [f"could not rename a thread: {error!r}"]


@pytest.mark.parametrize("error", [AuthError("token"), ValueError("bug")])
def test_others_are_raised(error: Exception) -> None:
    with pytest.raises(type(error)), tolerated(LOG, "rename a thread"):
        raise error
