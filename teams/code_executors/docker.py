"""Execute code in a container, without this machine's files, network and rights."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

from pydantic import BaseModel
from typing_extensions import override

from teams._base.code import CodeResult
from teams._base.workers import in_daemon_worker
from teams._components.component import Component
from teams._run.merge import GRACE
from teams.code_executors._command_line import CommandLineCodeExecutor
from teams.code_executors._container import (
    WORKSPACE,
    Container,
    ContainerSettings,
    docker_client,
    require_docker,
)
from teams.code_executors._functions import GivenFunction
from teams.code_executors._process import TIMED_OUT

T = TypeVar("T")

NOBODY = 65534


class DockerCommandLineCodeExecutorConfig(BaseModel, defer_build=True):
    """See `DockerCommandLineCodeExecutor` for what the fields mean."""

    image: str = "python:3-slim"
    container_name: str | None = None
    timeout: int = 60
    work_dir: str | None = None
    bind_dir: str | None = None
    auto_remove: bool = True
    stop_container: bool = True
    device_requests: list[dict[str, Any]] = []
    functions_module: str = "functions"
    extra_volumes: dict[str, dict[str, str]] = {}
    extra_hosts: dict[str, str] = {}
    init_command: str | None = None
    delete_tmp_files: bool = False
    network_mode: str = "none"
    user: str | None = None
    mem_limit: str = "1g"
    pids_limit: int = 256
    cpus: float | None = None
    read_only: bool = False
    work_mb: float | None = None


class DockerCommandLineCodeExecutor(
    CommandLineCodeExecutor, Component[DockerCommandLineCodeExecutorConfig]
):
    """Executes code in its own container, which starts with the first code.

    The code has no network, no privileges, 1 GiB of memory and 256 processes unless you say
    otherwise, and sees only the work folder.

    Args:
        image: it needs `/bin/sh`, and Python for Python code.
        container_name: a random one by default.
        timeout: seconds a block may run.
        work_dir: where scripts are kept, at `/workspace` in the container; a temporary folder by
            default.
        bind_dir: where the work folder stands on the engine's machine, if it is another path there
            than here.
        auto_remove: remove the container once it stops.
        stop_container: stop the container at `stop()` and at the end of the program.
        device_requests: e.g. GPUs, as the `docker` package or the engine's API describes them.
        functions: what the code may import from `functions_module`; packages they require are
            installed in the container, for which it needs a network.
        functions_module: the name of that module.
        extra_volumes: further mounts, path on the engine's machine -> {"bind": path, "mode": "ro"}.
        extra_hosts: further host names and their addresses.
        init_command: a shell command that is run in the container once, before any code.
        delete_tmp_files: remove scripts after they ran, except those the code names itself.
        network_mode: "none", "bridge", or any network of the engine.
        user: as whom the code runs, `uid:gid`; by default as you, or as nobody if you are root.
        mem_limit: the memory of the container, e.g. "512m".
        pids_limit: how many processes may run in it.
        cpus: processors that the container may use, e.g. 1.5; None for all.
        read_only: the container's own files can't be changed. What is written to /tmp, which is
            also the home folder, is kept in memory, at most 256 MiB.
        work_mb: megabytes that the work folder may have; code that writes more is stopped. It is
            measured each second while code runs, and after.

    Raises ImportError if the extra `docker` is missing. Starting raises RuntimeError where no
    engine answers or the container does not start.
    """

    component_only_ours: ClassVar = {
        "device_requests": [],
        "network_mode": "none",
        "mem_limit": "1g",
        "pids_limit": 256,
        "read_only": False,
        "user": ...,
        "cpus": ...,
        "work_mb": ...,
    }

    component_config_schema = DockerCommandLineCodeExecutorConfig

    def __init__(  # noqa: PLR0913 (as documented)
        self,
        image: str = "python:3-slim",
        container_name: str | None = None,
        *,
        timeout: int = 60,
        work_dir: Path | str | None = None,
        bind_dir: Path | str | None = None,
        auto_remove: bool = True,
        stop_container: bool = True,
        device_requests: Sequence[Any] | None = None,
        functions: Sequence[GivenFunction] = (),
        functions_module: str = "functions",
        extra_volumes: Mapping[str, Mapping[str, str]] | None = None,
        extra_hosts: Mapping[str, str] | None = None,
        init_command: str | None = None,
        delete_tmp_files: bool = False,
        network_mode: str = "none",
        user: str | None = None,
        mem_limit: str = "1g",
        pids_limit: int = 256,
        cpus: float | None = None,
        read_only: bool = False,
        work_mb: float | None = None,
    ) -> None:
        require_docker()
        super().__init__(
            timeout=timeout,
            work_dir=work_dir,
            functions=functions,
            functions_module=functions_module,
            delete_scripts=delete_tmp_files,
            work_mb=work_mb,
        )
        self._image = image
        self._delete_tmp_files = delete_tmp_files
        self._container_name = container_name
        self._bind_dir = None if bind_dir is None else Path(bind_dir)
        self._auto_remove = auto_remove
        self._stop_container = stop_container
        self._device_requests = list(device_requests or ())
        self._extra_volumes = dict(extra_volumes or {})
        self._extra_hosts = dict(extra_hosts or {})
        self._init_command = init_command
        self._network_mode = network_mode
        self._user = user
        self._mem_limit = mem_limit
        self._pids_limit = pids_limit
        self._cpus = cpus
        self._read_only = read_only
        self._container: Container | None = None
        self._starting = asyncio.Lock()

    @override
    async def start(self) -> None:
        """Start the container, unless it runs."""
        async with self._starting:
            if self._container is None:
                settings = self._settings()
                self._container = await self._blocking(partial(Container, settings), "start")
                if self._init_command is not None:
                    await self._initialise(self._init_command)

    async def _initialise(self, command: str) -> None:
        result = await self._run(["/bin/sh", "-c", command])
        if result.exit_code != 0:
            await self._close()
            raise RuntimeError(f"init_command failed: {result.output.strip()}")

    @override
    async def stop(self) -> None:
        """Stop a started container, and remove a temporary work folder."""
        await self._close()
        self.remove_temporary()

    @override
    async def restart(self) -> None:
        """Replace the container by a new one."""
        await self._close()
        await self.start()

    async def _close(self) -> None:
        container, self._container = self._container, None
        self._functions_ready = not self._offered
        if container is not None:
            await self._blocking(container.close, "stop")

    @override
    async def run_script(self, program: str, script: Path) -> CodeResult:
        command = ["python", "-u"] if program == "python" else [program]
        inside = script.relative_to(self.work_dir).as_posix()
        return await self._run([*command, f"{WORKSPACE}/{inside}"])

    @override
    async def install(self, packages: Sequence[str]) -> CodeResult:
        return await self._run(["python", "-m", "pip", "install", "--quiet", "--user", *packages])

    async def _run(self, command: Sequence[str]) -> CodeResult:
        container = self._container
        if container is None:
            raise RuntimeError("The container was stopped while code was to be run in it.")
        # The worker ends when the command does: it is waited for here, or killed and waited for.
        running = asyncio.get_running_loop().create_task(
            self._blocking(partial(container.run, command), "command")
        )
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.shield(running)
        except TimeoutError:
            await self._kill(container, running)
        except asyncio.CancelledError:
            await self._kill(container, running)
            raise
        output = running.result().output if running.done() and not running.cancelled() else ""
        return CodeResult(
            TIMED_OUT, f"{output}\nStopped after {self._timeout} s: it took too long.\n"
        )

    async def _kill(self, container: Container, running: asyncio.Task[CodeResult]) -> None:
        await self._blocking(container.kill_everything, "kill")
        await asyncio.wait({running}, timeout=GRACE)
        running.cancel()

    async def _blocking(self, call: Callable[[], T], what: str) -> T:
        return await in_daemon_worker(call, name=f"docker {what}")

    def _settings(self) -> ContainerSettings:
        folder = self.work_dir
        user = self._user
        if user is None and os.geteuid() == 0:
            user = f"{NOBODY}:{NOBODY}"
            if self._folder.given is None:
                os.chown(folder, NOBODY, NOBODY)
        return ContainerSettings(
            image=self._image,
            name=self._container_name or f"parley-code-{uuid4().hex[:12]}",
            folder=str(self._bind_dir or folder),
            user=user or f"{os.geteuid()}:{os.getegid()}",
            network_mode=self._network_mode,
            mem_limit=self._mem_limit,
            pids_limit=self._pids_limit,
            cpus=self._cpus,
            read_only=self._read_only,
            auto_remove=self._auto_remove,
            stop=self._stop_container,
            volumes=self._extra_volumes,
            hosts=self._extra_hosts,
            devices=self._device_requests,
        )


def engine_problem() -> str | None:
    """Why no container can be started here; None if one can."""
    try:
        client = docker_client()
    except (ImportError, RuntimeError) as error:
        return str(error)
    client.close()
    return None


__all__ = ["DockerCommandLineCodeExecutor", "DockerCommandLineCodeExecutorConfig"]
