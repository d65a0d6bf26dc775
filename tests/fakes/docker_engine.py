"""A container engine on a Unix socket for the real `docker` package.

It runs nothing: what a script of the work folder does stands in its text, `print TEXT`,
`exit NUMBER` or `hang`, a line each.
"""

import fcntl
import json
import struct
import termios
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

WORKSPACE = "/workspace"


class Engine:
    """The requests to the engine, and those that it will refuse."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []
        self.commands: list[list[str]] = []
        self.happened: list[str] = []
        self.images = {"python:3-slim"}
        self.ports: dict[str, Any] = {}
        self.exit_codes: dict[str, int] = {}
        self.missing: set[str] = set()
        self.refuse_start = ""
        self.stop_status = 204
        self.hanging = threading.Event()
        self.killed = threading.Event()

    @property
    def state(self) -> dict[str, Any]:
        """The state of each container."""
        return {"State": {"Status": "running"}, "NetworkSettings": {"Ports": self.ports}}

    @property
    def host(self) -> dict[str, Any]:
        """The host config of the container created last."""
        return self.created[-1]["HostConfig"]

    def script(self, command: list[str]) -> str:
        """The script of a command, or the command of its shell."""
        if not command[-1].startswith(WORKSPACE):
            return command[-1]
        folder = self.host["Binds"][0].partition(":")[0]
        return Path(command[-1].replace(WORKSPACE, folder, 1)).read_text()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def engine(self) -> Engine:
        return self.server.engine  # type: ignore[attr-defined]

    def address_string(self) -> str:
        return "docker"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: Any = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def read_body(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(length) or b"null")

    def do_GET(self) -> None:
        engine = self.engine
        match self.path.split("?")[0].removeprefix("/v1.41").split("/")[1:]:
            case ["version"]:
                self.answer(200, {"ApiVersion": "1.41", "Version": "fake"})
            case ["images", *name, "json"]:
                known = "/".join(name) in engine.images
                image = {"Id": "sha256:1", "RepoTags": sorted(engine.images)}
                self.answer(200 if known else 404, image if known else {"message": "No such image"})
            case ["containers", name, "json"]:
                self.answer(200, {"Id": name, "Name": "/c", **engine.state})
            case ["exec", number, "json"]:
                self.answer(200, {"ExitCode": engine.exit_codes[number], "Running": False})
            case other:
                raise AssertionError(f"GET {other}")

    def do_POST(self) -> None:
        engine, body = self.engine, self.read_body()
        match self.path.split("?")[0].removeprefix("/v1.41").split("/")[1:]:
            case ["images", "create"]:
                query = parse_qs(urlsplit(self.path).query)
                engine.images.add(f"{query['fromImage'][0]}:{query['tag'][0]}")
                engine.happened.append("pull")
                self.answer(200, {})
            case ["containers", "create"]:
                engine.created.append({**body, "Name": self.path.partition("name=")[2]})
                engine.happened.append("create")
                self.answer(201, {"Id": f"c{len(engine.created)}", "Warnings": []})
            case ["containers", _, "start"] if engine.refuse_start:
                self.answer(500, {"message": engine.refuse_start})
            case ["containers", name, "start" | "stop" as what]:
                engine.happened.append(f"{what} {name}")
                status = engine.stop_status if what == "stop" else 204
                self.answer(status, None if status == 204 else {"message": "cannot stop"})
            case ["containers", _, "exec"]:
                engine.commands.append(body["Cmd"])
                self.answer(201, {"Id": str(len(engine.commands) - 1)})
            case ["exec", number, "start"]:
                self.execute(number, engine.commands[int(number)])
            case other:
                raise AssertionError(f"POST {other}")

    def execute(self, number: str, command: list[str]) -> None:
        engine = self.engine
        if command[0] in engine.missing:
            self.answer(400, {"message": f"exec: {command[0]!r}: not found in $PATH"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.docker.raw-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wait_until_read()
        if command == ["/bin/sh", "-c", "kill -9 -1"]:
            engine.killed.set()
            engine.exit_codes[number] = 137
            return
        engine.exit_codes[number] = self.act(engine.script(command))

    def act(self, script: str) -> int:
        for line in script.splitlines():
            match line.split(" ", 1):
                case ["print", text]:
                    self.send_output(text)
                case ["exit", code]:
                    return int(code)
                case ["hang"]:
                    self.engine.hanging.set()
                    self.engine.killed.wait(5)
                    return 137
                case _:
                    pass
        return 0

    def send_output(self, text: str) -> None:
        data = f"{text}\n".encode()
        self.wfile.write(struct.pack(">BxxxL", 1, len(data)) + data)

    def wait_until_read(self) -> None:
        # The client reads the stream from the raw socket: what came along with the headers is lost.
        unread = bytearray(4)
        while True:
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, unread)
            if not any(unread):
                return


class Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128
    """Clients that wait to be accepted; with five of them a busy machine refuses the next."""

    def __init__(self, path: str, handler: type[Handler]) -> None:
        self.engine = Engine()
        super().__init__(path, handler)


@contextmanager
def docker_engine(path: Path, handler: type[Handler] = Handler):
    """The engine, which listens at this path."""
    with Server(str(path), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.engine
        finally:
            server.engine.killed.set()
            server.shutdown()
            thread.join()
