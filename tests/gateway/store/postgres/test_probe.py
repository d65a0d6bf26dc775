"""Facts about a database; tests/gateway/app/test_database.py has what is made of them."""

import asyncio

from gateway.errors import StoreUnreachable
from gateway.store.postgres.database import Database
from gateway.store.postgres.probe import probe


async def refusal(database: Database) -> str:
    try:
        facts = await probe(database, 0.1)
    except StoreUnreachable as error:
        return str(error)
    raise AssertionError(facts)


async def test_a_server_that_never_answers_is_left_after_a_time():
    left = asyncio.Event()

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.set()

    async with await asyncio.start_server(keep_silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        database = Database(url=f"postgresql://parley:pass-word@127.0.0.1:{port}/parley")
        told = await refusal(database)
        await left.wait()
    assert f"parley at 127.0.0.1:{port} can't be reached: no answer within" in told
    assert "pass-word" not in told + repr(database)
