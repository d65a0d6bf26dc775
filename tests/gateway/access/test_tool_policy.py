"""`[policies.tools]` applied to calls."""

from dataclasses import replace
from time import monotonic

import pytest

from gateway.access.tool_policy import argument_names, tool_rule
from gateway.config.policies import Policies
from gateway.conversation import LOCAL_OPERATOR, Author
from gateway.registry import ToolRule
from teams.base import ToolCall
from teams.code_executor import EXECUTE_CODE

ANN = Author(id="chat:T1:ann", groups=frozenset({"R1"}))
BOSS = Author(id="chat:T1:boss")


def call(name="send", arguments="{}", **more) -> ToolCall:
    return ToolCall(key="k", id="1", name=name, arguments=arguments, agent=("a",), **more)


def policies(**tools) -> Policies:
    return Policies.model_validate({"operators": [BOSS.id], "tools": tools})


def rule(tools: dict, a_call: ToolCall | None = None, asker: Author = ANN, team: str = "desk"):
    return tool_rule(policies(**tools), team, a_call or call(), asker)


@pytest.mark.parametrize(
    ("case", "team", "asker", "arguments", "action"),
    [
        ({"teams": ["desk"]}, "desk", ANN, "{}", "allow"),
        ({"teams": ["desk"]}, "other", ANN, "{}", "deny"),
        ({"roles": ["R1"]}, "desk", ANN, "{}", "allow"),
        ({"roles": ["R2"]}, "desk", ANN, "{}", "deny"),
        ({"roles": ["operators"]}, "desk", BOSS, "{}", "allow"),
        ({"roles": ["operators"]}, "desk", LOCAL_OPERATOR, "{}", "allow"),
        ({"roles": ["operators"]}, "desk", ANN, "{}", "deny"),
        (
            {"arguments": {"to": r".+@example\.com"}},
            "desk",
            ANN,
            '{"to": "a@example.com"}',
            "allow",
        ),
        (
            {"arguments": {"to": r".+@example\.com"}},
            "desk",
            ANN,
            '{"to": "a@example.com.evil"}',
            "deny",
        ),
        ({"arguments": {"to": ".*"}}, "desk", ANN, "{}", "deny"),
        ({"arguments": {"to": ".*"}}, "desk", ANN, '{"to": "x", broken', "deny"),
        ({"arguments": {"to": ".*"}}, "desk", ANN, '["to"]', "deny"),
        ({"arguments": {"n": "[1-9]"}}, "desk", ANN, '{"n": 7}', "allow"),
        ({"arguments": {"n": "[1-9]"}}, "desk", ANN, '{"n": 70}', "deny"),
        ({"arguments": {"all": "false"}}, "desk", ANN, '{"all": false}', "allow"),
        pytest.param(
            {"arguments": {"to": "x+"}},
            "desk",
            ANN,
            f'{{"to": "{"x" * 100_001}"}}',
            "allow",
            id="long",
        ),
        ({"arguments": {"to": "x"}}, "desk", ANN, '{"to": "x\\n"}', "deny"),
        ({"teams": ["desk"], "roles": ["R2"]}, "desk", ANN, "{}", "deny"),
    ],
)
def test_a_case_holds_where_all_its_conditions_do(case, team, asker, arguments, action):
    tools = {"send": {"action": "deny", "cases": [{**case, "action": "allow"}]}}
    found = rule(tools, call(arguments=arguments), asker, team)
    assert (found.action, found.reason) == (action, "policies.tools.send")


def test_the_first_case_that_fits_decides():
    cases = [
        {"arguments": {"path": r"/tmp/.*\.\..*"}, "action": "deny"},
        {"arguments": {"path": "/tmp/.*"}, "action": "allow"},
    ]
    tools = {"send": {"action": "ask", "cases": cases}}
    actions = [
        rule(tools, call(arguments=f'{{"path": "{path}"}}')).action
        for path in ("/tmp/../etc", "/tmp/a", "/etc")
    ]
    assert actions == ["deny", "allow", "ask"]


@pytest.mark.parametrize("name", [EXECUTE_CODE, "CodeExecutor"])
@pytest.mark.parametrize("default", ["allow", "ask"])
def test_code_is_not_executed_unless_the_config_says_so_by_name(name, default):
    assert rule({"default": default}, call(name)).action == "deny"
    assert rule({"default": default, name: {"action": "ask"}}, call(name)).action == "ask"


def test_what_a_tool_says_of_itself_holds_unless_the_config_says_otherwise():
    honest = call(idempotent=True, read_only=True)
    silent = rule({"send": {"action": "allow"}}, honest)
    assert (silent.idempotent, silent.read_only) == (True, True)
    loud = rule({"send": {"action": "allow", "read_only": False, "idempotent": False}}, honest)
    assert (loud.idempotent, loud.read_only) == (False, False)
    default = rule({"default": "allow"}, honest)
    assert (default.idempotent, default.read_only) == (True, True)


def test_approvers_and_how_far_an_approval_goes_are_the_tools_own():
    found = rule({"send": {"action": "ask", "approvers": [BOSS.id], "always_allowed": False}})
    assert (found.approvers, found.always_allowed) == ((BOSS.id,), False)


def test_a_usual_rule_gives_way_to_the_config():
    usual = ToolRule(action="allow", read_only=True)
    assert tool_rule(policies(), "demo", call(), ANN, usual=usual) is usual
    own = policies(send={"action": "deny"})
    assert tool_rule(own, "demo", call(), ANN, usual=usual).action == "deny"


WRONG = {"cases": [{"arguments": {"txet": "secret.*"}, "action": "deny"}], "action": "allow"}


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        (WRONG, "cases[0].arguments"),
        ({"action": "allow", "paths": ["txet"]}, "paths"),
        ({"action": "allow", "diff": {"old": "text", "new": "txet"}}, "diff"),
        ({"action": "allow", "diff": {"path": "txet", "content": "text"}}, "diff"),
        ({**WRONG, "action": "ask"}, "cases[0].arguments"),
    ],
)
def test_a_rule_for_an_argument_that_the_tool_lacks_denies_it(policy, place):
    tools = {"shop/price": policy}
    policies = Policies.model_validate({"tools": tools})
    schema = {"name": "price", "parameters": {"type": "object", "properties": {"text": {}}}}
    known = ToolCall(
        key="", id="", name="price", arguments="{}", agent=(), server="shop", schema=schema
    )
    found = tool_rule(policies, "t", known, LOCAL_OPERATOR)
    assert found.action == "deny"
    assert found.mistake == found.reason
    assert place in found.mistake
    assert "did you mean 'text'?" in found.mistake
    assert tool_rule(policies, "t", replace(known, schema=None), LOCAL_OPERATOR).mistake == ""
    anything = {**schema, "parameters": {"additionalProperties": True}}
    assert tool_rule(policies, "t", replace(known, schema=anything), LOCAL_OPERATOR).mistake == ""


@pytest.mark.parametrize("given", [5, True, "item", ["item"], [{"item": {}}], None])
def test_a_schema_whose_properties_are_none_has_no_arguments(given):
    policies = Policies.model_validate(
        {"tools": {"shop/price": {"action": "ask", "paths": ["item"]}}}
    )
    schema = {"name": "price", "parameters": {"type": "object", "properties": given}}
    call = ToolCall(
        key="", id="", name="price", arguments="{}", agent=(), server="shop", schema=schema
    )
    rule = tool_rule(policies, "t", call, LOCAL_OPERATOR)
    assert (rule.action, argument_names(schema)) == ("deny", ())
    assert rule.mistake.endswith("found 'item', expected an argument of shop/price; it has none")


@pytest.mark.parametrize(
    "names",
    [
        [f"argument{n}" for n in range(100_000)],
        [f"itam{n}" for n in range(100_000)],
        ["x" * 1_000_000],
        ["a\nline of its own", "\x1b[2J", "\u202e"],
        [],
    ],
    ids=["many", "alike", "long", "steering", "none"],
)
def test_a_server_s_names_fill_no_log(names):
    schema = {"name": "price", "parameters": {"properties": {key: {} for key in names}}}
    policies = Policies.model_validate(
        {"tools": {"shop/price": {"action": "ask", "paths": ["item"]}}}
    )
    asked = replace(call("price"), server="shop", schema=schema)
    began = monotonic()
    mistake = tool_rule(policies, "t", asked, LOCAL_OPERATOR).mistake
    assert monotonic() - began < 1
    assert len(mistake) < 2_000
    assert mistake.isprintable()
