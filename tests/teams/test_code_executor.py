"""The arguments, results and promises of code executors."""

import pytest

from teams._run.run import ApprovalRequest, ApprovalResponse
from teams.code_executor import (
    Alias,
    CodeBlock,
    CodeExecutor,
    CodeResult,
    FunctionWithRequirements,
    ImportFromModule,
    with_requirements,
)
from teams.core import CancellationToken, InMemoryStore
from teams.models import UserMessage


class Echo(CodeExecutor):
    """Says what it was given, while it is started."""

    def __init__(self) -> None:
        self.running = False

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        assert self.running
        return CodeResult(exit_code=0, output="".join(block.code for block in code_blocks))

    async def start(self) -> None:
        self.running = True

    async def stop(self) -> None:
        self.running = False

    async def restart(self) -> None:
        await self.stop()
        await self.start()


async def test_an_executor_runs_within_its_context():
    async with Echo() as executor:
        block = CodeBlock(code="1", language="python")
        assert await executor.execute_code_blocks([block], CancellationToken()) == CodeResult(
            exit_code=0, output="1"
        )
    assert not executor.running


def test_a_function_carries_what_it_needs_and_can_still_be_called():
    imports = [Alias("numpy", "np"), ImportFromModule("math", ("sqrt", Alias("pi", "PI")))]

    @with_requirements(python_packages=["numpy"], global_imports=imports)
    def double(number: int) -> int:
        return 2 * number

    assert double(3) == 6
    assert (double.python_packages, double.global_imports) == (["numpy"], imports)
    assert FunctionWithRequirements.from_callable(double.func)(number=2) == 4


def test_a_function_as_source_code_is_never_called():
    function = FunctionWithRequirements.from_str("def f(): ...", python_packages=["numpy"])
    assert (function.func, function.python_packages) == ("def f(): ...", ["numpy"])
    with pytest.raises(NotImplementedError, match="source code"):
        function()


def test_approval_requests_and_responses_survive_json():
    request = ApprovalRequest(code="rm -r .", context=[UserMessage(content="clean", source="user")])
    assert ApprovalRequest.model_validate_json(request.model_dump_json()) == request
    assert ApprovalResponse(approved=False, reason="no").model_dump() == {
        "approved": False,
        "reason": "no",
    }


def test_an_in_memory_store_keeps_values_by_key():
    store = InMemoryStore[int]()
    assert (store.get("a"), store.get("a", 1)) == (None, 1)
    store.set("a", 2)
    assert store.get("a", 1) == 2
    assert InMemoryStore.load_component(store.dump_component()).get("a") is None
