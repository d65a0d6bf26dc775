"""One container, by blocking calls of the `docker` package, for workers."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from teams._base.code import CodeResult
from teams._base.extras import require_packages
from teams.code_executors._output import BoundedOutput
from teams.code_executors._process import NOT_FOUND

logger = logging.getLogger("teams")

WORKSPACE = "/workspace"
"""Where the work folder stands in the container."""

# The first process: it waits, reaps what others leave behind, survives `kill -9 -1`, and ends at
# once when asked.
_WAITING = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
_STOP_SECONDS = 2
_IN_MEMORY = {"/tmp": "rw,exec,nosuid,nodev,size=256m,mode=1777"}
"""Mounts of a container whose own files can't be changed; packages load libraries from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """The settings of a container, named as in the `docker` package."""

    image: str
    name: str
    folder: str | None
    user: str
    network_mode: str
    mem_limit: str
    pids_limit: int
    cpus: float | None
    read_only: bool
    auto_remove: bool
    stop: bool
    """True if closing stops the container."""
    volumes: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])
    devices: Sequence[Any] = ()
    work_dir: str = WORKSPACE
    command: str = _WAITING
    """Shell command of the first process."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    port: int | None = None
    """Port of the container that this machine reaches."""


def require_docker(extra: str = "docker") -> None:
    """Raise ImportError where the `docker` package is missing."""
    require_packages("Code execution in containers needs", extra, "docker")


def docker_client() -> Any:
    """A client of the container engine.

    Raises ImportError where the `docker` package is missing, RuntimeError where no engine answers.
    """
    require_docker()
    docker: Any = importlib.import_module("docker")
    try:
        _check_socket(docker.utils.parse_host(os.environ.get("DOCKER_HOST")))
        return docker.from_env()
    except (OSError, docker.errors.DockerException) as error:
        raise RuntimeError(
            "No container engine answers. Is Docker installed and running, and may this user use "
            f"it? ({error})"
        ) from error


def _check_socket(address: str) -> None:
    """Raise OSError where nobody listens at a local socket.

    The package itself would leak one, and report it in three layers of errors.
    """
    scheme, _, path = address.partition("://")
    if scheme == "http+unix":
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(path)


class Container:
    """A running container; commands run in it as one unprivileged user.

    `close()`, dropping it and the end of the program let go of it.
    """

    def __init__(self, settings: ContainerSettings) -> None:
        client = docker_client()
        self._errors: Any = importlib.import_module("docker.errors")
        self._api: Any = client.api
        try:
            container = self._create_container(client, settings)
            container.start()
        except self._errors.DockerException as error:
            client.close()
            raise RuntimeError(
                f"The container {settings.name!r} of image {settings.image!r} does not start: "
                f"{error}"
            ) from error
        self._id: str = container.id
        self._container: Any = container
        stopped = container if settings.stop else None
        self.close = weakref.finalize(self, _close, client, stopped, self._errors)

    def _create_container(self, client: Any, settings: ContainerSettings) -> Any:
        try:
            client.images.get(settings.image)
        except self._errors.ImageNotFound:
            client.images.pull(settings.image)
        return client.containers.create(
            settings.image,
            name=settings.name,
            entrypoint=["/bin/sh", "-c"],
            command=[settings.command],
            working_dir=settings.work_dir,
            volumes=_mounts(settings),
            # A user without an entry in the image's passwd has no home.
            environment={"HOME": "/tmp", "PYTHONPATH": WORKSPACE, **settings.environment},
            ports=None if settings.port is None else {settings.port: ("127.0.0.1", None)},
            user=settings.user,
            network_mode=settings.network_mode,
            mem_limit=settings.mem_limit,
            memswap_limit=settings.mem_limit,
            pids_limit=settings.pids_limit,
            nano_cpus=None if settings.cpus is None else round(settings.cpus * 1_000_000_000),
            read_only=settings.read_only,
            tmpfs=_IN_MEMORY if settings.read_only else None,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            extra_hosts=dict(settings.hosts),
            device_requests=list(settings.devices),
            auto_remove=settings.auto_remove,
            detach=True,
        )

    def published_port(self, port: int) -> int:
        """The port of this machine that leads to the container's. Raises RuntimeError."""
        try:
            self._container.reload()
            return int(self._container.ports[f"{port}/tcp"][0]["HostPort"])
        except (LookupError, TypeError, self._errors.DockerException) as error:
            raise RuntimeError(f"The container's port {port} is not published: {error}") from error

    def run(self, command: Sequence[str]) -> CodeResult:
        """Run a command in the work folder until it ends."""
        output = BoundedOutput()
        try:
            made = self._api.exec_create(self._id, list(command), workdir=WORKSPACE)
            self._read(self._api.exec_start(made["Id"], socket=True), output)
            exit_code = self._api.exec_inspect(made["Id"])["ExitCode"]
        except self._errors.APIError as error:
            explanation = error.explanation or str(error)
            return CodeResult(NOT_FOUND, f"The container cannot run {command[0]}: {explanation}\n")
        return CodeResult(exit_code=exit_code, output=output.text())

    def _read(self, stream: Any, output: BoundedOutput) -> None:
        frames: Any = importlib.import_module("docker.utils.socket").frames_iter
        try:
            for _, data in frames(stream, tty=False):
                output.add(data)
        finally:
            stream._response.close()  # the package keeps it there, and leaves closing it to us

    def kill_everything(self) -> None:
        """Kill whatever runs in the container but its first process."""
        result = self.run(["/bin/sh", "-c", "kill -9 -1"])
        if result.exit_code == NOT_FOUND:
            logger.warning("Code in the container %s could not be killed: %s", self._id, result)


def _mounts(settings: ContainerSettings) -> dict[str, Mapping[str, str]]:
    work = {"bind": settings.work_dir, "mode": "rw"}
    return {**({settings.folder: work} if settings.folder else {}), **settings.volumes}


def _close(client: Any, stopped: Any, errors: Any) -> None:
    try:
        if stopped is not None:
            stopped.stop(timeout=_STOP_SECONDS)
    except errors.NotFound:
        pass
    except (OSError, errors.DockerException) as error:  # nobody can do more about it
        logger.warning("A container could not be stopped: %s", error)
    finally:
        client.close()
