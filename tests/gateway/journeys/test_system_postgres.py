"""Journeys on the system's own PostgreSQL, such as Debian's 15.

Each is a test of another module, which runs there on the version that comes with the packages.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.fakes.postgres_databases import FOLDER, GIVEN, PREFIX, STORE, beginning, make_database
from tests.fakes.postgres_server import PostgresServer, systems_programs
from tests.gateway.journeys import test_claims as claims
from tests.gateway.journeys import test_nodes as nodes
from tests.gateway.journeys import test_requests as requests
from tests.gateway.journeys import test_resume as resume
from tests.gateway.journeys import test_search as search
from tests.gateway.store import test_contract as contract
from tests.gateway.store.units import test_threads as threads

PROGRAMS = systems_programs()
NUMBERS = count()

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason="the system has no PostgreSQL of its own")


@pytest.fixture(scope="module")
def folder(postgres_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that names the system's server, not the run's."""
    folder = tmp_path_factory.mktemp("system")
    with PostgresServer(system=PROGRAMS) as server:
        (folder / GIVEN).write_text(server.url)
        yield folder


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(folder))
    monkeypatch.setenv(STORE, "postgres")
    monkeypatch.setenv(PREFIX, f"{beginning()}{next(NUMBERS)}_")


@pytest.fixture
def postgres_url() -> str:
    return make_database("url")


def test_the_server_is_the_systems(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        version = connection.info.server_version // 10_000
    assert PROGRAMS is not None
    assert str(version) == PROGRAMS.parent.name


test_restart = contract.test_what_was_stored_is_there_after_a_restart
test_undone = contract.test_a_unit_that_fails_leaves_nothing_and_others_beside_it_stay
test_many = contract.test_units_of_many_tasks_are_all_carried_out
test_case = threads.test_threads_are_found_by_title_and_text_whatever_the_case
test_values = contract.test_a_value_that_no_try_can_store_is_refused_at_once_and_alone
test_texts = contract.test_texts_come_back_as_they_were_and_are_never_statements
test_work_folder = contract.test_the_work_folder_of_a_thread_is_deleted_with_it
test_whole_text = search.test_a_whole_text_can_be_searched_for
test_found = search.test_what_was_said_is_found_at_once_and_leaves_nothing_once_deleted
test_crash = resume.test_a_message_that_was_being_written_is_shown_again_and_then_replaced
test_order = resume.test_waiting_messages_survive_a_crash_in_their_order
test_burst = claims.test_a_burst_runs_no_more_turns_than_may_and_each_message_once
test_approvals = requests.test_several_people_approve_and_each_of_them_counts_once
test_two_nodes = nodes.test_messages_that_come_in_at_any_node_have_one_turn_each_in_order
test_lease = nodes.test_a_lease_has_one_holder_until_that_node_is_gone
