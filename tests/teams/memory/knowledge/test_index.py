"""The file of an index: crashes, other processes, broken files, versions."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
from array import array
from pathlib import Path

import pytest

from teams.memory.knowledge._index import (
    CANDIDATES,
    Index,
    Known,
    find,
    known_sources,
    put_source,
    put_vectors,
    remove_sources,
    without_vectors,
)

NONE = array("f")

WRITER = """
import asyncio, sys
from pathlib import Path
from teams.memory.knowledge._index import Index, Known, put_source

async def main():
    index = Index(Path(sys.argv[1]))
    for number in range(100_000):
        text = f"round {number}\\n\\n" * 2000
        await index.call(put_source, f"{sys.argv[2]}{number % 7}", Known("", "", ""), text)
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.fixture
async def index(tmp_path: Path):
    index = Index(tmp_path / "below" / "docs.sqlite")
    yield index
    index.close()


async def put(index: Index, name: str, text: str) -> None:
    await index.call(put_source, name, Known("1", "2", ""), text)


async def sources_for(index: Index, question: str) -> list[str]:
    return sorted(hit[0] for hit in await index.call(find, question, 10, "", NONE))


async def test_it_is_for_its_user_alone(index, tmp_path):
    await put(index, "a", "apple")
    for file in (tmp_path / "below").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    assert (tmp_path / "below").stat().st_mode & 0o077 == 0


async def test_nothing_is_left_of_what_is_removed_or_replaced(index, tmp_path):
    await put(index, "a", "apple")
    await put(index, "b", "banana")
    model, vector = "m", array("f", [1.0, 0.0])
    passages = await index.call(without_vectors, model, 10)
    await index.call(put_vectors, model, passages, [vector] * 2)
    await put(index, "a", "cherry")
    assert await sources_for(index, "apple") == []
    assert await sources_for(index, "cherry") == ["a"]
    await index.call(remove_sources, ["a", "b"])
    for table in ("sources", "passages", "vectors", "words"):
        count = await index.call(
            lambda c, t=table: c.execute(f"SELECT count(*) FROM {t}").fetchone()
        )
        assert count == (0,), table


async def test_a_vector_of_a_text_that_has_changed_is_dropped(index):
    await put(index, "a", "apple")
    stale = await index.call(without_vectors, "m", 10)
    await put(index, "a", "cherry")
    await index.call(put_vectors, "m", stale, [array("f", [1.0])])
    assert [text for _, text in await index.call(without_vectors, "m", 10)] == ["cherry"]


async def test_vectors_find_the_nearest_of_many_and_both_lists_count(index):
    draw = random.Random(3)
    texts = [f"item{number}" for number in range(CANDIDATES * 2)]
    vectors = [array("f", (draw.gauss(0, 1) for _ in range(64))) for _ in texts]
    for text in texts:
        await index.call(lambda c, t=text: put_source(c, t, Known("", "", ""), t))
    passages = await index.call(without_vectors, "m", len(texts))
    await index.call(put_vectors, "m", passages, vectors)
    assert await index.call(without_vectors, "m", 1) == []
    wanted = dict(passages)
    for (place, text), vector in list(zip(passages, vectors, strict=True))[::97]:
        near = array("f", (number + draw.gauss(0, 0.3) for number in vector))
        hits = await index.call(find, "nothing of this", 1, "m", near)
        assert hits[0][0] == text == wanted[place]
    [first, *_] = await index.call(find, "item7", 3, "m", vectors[7])
    assert first[0] == "item7"
    assert first[4] == pytest.approx(2 / 61)


@pytest.mark.parametrize("damage", ["text", "version", "middle"])
async def test_a_broken_file_or_one_of_another_version_is_begun_anew(tmp_path, damage):
    path = tmp_path / "docs.sqlite"
    index = Index(path)
    for number in range(40):
        await put(index, f"s{number}", f"word{number} " * 500)
    index.close()
    match damage:
        case "text":
            path.write_text("My own notes, given as the index by mistake. " * 200)
        case "version":
            with sqlite3.connect(path) as base:
                base.execute("PRAGMA user_version = 99")
            base.close()
        case _:
            data = bytearray(path.read_bytes())
            data[4096 * 2 :] = b"\x55" * (len(data) - 4096 * 2)
            path.write_bytes(data)
    before = path.read_bytes()
    assert await index.call(known_sources) == {}
    await put(index, "a", "apple")
    assert await sources_for(index, "apple") == ["a"]
    index.close()
    assert (tmp_path / "docs.sqlite.broken").read_bytes() == before  # nothing is lost


async def test_an_index_that_can_not_be_written_is_not_thrown_away(tmp_path):
    (tmp_path / "file").write_text("x")
    index = Index(tmp_path / "file" / "docs.sqlite")
    with pytest.raises(OSError, match=r"exists|directory"):
        await index.call(known_sources)
    index.close()


async def start(path: Path, name: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(path), name, stdout=asyncio.subprocess.PIPE
    )


async def test_two_processes_write_one_index_and_a_kill_leaves_it_whole(tmp_path):
    path = tmp_path / "docs.sqlite"
    writers = [await start(path, "a"), await start(path, "b")]
    try:
        for writer in writers:
            assert writer.stdout is not None
            while int(await writer.stdout.readline()) < 10:
                pass
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            await writer.communicate()
    index = Index(path)
    assert len(await index.call(known_sources)) == 14
    sound = await index.call(lambda c: c.execute("PRAGMA integrity_check").fetchall())
    assert sound == [("ok",)]
    await index.call(lambda c: c.execute("INSERT INTO words(words) VALUES ('integrity-check')"))
    counts = await index.call(
        lambda c: c.execute(
            "SELECT (SELECT count(*) FROM passages), (SELECT count(*) FROM words), "
            "(SELECT count(*) FROM passages WHERE source NOT IN (SELECT id FROM sources))"
        ).fetchone()
    )
    assert counts[0] == counts[1] > 0
    assert counts[2] == 0
    assert not (tmp_path / "docs.sqlite.broken").exists()
    index.close()
