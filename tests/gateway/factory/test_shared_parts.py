"""Parts that threads share."""

from gateway.factory.shared_parts import SharedParts


class Part:
    is_open = True

    async def close(self) -> None:
        self.is_open = False


async def test_a_part_is_made_once_for_its_key_and_closed_in_the_end() -> None:
    parts = SharedParts()
    first = parts.get(("a", 1), Part)
    assert parts.get(("a", 1), Part) is first
    other = parts.get(("a", 2), Part)
    assert first is not other
    await parts.aclose()
    assert not first.is_open
    assert not other.is_open
    assert parts.get(("a", 1), Part) is not first
