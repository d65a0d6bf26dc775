"""Decisions about a message."""

from typing import get_args

from gateway.store.decisions import Decision
from gateway.store.units import inbox


def test_every_decision_is_carried_out():
    assert {*inbox.CARRIED_OUT} == {*get_args(Decision)}
