"""Addresses of databases: which are taken, and what of them is shown."""

import pytest

from gateway.base.database_url import database_place


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://parley:p%40ss@db.example.com:6432/parley", "parley at db.example.com:6432"),
        ("postgres://parley:a:b?c#d@db/threads?sslmode=require", "threads at db:5432"),
        ("postgresql://db/parley", "parley at db:5432"),
        ("postgresql://u:w@[::1]:5433/parley", "parley at [::1]:5433"),
        ("postgresql://u:w@one:5432,two:5433/parley", "parley at one,two:5432,5433"),
        ("postgresql://u:w@/parley", "parley on this machine"),
        ("postgresql://u:w@/parley?host=/run/postgresql", "parley at /run/postgresql"),
        ("postgresql://u:w@%2Frun%2Fpostgresql/parley", "parley at /run/postgresql"),
    ],
)
def test_the_server_and_the_name_are_all_that_is_shown_of_an_address(url: str, place: str):
    assert str(database_place(url)) == place


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:pass-word@db/parley",
        "sqlite:///parley.db",
        "host=db password=pass-word",
        "postgresql://u:pass-word@db",
        "postgresql://u:pass-word@db/",
        "postgresql://u:pass-word/x@db/parley",
        "postgresql://u:pass-word@x@db/parley",
        "postgresql://u:pass-word@db:port/parley",
        "postgresql://db/parley?user=u&password=pass-word",
        "postgresql://u:pass-word@db/parley other",
        "",
    ],
)
def test_any_other_address_is_refused_without_a_word_of_it(url: str):
    with pytest.raises(ValueError, match='expected "postgresql://HOST:PORT/NAME"') as told:
        database_place(url)
    assert "pass-word" not in str(told.value)
