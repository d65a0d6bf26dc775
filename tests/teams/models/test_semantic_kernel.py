"""Without Semantic Kernel; with it, see tests/extras/semantic-kernel."""

import subprocess
import sys


def test_importing_the_adapter_imports_no_sdk():
    code = (
        "import sys; import teams.models.semantic_kernel, teams.tools.semantic_kernel; "
        "assert not {'semantic_kernel', 'openai'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
