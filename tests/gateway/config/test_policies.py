"""Rules for tools, operators and approvers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateway.config.policies import DiffArguments, Policies, ToolPolicies


def test_a_tool_has_its_own_policy_or_none() -> None:
    tools = ToolPolicies.model_validate({"default": "allow", "rm": "deny", "ls": {"action": "ask"}})
    assert tools.default == "allow"
    assert {name: policy.action for name, policy in tools.named().items()} == {
        "rm": "deny",
        "ls": "ask",
    }
    rm = tools.of("rm")
    assert rm is not None
    assert rm.action == "deny"
    assert tools.of("cat") is None


def test_a_diff_names_a_pair_of_arguments() -> None:
    assert DiffArguments(old="a", new="b").named() == ["a", "b"]
    assert DiffArguments(path="p", content="c").named() == ["p", "c"]
    with pytest.raises(ValidationError, match="old and new, or for path and content"):
        DiffArguments(old="a", content="c")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"operators": ["U1"]}, "expected a person such as"),
        ({"approvals": ["slack:C1"]}, "expected a channel such as"),
        ({"timezone": "Berlin"}, "expected a time zone such as"),
        ({"live_links": ["https://a.example"]}, "expected a host such as"),
        ({"tools": {"rm": {"action": "ask", "approvers": ["me"]}}}, "'asker' or 'operators'"),
        ({"tools": {"rm": {"action": "ask", "quorum": 2}}}, "found 2, expected at most 1"),
        (
            {
                "tools": {
                    "rm": {"action": "ask", "cases": [{"action": "deny", "arguments": {"a": "("}}]}
                }
            },
            "a pattern that RE2 can match",
        ),
        ({"answer_missed_minutes": 15, "missed_days": 0}, "longer than missed_days"),
    ],
)
def test_a_policy_without_sense_is_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Policies.model_validate(data)


def test_a_quorum_counts_operators_and_approvers() -> None:
    data = {
        "operators": ["slack:T1:U1"],
        "tools": {"rm": {"action": "ask", "quorum": 3, "approvers": ["operators", "discord:1"]}},
    }
    rm = Policies.model_validate(data).tools.of("rm")
    assert rm is not None
    assert rm.quorum == 3
