"""kill -9 between post and record: nothing is lost or doubled."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.fakes.forked import forked
from tests.gateway.delivery.child import WORDS

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60)]


async def run(folder: Path, file: Path, call: str, when: str) -> int:
    process = await forked(
        *("tests.gateway.delivery.child", str(folder), str(file), call, when),
        folder=ROOT,
        environment={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        log=file.with_name("log"),
    )
    return await asyncio.wait_for(process.wait(), 25)


def stands(file: Path) -> dict[str, str]:
    """The platform's messages by their ids, as they read now."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    posts = [line["id"] for line in lines if "edit" not in line]
    assert len(posts) == len(set(posts)), "something was posted twice"
    assert not any(line["unsure"] for line in lines)
    return {line["id"]: line["text"] for line in lines}


@pytest.mark.parametrize(
    ("call", "when"),
    [("post", "before"), ("post", "after"), ("edit", "before"), ("edit", "after")],
    ids=["attempt noted", "posted", "about to edit", "edited"],
)
async def test_a_process_that_is_killed_leaves_nothing_lost_or_doubled(
    tmp_path: Path, call: str, when: str
) -> None:
    file = tmp_path / "platform"
    assert await run(tmp_path / "store", file, call, when) == -signal.SIGKILL
    assert await run(tmp_path / "store", file, "never", "") == 0
    texts = [text for text in stands(file).values() if text.startswith("word")]
    assert texts == ["".join(WORDS)]
