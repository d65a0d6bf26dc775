"""A bounded cache knows its newest values, and how old they are."""

from adapters.bounded_cache import BoundedCache


def test_the_oldest_is_forgotten_when_there_are_too_many() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert [cache.get(name) for name in "abc"] == [3, None, 4]
    cache.forget("c")
    cache.forget("c")
    assert cache.get("c") is None


def test_a_value_is_asked_for_by_its_age() -> None:
    now = [0.0]
    cache = BoundedCache[str, bool](2, lambda: now[0])
    cache.put("a", False)
    now[0] = 9.0
    assert cache.get("a", 10.0) is False
    now[0] = 10.0
    assert cache.get("a", 10.0) is None
    assert cache.get("a") is False
