"""Executors of code as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Kind, Load, Maker, OwnPart, Part, Place, Want
from teams._base.meanings import Given, ImportPath, InThread
from teams._base.tables import ConfigPath


class _Bounded(Part):
    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        return await super().arguments(maker) | {"work_mb": maker.work_mb}


class _Executor(_Bounded):
    timeout: int = Field(default=60, ge=1)
    """Seconds a block of code may run."""

    functions: list[Annotated[str, ImportPath()]] = Field(default_factory=list)
    """Import paths of functions that the code may import."""

    functions_module: str = "functions"
    """Module that the code imports them from."""


class LocalKind(_Executor):
    """Code runs on this machine, with your rights.

    If others can reach the team, `parley serve` needs `local_code = true` in [policies] for it.
    """

    kind: ClassVar = Kind(
        "executor", "local", "teams.code_executors.local:LocalCommandLineCodeExecutor"
    )

    type: Literal["local"]
    """Kind of executor."""

    work_dir: Annotated[ConfigPath | None, InThread()] = None
    """Folder for scripts; the thread's own folder if not given."""

    cleanup_temp_files: bool = True
    """Remove scripts after they ran, except those the code names itself."""

    virtual_env: Annotated[ConfigPath | None, Given(None)] = None
    """Folder of the virtual environment for the code; created if missing."""

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        given = await super().arguments(maker)
        if self.virtual_env is None:
            return given
        from venv import EnvBuilder  # few need it

        return given | {"virtual_env_context": EnvBuilder().ensure_directories(self.virtual_env)}

    @override
    def mistakes(self, load: Load) -> Iterator[tuple[Place, str]]:
        folder = self.virtual_env
        if folder and not (folder / "pyvenv.cfg").is_file():
            text = f"found no pyvenv.cfg in {folder}, expected a virtual environment"
            yield ("virtual_env",), text

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        return _wants_here(config.work_dir)


class DockerKind(_Executor):
    """Code runs in a container of the thread's own.

    Unless you say otherwise, it has no network and no rights, and sees only its work folder. It
    needs Parley's extra `docker`.
    """

    kind: ClassVar = Kind(
        "executor", "docker", "teams.code_executors.docker:DockerCommandLineCodeExecutor"
    )

    type: Literal["docker"]
    """Kind of executor."""

    image: str = "python:3-slim"
    """Image of the container."""

    work_dir: Annotated[ConfigPath | None, InThread()] = None
    """Folder for scripts; the thread's own folder if not given.

    In the container it is /workspace.
    """

    auto_remove: bool = True
    """Remove the container once it stops."""

    stop_container: bool = True
    """Stop the container when it is not needed any more."""

    delete_tmp_files: bool = False
    """Remove scripts after they ran, except those the code names itself."""

    init_command: str | None = None
    """Shell command that runs once in the container, before any code."""

    extra_volumes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Further mounts.

    Each is a path on the engine's machine = { bind = "/path", mode = "ro" }.
    """

    extra_hosts: dict[str, str] = Field(default_factory=dict)
    """Further host names and their addresses."""

    device_requests: list[dict[str, Any]] = Field(default_factory=list)
    """Devices such as GPUs, as the engine's API describes them."""

    network_mode: str = "none"
    """Network of the container: "none", "bridge", or any of the engine's."""

    user: str | None = None
    """User that runs the code, as "uid:gid".

    If not given, it is you, or the user `nobody` if you are root.
    """

    mem_limit: str = "1g"
    """Memory of the container."""

    pids_limit: int = Field(default=256, ge=1)
    """Highest number of processes in the container."""

    cpus: float = Field(default=1.0, gt=0)
    """Processors that the container may use."""

    read_only: bool = True
    """Keep the container's own files as they are.

    /tmp, which is also the home folder, is kept in memory, at most 256 MiB.
    """


class _Notebook(_Bounded):
    timeout: int = Field(default=60, ge=1)
    """Seconds a block of code may run."""

    kernel_name: str = "python3"
    """Name of the kernel, which keeps variables between blocks."""

    output_dir: Annotated[ConfigPath | None, InThread()] = None
    """Folder of the code; if not given, the thread's own."""


class JupyterKind(_Notebook):
    """Code runs in a notebook's kernel on this machine, with your rights.

    If others can reach the team, `parley serve` needs `local_code = true` in [policies] for it. It
    needs Parley's extra `jupyter-executor`.
    """

    kind: ClassVar = Kind("executor", "jupyter", "teams.code_executors.jupyter:JupyterCodeExecutor")

    type: Literal["jupyter"]
    """Kind of executor."""

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        return _wants_here(config.output_dir)


class DockerJupyterKind(_Notebook):
    """Code runs in a notebook's kernel, in a container for the thread.

    The container has a network. It needs Parley's extra `docker-jupyter-executor`.
    """

    kind: ClassVar = Kind(
        "executor",
        "docker_jupyter",
        "teams.code_executors.docker_jupyter:DockerJupyterCodeExecutor",
    )

    type: Literal["docker_jupyter"]
    """Kind of executor."""

    image: Annotated[str, Given(None)] = ""
    """Image with Jupyter; quay.io/jupyter/scipy-notebook if not given."""

    mem_limit: Annotated[str, Given(None)] = "1g"
    """Memory of the container."""

    cpus: Annotated[float, Given(None)] = Field(default=1.0, gt=0)
    """Processors that the container may use."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        from teams.code_executors import docker_jupyter  # few need it

        given = await self.arguments(maker)
        server = docker_jupyter.DockerJupyterServer(
            custom_image_name=self.image or None,
            bind_dir=given["output_dir"],
            mem_limit=self.mem_limit,
            cpus=self.cpus,
        )
        return docker_jupyter.DockerJupyterCodeExecutor(server, **given)


class OwnExecutorKind(OwnPart):
    """An executor of your own."""

    kind: ClassVar = Kind("executor", "path", "teams.code_executor:CodeExecutor")


def _wants_here(folder: Any) -> Iterator[Want]:
    """Code on this machine, perhaps in a folder of its own."""
    yield Want("code", "local")
    if folder is not None:
        yield Want("folder", folder)
