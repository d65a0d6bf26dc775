"""The guide's program, run over the tests' site."""

import asyncio
import os
import re
import sys
from pathlib import Path

from tests.browser.site import Site
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "browsing.md"


async def test_the_guides_program_comes_to_its_answer(
    tmp_path: Path, site: Site, openai_server: FakeOpenAI
):
    [code] = re.findall(r"```python no-run\n(.*?)```", PAGE.read_text(), re.DOTALL)
    code = code.replace("https://shop.example/", site.url())
    code = code.replace(") as surfer", ', allow=["127.0.0.1"]) as surfer')
    model = f'model="gpt-4o", base_url="{openai_server.url}", api_key="k"'
    code = code.replace('model="gpt-4o"', model)
    click = {"reasoning": "It is the way on.", "target_id": 14}
    openai_server.script(
        Reply(calls=[Call(name="click", arguments=click)]),
        Reply(calls=[Call(name="history_back", arguments={"reasoning": "Back."})]),
        Reply(text="The shop sells 17 kinds of tea."),
    )
    (tmp_path / "program.py").write_text(code)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "program.py",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PAGE.parents[2])},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert b'I clicked button "Press me".' in out
    assert b"The shop sells 17 kinds of tea." in out
