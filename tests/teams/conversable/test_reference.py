"""Each member of the reference, with parameters and defaults."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest

from teams.conversable import ConversableAgent, register_function

REFERENCE = """
def __init__(name, system_message="You are a helpful AI Assistant.", is_termination_msg=None,
    max_consecutive_auto_reply=None, human_input_mode="TERMINATE", function_map=None,
    code_execution_config=False, llm_config=None, default_auto_reply="", description=None,
    chat_messages=None, silent=None, context_variables=None)
property name()
property description()
property code_executor()
def register_reply(trigger, reply_func, position=0, config=None, reset_config=None, *,
    ignore_async_in_sync_chat=False, remove_other_reply_funcs=False)
def replace_reply_func(old_reply_func, new_reply_func)
def register_nested_chats(chat_queue, trigger,
    reply_func_from_nested_chats="summary_from_nested_chats", position=2, use_async=None,
    **kwargs)
def get_context(key, default=None)
def set_context(key, value)
def update_context(context_variables)
def pop_context(key, default=None)
property system_message()
def update_system_message(system_message)
def update_max_consecutive_auto_reply(value, sender=None)
def max_consecutive_auto_reply(sender=None)
property chat_messages()
def chat_messages_for_summary(agent)
def last_message(agent=None)
property use_docker()
def send(message, recipient, request_reply=None, silent=False)
async def a_send(message, recipient, request_reply=None, silent=False)
def receive(message, sender, request_reply=None, silent=False)
async def a_receive(message, sender, request_reply=None, silent=False)
def initiate_chat(recipient, clear_history=True, silent=False, cache=None, max_turns=None,
    summary_method="last_msg", summary_args={}, message=None, **kwargs)
async def a_initiate_chat(recipient, clear_history=True, silent=False, cache=None,
    max_turns=None, summary_method="last_msg", summary_args={}, message=None, **kwargs)
def initiate_chats(chat_queue)
def get_chat_results(chat_index=None)
def reset()
def stop_reply_at_receive(sender=None)
def reset_consecutive_auto_reply_counter(sender=None)
def clear_history(recipient=None, nr_messages_to_preserve=None)
def generate_oai_reply(messages=None, sender=None, config=None)
async def a_generate_oai_reply(messages=None, sender=None, config=None)
def generate_code_execution_reply(messages=None, sender=None, config=None)
def generate_function_call_reply(messages=None, sender=None, config=None)
async def a_generate_function_call_reply(messages=None, sender=None, config=None)
def generate_tool_calls_reply(messages=None, sender=None, config=None)
async def a_generate_tool_calls_reply(messages=None, sender=None, config=None)
def check_termination_and_human_reply(messages=None, sender=None, config=None)
async def a_check_termination_and_human_reply(messages=None, sender=None, config=None)
def generate_reply(messages=None, sender=None, **kwargs)
async def a_generate_reply(messages=None, sender=None, **kwargs)
def get_human_input(prompt)
async def a_get_human_input(prompt)
def run_code(code, **kwargs)
def execute_code_blocks(code_blocks)
def execute_function(func_call, verbose=False)
async def a_execute_function(func_call)
def generate_init_message(message, **kwargs)
async def a_generate_init_message(message, **kwargs)
def register_function(function_map)
def update_function_signature(func_sig, is_remove)
def update_tool_signature(tool_sig, is_remove)
def can_execute_function(name)
property function_map()
def register_for_llm(*, name=None, description=None, api_style="tool")
def register_for_execution(name=None)
def register_model_client(model_client_cls, **kwargs)
def register_hook(hookable_method, hook)
def update_agent_state_before_reply(messages)
def process_all_messages_before_reply(messages)
def process_last_received_message(messages)
def print_usage_summary(mode=["actual", "total"])
def get_actual_usage()
def get_total_usage()
"""
SIGNATURES = re.sub(r"\n {4,}", " ", REFERENCE).strip().splitlines()
REGISTER_FUNCTION = "def register_function(f, *, caller, executor, name=None, description)"


def parameters(signature: str) -> list[tuple[str, str, Any]]:
    """Name, kind and default of each parameter, as the reference prints them."""
    arguments = ast.parse(f"{signature[signature.index('def') :]}: ...").body[0].args  # type: ignore[attr-defined]
    empty = inspect.Parameter.empty
    defaults = [empty] * (len(arguments.args) - len(arguments.defaults))
    defaults += [ast.literal_eval(default) for default in arguments.defaults]
    found = [
        (argument.arg, "positional or keyword", default)
        for argument, default in zip(arguments.args, defaults, strict=True)
    ]
    found += [
        (argument.arg, "keyword-only", empty if default is None else ast.literal_eval(default))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "variadic keyword", empty))
    return found


def parameters_here(function: Any) -> list[tuple[str, str, Any]]:
    signature = inspect.signature(function)
    return [
        (each.name, each.kind.description, each.default) for each in signature.parameters.values()
    ]


def name_of(signature: str) -> str:
    return signature.partition("(")[0].split()[-1]


@pytest.mark.parametrize("signature", SIGNATURES, ids=name_of)
def test_a_member_has_the_parameters_of_the_reference(signature: str):
    member = inspect.getattr_static(ConversableAgent, name_of(signature))
    if signature.startswith("property"):
        assert isinstance(member, property)
        return
    assert inspect.iscoroutinefunction(member) is signature.startswith("async")
    assert parameters_here(member)[1:] == parameters(signature)


def test_a_function_is_registered_with_the_parameters_of_the_reference():
    assert parameters_here(register_function) == parameters(REGISTER_FUNCTION)


def test_the_description_can_be_set():
    assert ConversableAgent.description.fset is not None


def test_the_class_has_the_documented_constants():
    assert ConversableAgent.DEFAULT_CONFIG is False
    assert ConversableAgent.MAX_CONSECUTIVE_AUTO_REPLY == 100
    assert ConversableAgent.DEFAULT_SUMMARY_METHOD == "last_msg"
    assert ConversableAgent.DEFAULT_SUMMARY_PROMPT == (
        "Summarize takeaway from the conversation. Do not add any introductory phrases. "
        "If the intended request is NOT properly addressed, please point it out."
    )
