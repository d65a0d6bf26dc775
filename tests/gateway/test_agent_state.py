"""Sums of what answers have used."""

from gateway.agent_state import Used
from gateway.events import Usage
from gateway.picture import Picture


def usage(agent: str, cost: float | None) -> Usage:
    return Usage(thread="", agent=agent, prompt_tokens=10, completion_tokens=5, cost=cost)


def test_what_answers_cost_is_summed_where_it_is_known():
    picture = Picture()
    for event in (usage("a", 0.25), usage("b", None), usage("a", 0.5)):
        picture.apply(event)
    assert picture.used == Used(read=30, written=15, cost=0.75, unpriced=15)
    assert picture.used.tokens == 45
    used = {name: state.used for name, state in picture.agents.items()}
    assert used == {"a": Used(20, 10, cost=0.75), "b": Used(10, 5, unpriced=15)}
