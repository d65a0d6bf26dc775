"""The cause of an error."""

from __future__ import annotations

from gateway.errors import GatewayError, causes


def test_an_error_that_is_raised_from_the_group_it_stood_in_is_told_once() -> None:
    refused, other = GatewayError("refused"), ValueError("other")
    group = ExceptionGroup("both", [refused, other])
    try:
        raise refused from group
    except GatewayError as error:
        found = list(causes(error))
    assert found == [refused, group, other]
