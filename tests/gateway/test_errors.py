"""The tree of errors, and the causes of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway import errors
from gateway.errors import GatewayError, causes


def test_an_error_that_is_raised_from_the_group_it_stood_in_is_told_once() -> None:
    refused, other = GatewayError("refused"), ValueError("other")
    group = ExceptionGroup("both", [refused, other])
    try:
        raise refused from group
    except GatewayError as error:
        found = list(causes(error))
    assert found == [refused, group, other]


def bases(kind: type[Exception]) -> Iterator[tuple[str, str]]:
    for inner in kind.__subclasses__():
        if inner.__module__ == errors.__name__:
            yield inner.__name__, kind.__name__
            yield from bases(inner)


def test_the_drawn_tree_has_each_class_below_its_base() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    for lead, name in re.findall(r"^([│├└─ ]*)([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE):
        if hasattr(errors, name):
            above[len(lead) // 4 :] = [name]
            drawn |= {name: above[-2]} if lead else {}
    assert drawn == dict(bases(GatewayError))
