"""Statements of units, as PostgreSQL understands them."""

import pytest

from gateway.store.postgres.dialect import translated


@pytest.mark.parametrize(
    ("statement", "text", "names"),
    [
        ("SELECT :a, :b_2, :a", "SELECT $1, $2, $1", ("a", "b_2")),
        ("SELECT ':a' || :a, 'it''s :b'", "SELECT ':a' || $1, 'it''s :b'", ("a",)),
        ("SELECT :a::bigint", "SELECT $1::bigint", ("a",)),
        ("WHERE id > 1 AND +author = :a", "WHERE id > 1 AND author = $1", ("a",)),
        ("SELECT 1 + n, a+b, (+n)", "SELECT 1 + n, a+b, (n)", ()),
        (
            "SELECT CAST(at / :day AS INTEGER) || :x",
            "SELECT trunc(at / $1)::bigint || $2",
            ("day", "x"),
        ),
        (
            "SELECT a FROM t /*pg FOR UPDATE SKIP LOCKED*/",
            "SELECT a FROM t FOR UPDATE SKIP LOCKED",
            (),
        ),
        (
            "SELECT a /*pg FROM t\n WHERE b*/ /*pg LIMIT 1*/",
            "SELECT a FROM t\n WHERE b LIMIT 1",
            (),
        ),
        ("SELECT a /* why */ FROM t LIMIT :most", "SELECT a /* why */ FROM t LIMIT $1", ("most",)),
    ],
)
def test_statements_are_translated(statement, text, names):
    assert translated(statement) == (text, names)
