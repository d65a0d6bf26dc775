"""The way of a request through several models, and their rests."""

from __future__ import annotations

import pytest

from teams.models import BadRequest, ModelError, ModelUnavailable, OutOfQuota, RateLimited
from teams.models._course import FIRST_REST, LONGEST_REST, Course, Member, Rest, resting_last
from tests.fakes.scripted_model import ScriptedModel

FAILED = ModelUnavailable("It failed.")
PAID = OutOfQuota("Nothing is left.")


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (FAILED, FIRST_REST),
        (PAID, LONGEST_REST),
        (RateLimited("Too many.", retry_after=7), 7),
        (RateLimited("Too many.", retry_after=7_000), LONGEST_REST),
    ],
    ids=["passing", "lasting", "asked for", "asked for too long"],
)
def test_a_model_rests_as_long_as_its_failure_lasts(error: ModelError, seconds: float):
    rest = Rest()
    assert rest.rest(error, 100.0)
    assert rest.rests_until == 100.0 + seconds
    assert rest.because is type(error)


def test_a_rest_doubles_until_an_answer_comes():
    rest = Rest()
    rest.rest(FAILED, 0.0)
    assert not rest.rest(FAILED, 1.0)  # a request beside it
    assert rest.rest(FAILED, 100.0)
    assert rest.rests_until == 100.0 + 2 * FIRST_REST
    rest.recover()
    assert (rest.failures, rest.rests_until) == (0, 0.0)


def test_models_at_rest_come_last():
    one, two, three = Rest(rests_until=9.0), Rest(), Rest(rests_until=1.0)
    assert resting_last([one, two, three], 5.0) == [two, three, one]


class Request:
    """A course through models of these names, and its waits."""

    def __init__(self, *names: str, attempts: int = 2) -> None:
        self.waited: list[float] = []
        self.members = [Member(client=ScriptedModel(), name=name) for name in names]
        self.course = Course(self.members, attempts, 30.0, clock=lambda: 0.0, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


async def test_a_passing_error_is_tried_again_after_a_wait_and_then_elsewhere():
    request = Request("one", "two")
    one, two = (member.client for member in request.members)
    assert await request.course.client(None) is one
    request.course.failed(FAILED)
    assert await request.course.client(None) is one
    assert request.waited == [1.0]
    request.course.failed(FAILED)
    assert await request.course.client(None) is two
    assert request.waited == [1.0]
    assert request.members[0].rests_until == FIRST_REST


def test_the_last_error_names_the_others():
    course = Request("one", "two", attempts=1).course
    course.failed(PAID)
    with pytest.raises(ModelUnavailable) as caught:
        course.failed(FAILED)
    assert caught.value.__notes__ == [
        "The model one was asked, too: OutOfQuota: Nothing is left.",
    ]


def test_an_error_of_the_request_goes_up_and_lets_no_model_rest():
    request = Request("one", "two")
    error = BadRequest("No.")
    with pytest.raises(BadRequest):
        request.course.failed(error)
    assert not request.course.rest(error)
    assert request.course.rest(PAID)
    assert not request.course.rest(PAID)
