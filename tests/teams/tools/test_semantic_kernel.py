"""Without Semantic Kernel; with it, see tests/extras/semantic-kernel."""

from importlib.util import find_spec

import pytest

from teams.tools import FunctionTool
from teams.tools.semantic_kernel import KernelFunctionFromTool, KernelFunctionFromToolSchema


def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.skipif(find_spec("semantic_kernel") is not None, reason="Semantic Kernel is here")
def test_without_semantic_kernel_the_extra_is_named():
    tool = FunctionTool(add, "Add.")
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[semantic-kernel\]'"):
        KernelFunctionFromTool(tool)
    with pytest.raises(ImportError, match="semantic-kernel"):
        KernelFunctionFromToolSchema(tool.schema)
