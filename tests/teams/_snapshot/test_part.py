"""Parts of the compact state, and their checksum."""

from __future__ import annotations

import pytest

from teams._snapshot.part import Block, Part, from_bytes, read_part, to_bytes, write_part

PART = Part(
    number=3,
    blocks=[Block(2, b'[["1"],{"type":"Ping"}]', {"Ping": [1]}), Block(1, b'[["3"]]', {})],
    lists={"a/inbox": (2, b"[1,2]"), "thread": ([1], b"[7]")},
    values={"run": b'{"turn":1}'},
)


@pytest.mark.parametrize("part", [PART, Part(0, [], {}, {})], ids=["full", "empty"])
def test_a_part_reads_back(part: Part):
    read = read_part(0, write_part(part))
    assert read.number == part.number
    assert list(read.blocks) == list(part.blocks)
    assert dict(read.lists) == part.lists
    assert dict(read.values) == part.values


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (write_part(PART)[:-1], "is damaged"),
        (b'{"parley_state":1}\n', "Commit 1482369 still reads it"),
        (b'{"parley_state":9}\n', "has version 9; this release reads up to 2"),
        (b"[]\n", "is not a part of a team's state"),
        (b"\xff", "is not JSON"),
    ],
    ids=["cut", "old", "new", "foreign", "no JSON"],
)
def test_anything_else_is_refused_with_its_place(data: bytes, said: str):
    with pytest.raises(ValueError, match=f"Part 4 of the saved state {said}|{said}"):
        read_part(4, data)


@pytest.mark.parametrize("value", [None, "ä\n", {"a": [1, 2.5]}, "half \ud800"], ids=repr)
def test_a_value_is_one_line(value: object):
    data = to_bytes(value)
    assert b"\n" not in data
    assert from_bytes(data) == value
