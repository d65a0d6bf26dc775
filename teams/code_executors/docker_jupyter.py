"""Execute code in kernels of Jupyter servers, also in containers."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, Self
from uuid import uuid4

from typing_extensions import override

from teams._base.code import JupyterCodeResult
from teams._base.workers import in_daemon_worker
from teams.code_executors._container import (
    WORKSPACE,
    Container,
    ContainerSettings,
    require_docker,
)
from teams.code_executors._jupyter_server import (
    JupyterClient,
    JupyterConnectionInfo,
    JupyterKernelClient,
)
from teams.code_executors._kernel import START_SECONDS, Kernel, KernelCodeExecutor
from teams.code_executors.docker import NOBODY

IMAGE = "quay.io/jupyter/scipy-notebook:latest"
PULSE = 0.1
"""Seconds between two questions whether the server answers."""

# Images with a kernel gateway, as AutoGen's own, and those with Jupyter's server.
_SERVER = (
    "if command -v jupyter-kernelgateway; then exec jupyter kernelgateway; "
    'else exec jupyter server --ip=0.0.0.0 --port="$KG_PORT" --no-browser; fi'
)


class JupyterConnectable(Protocol):
    """Something that knows the address of a Jupyter server."""

    @property
    def connection_info(self) -> JupyterConnectionInfo:
        """The address."""
        ...


class DockerJupyterServer:
    """A Jupyter server in a container; an async context manager.

    The container has the limits of `DockerCommandLineCodeExecutor`, and parameters of the same
    names, but it has a network. Only this machine reaches the server. The image needs Jupyter's
    server or kernel gateway; by default it is Jupyter's `scipy-notebook`. `docker_env` are further
    variables, `expose_port` is the server's port in the container, and `bind_dir` a folder of this
    machine that stands at `work_dir`, where the kernels run. Name and token are random ones by
    default. Raises ImportError if the extra `docker-jupyter-executor` is missing.
    """

    def __init__(  # noqa: PLR0913 (as documented)
        self,
        *,
        custom_image_name: str | None = None,
        container_name: str | None = None,
        auto_remove: bool = True,
        stop_container: bool = True,
        docker_env: Mapping[str, str] = {},
        expose_port: int = 8888,
        token: str | None = None,
        work_dir: Path | str = WORKSPACE,
        bind_dir: Path | str | None = None,
        mem_limit: str = "1g",
        cpus: float | None = None,
    ) -> None:
        require_docker("docker-jupyter-executor")
        self._token = secrets.token_hex(32) if token is None else token
        self._port = expose_port
        # The code may read the token: it opens the server of this container alone.
        tokens = {"KG_AUTH_TOKEN": self._token, "JUPYTER_TOKEN": self._token}
        own = {"KG_IP": "0.0.0.0", "KG_PORT": str(expose_port), "KG_LIST_KERNELS": "True"}
        user = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self._settings = ContainerSettings(
            image=custom_image_name or IMAGE,
            name=container_name or f"parley-jupyter-{uuid4().hex[:12]}",
            folder=None if bind_dir is None else str(Path(bind_dir).resolve()),
            user=f"{user[0]}:{user[1]}",
            network_mode="bridge",
            mem_limit=mem_limit,
            pids_limit=256,
            cpus=cpus,
            read_only=False,
            auto_remove=auto_remove,
            stop=stop_container,
            work_dir=str(work_dir),
            command=_SERVER,
            environment={**own, **tokens, **docker_env},
            port=expose_port,
        )
        self._container: Container | None = None
        self._info: JupyterConnectionInfo | None = None

    @property
    def connection_info(self) -> JupyterConnectionInfo:
        """The server's address. Raises RuntimeError before `start`."""
        if self._info is None:
            raise RuntimeError("The Jupyter server has not been started.")
        return self._info

    async def start(self) -> bool:
        """Start the server; False if it runs. Raises RuntimeError."""
        if self._info is not None:
            return False
        starting = partial(Container, self._settings)
        container = self._container = await in_daemon_worker(starting, name="docker start")
        try:
            asking = partial(container.published_port, self._port)
            port = await in_daemon_worker(asking, name="docker port")
            self._info = JupyterConnectionInfo("127.0.0.1", False, port, self._token)
            async with asyncio.timeout(START_SECONDS):
                await self._wait_for_answer()
        except BaseException as error:
            await self.stop()
            if isinstance(error, TimeoutError):
                raise RuntimeError("The server in the container does not answer.") from error
            raise
        return True

    async def _wait_for_answer(self) -> None:
        client = self.get_client()
        try:
            while True:
                with suppress(RuntimeError):
                    await client.list_kernel_specs()
                    return
                await asyncio.sleep(PULSE)
        finally:
            await client.close()

    async def stop(self) -> None:
        """Stop the container."""
        container, self._container, self._info = self._container, None, None
        if container is not None:
            await in_daemon_worker(container.close, name="docker stop")

    def get_client(self) -> JupyterClient:
        """A new client of the server."""
        return JupyterClient(self.connection_info)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


@dataclass(slots=True)
class DockerJupyterCodeResult(JupyterCodeResult):
    """The result of code that ran in a kernel of a server."""


class DockerJupyterCodeExecutor(KernelCodeExecutor):
    """Executes code in a kernel of a Jupyter server, which keeps variables.

    A `DockerJupyterServer` that does not run is started with the kernel, and stopped by `stop`. The
    other parameters are those of `JupyterCodeExecutor`; `output_dir` is on this machine.
    """

    result_type = DockerJupyterCodeResult

    def __init__(
        self,
        jupyter_server: JupyterConnectable | JupyterConnectionInfo,
        kernel_name: str = "python3",
        timeout: int = 60,
        output_dir: Path | str | None = None,
        *,
        work_mb: float | None = None,
    ) -> None:
        super().__init__(kernel_name, timeout, output_dir, work_mb)
        self._server = jupyter_server
        self._own: DockerJupyterServer | None = None

    @override
    async def open_kernel(self) -> Kernel:
        server = self._server
        if isinstance(server, DockerJupyterServer) and await server.start():
            self._own = server
        given = isinstance(server, JupyterConnectionInfo)
        client = JupyterClient(server if given else server.connection_info)
        try:
            kernel = await client.get_kernel_client(await client.start_kernel(self._kernel_name))
            is_ready = await kernel.wait_for_ready()
        except BaseException:
            await client.close()
            raise
        if not is_ready:
            await kernel.close()
            raise RuntimeError(f"The kernel {self._kernel_name!r} was not ready in time.")
        return kernel

    @override
    async def stop(self) -> None:
        await super().stop()
        own, self._own = self._own, None
        if own is not None:
            await own.stop()


__all__ = [
    "DockerJupyterCodeExecutor",
    "DockerJupyterCodeResult",
    "DockerJupyterServer",
    "JupyterClient",
    "JupyterConnectable",
    "JupyterConnectionInfo",
    "JupyterKernelClient",
]
