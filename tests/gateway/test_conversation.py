import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.conversation import ConversationKey, order_key

KEY = ConversationKey(platform="slack", workspace="T1", channel="C/2", root="1712.5", user="U 3")


def test_the_text_of_a_key_never_changes_between_releases():
    assert str(KEY) == "slack/T1/C%2F2/1712.5/U%203"
    assert str(ConversationKey.local("abc")) == "local///abc/"
    assert KEY.dedupe("edit", "1712.6", "1712.7") == "slack/T1/C%2F2/edit/1712.6/1712.7"


@given(st.lists(st.text(), min_size=5, max_size=5))
def test_any_key_is_read_back_from_its_text(parts):
    names = ("platform", "workspace", "channel", "root", "user")
    key = ConversationKey(**dict(zip(names, parts, strict=True)))
    assert ConversationKey.parse(str(key)) == key


def test_what_is_no_key_is_refused():
    with pytest.raises(ValueError, match="unpack"):
        ConversationKey.parse("slack/T1")


def test_events_of_one_message_have_keys_of_their_own():
    events = ("create", "edit", "delete", "click")
    keys = {KEY.dedupe(event, "1") for event in events}
    keys |= {KEY.dedupe("edit", "1", at) for at in ("1", "2")}
    assert len(keys) == 6


@given(st.tuples(*[st.decimals(min_value=0, max_value=10**19, places=6)] * 2))
def test_order_keys_sort_as_the_platforms_marks_do(marks):
    first, second = (f"{mark:f}" for mark in marks)
    assert (order_key(first) < order_key(second)) == (marks[0] < marks[1])


def test_what_is_no_mark_is_refused():
    for mark in ("", "1.x", "-1", "\u0664"):
        with pytest.raises(ValueError, match="decimal number"):
            order_key(mark)
