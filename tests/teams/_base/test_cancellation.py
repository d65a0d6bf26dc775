"""The promises of a cancellation token."""

import asyncio
import gc
import logging
import threading
import weakref

import pytest

from teams._base.cancellation import run_cancellable
from teams.core import CancellationToken


def test_cancelling_calls_each_callback_once():
    token, called = CancellationToken(), []
    token.add_callback(lambda: called.append("first"))
    token.add_callback(lambda: called.append("second"))
    assert not token.is_cancelled()
    token.cancel()
    token.cancel()
    assert token.is_cancelled()
    assert called == ["first", "second"]


def test_a_callback_added_after_cancelling_runs_at_once():
    token, called = CancellationToken(), []
    token.cancel()
    token.add_callback(lambda: called.append("late"))
    assert called == ["late"]


def test_a_removed_callback_is_not_called_and_not_kept():
    class Owner:
        def stop(self):
            raise AssertionError("removed")

    token, owner = CancellationToken(), Owner()
    token.add_callback(owner.stop)
    token.remove_callback(owner.stop)
    token.remove_callback(owner.stop)
    forgotten = weakref.ref(owner)
    del owner
    gc.collect()
    assert forgotten() is None
    token.cancel()


def test_a_callback_may_use_the_token_it_is_called_by():
    token, called = CancellationToken(), []
    token.add_callback(lambda: token.add_callback(lambda: called.append(token.is_cancelled())))
    token.cancel()
    assert called == [True]


def test_a_raising_callback_is_logged_and_the_others_are_called(caplog: pytest.LogCaptureFixture):
    token, called = CancellationToken(), []
    token.add_callback(lambda: 1 / 0)
    token.add_callback(lambda: called.append("still"))
    with caplog.at_level(logging.ERROR, logger="teams"):
        token.cancel()
    assert called == ["still"]
    assert "ZeroDivisionError" in caplog.text


async def test_cancelling_cancels_linked_futures():
    token = CancellationToken()
    future = token.link_future(asyncio.get_running_loop().create_future())
    token.cancel()
    assert future.cancelled()


async def test_a_future_linked_after_cancelling_is_cancelled():
    token = CancellationToken()
    token.cancel()
    assert token.link_future(asyncio.get_running_loop().create_future()).cancelled()


async def test_finished_futures_are_forgotten():
    token = CancellationToken()
    future = token.link_future(asyncio.get_running_loop().create_future())
    future.set_result(None)
    await asyncio.sleep(0)  # done callbacks run in the next turn of the loop
    forgotten = weakref.ref(future)
    del future
    gc.collect()
    assert forgotten() is None


async def test_a_token_cancelled_in_another_thread_cancels_in_the_loop_of_the_future():
    token = CancellationToken()
    future = token.link_future(asyncio.get_running_loop().create_future())
    thread = threading.Thread(target=token.cancel)
    thread.start()
    thread.join()
    with pytest.raises(asyncio.CancelledError):
        await future


async def test_cancellable_ends_the_coroutine_and_leaves_the_caller_uncancelled():
    token, ended = CancellationToken(), []

    async def wait():
        asyncio.get_running_loop().call_soon(token.cancel)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(asyncio.CancelledError):
        await run_cancellable(wait(), token)
    assert ended == [True]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("token", [None, CancellationToken()], ids=["without token", "with token"])
async def test_cancellable_hands_on_results_and_errors(token: CancellationToken | None):
    async def fail():
        raise KeyError("k")

    async def succeed():
        return 3

    assert await run_cancellable(succeed(), token) == 3
    with pytest.raises(KeyError):
        await run_cancellable(fail(), token)
