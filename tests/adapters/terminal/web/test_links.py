"""One-time links, their cookies, and the one process of a folder."""

import stat

import pytest

from adapters.terminal.web.links import AlreadyRuns, Cookies, Links, only_one, sign_out
from gateway.errors import GatewayError
from tests.adapters.terminal.web.served import Now


def test_a_link_is_taken_once_and_has_128_bits(tmp_path):
    now = Now()
    links, others = Links(tmp_path, now), Links(tmp_path, now)
    keys = {links.make() for _ in range(20)}
    assert {len(key) for key in keys} == {22}  # of 64 letters: 16 bytes
    for key in keys:
        assert others.take(key)
        assert not links.take(key)
    assert not [*tmp_path.iterdir()]


def test_a_folder_tells_no_key(tmp_path):
    key = Links(tmp_path).make()
    (file,) = tmp_path.iterdir()
    assert key not in file.name + file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_ends_after_ten_minutes(tmp_path):
    now = Now()
    links = Links(tmp_path, now)
    young, old = links.make(), links.make()
    now.at += 599
    assert links.take(young)
    now.at += 1
    assert not links.take(old)


def test_a_cookie_counts_for_twelve_hours_or_until_all_are_signed_out(tmp_path):
    now = Now()
    links = Links(tmp_path, now)
    cookies = Cookies(links, now)
    first = cookies.make()
    assert cookies.counts(first)
    assert not any(map(cookies.counts, ["", "x", first[:-1], "\ud83d"]))
    now.at += 12 * 3600 - 1
    assert cookies.counts(first)
    now.at += 1
    assert not cookies.counts(first)
    second = cookies.make()
    links.sign_out()
    assert not cookies.counts(second)
    assert cookies.counts(cookies.make())


def test_a_folder_has_one_process_that_tells_its_address(tmp_path):
    with only_one(tmp_path / "web") as tell:
        with pytest.raises(AlreadyRuns) as starting, only_one(tmp_path / "web"):
            pass
        assert starting.value.address == ""
        tell("http://127.0.0.1:1")
        with pytest.raises(AlreadyRuns) as caught, only_one(tmp_path / "web"):
            pass
        assert caught.value.address == "http://127.0.0.1:1"
        assert "signed out" in sign_out(tmp_path / "web")
    assert "no browser is signed in" in sign_out(tmp_path / "web")


def test_a_folder_that_cant_be_made_gets_a_sentence(tmp_path):
    folder = tmp_path / "web"
    folder.write_text("")
    with pytest.raises(GatewayError, match="can't be used: File exists"), only_one(folder):
        pass
