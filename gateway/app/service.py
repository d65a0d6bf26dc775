"""`parley install-service`: the systemd unit of a `parley serve`.

Made of deploy/systemd/parley.service: the whole machine's service keeps all of its limits, a user's
own those that a user's manager can set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from gateway.app.load import load_config
from gateway.base.describe import describe
from gateway.base.paths import store_folder
from gateway.errors import GatewayError
from teams.safe_files import write_file

SYSTEM_FOLDER = Path("/etc/systemd/system")
ACCOUNT = "parley"
"""Account of the whole machine's service, as in the unit."""

_HIDDEN = (Path("/home"), Path("/root"), Path("/run/user"))
"""Folders that ProtectHome= takes away."""
_FOR_USERS = frozenset(
    {
        *("Type", "ExecReload", "KillMode", "TimeoutStopSec", "Restart", "RestartSec"),
        *("RestartPreventExitStatus", "LockPersonality", "NoNewPrivileges", "RestrictRealtime"),
        *("RestrictSUIDSGID", "SystemCallArchitectures", "UMask", "Description"),
    }
)
"""Settings that a user's manager can carry out on every machine."""


class ServiceError(GatewayError):
    """The service can't be installed here."""


@dataclass(frozen=True, slots=True)
class Service:
    """A unit for `config`, for the whole `machine` or the user's own."""

    config: Path
    machine: bool
    program: Path

    @property
    def path(self) -> Path:
        """The unit's file."""
        return (SYSTEM_FOLDER if self.machine else _user_folder()) / "parley.service"

    @property
    def environment(self) -> Path:
        """The file with the values of the config's variables."""
        return self.config.parent / "environment"

    @property
    def control(self) -> str:
        """The command that rules it."""
        return "systemctl" if self.machine else "systemctl --user"

    def unit(self, *written: Path, backups: Path | None = None) -> str:
        """The unit's text, for the folders that it writes. Raises ServiceError."""
        text = _deployed("systemd/parley.service")
        lines = text[text.index("[Unit]") :].splitlines()
        own = {
            "Environment": _quoted(f"PARLEY_CONFIG={self.config}"),
            "EnvironmentFile": f"-{_escaped(str(self.environment))}",
            "ExecStart": f"{_executable(self.program)} serve",
            "WorkingDirectory": _escaped(str(self.config.parent)),
        }
        if not self.machine:
            return _for_user(lines, own)
        folders = dict.fromkeys([*written, *filter(None, [backups])])
        for each in (self.program, self.config, *folders):
            if any(each.is_relative_to(hidden) for hidden in _HIDDEN):
                raise ServiceError(
                    f"{each} is in somebody's home, which the machine's service can't see. Install "
                    "Parley and its config elsewhere, such as /usr/local/lib/parley and "
                    "/etc/parley, or leave out --system for a service of your own."
                )
        own["Environment"] += " XDG_DATA_HOME=/var/lib"
        for each in folders:
            if not each.is_relative_to("/var/lib/parley"):
                maybe = "-" if each == backups else ""  # its disk may be away
                own["WorkingDirectory"] += f"\nReadWritePaths={_quoted(f'{maybe}{each}')}"
        return _with(lines, own)


def make_service(config: Path | None, *, machine: bool) -> tuple[Service, str]:
    """The service of a config, and its unit. Raises ServiceError and ConfigError."""
    loaded = load_config(config, secrets=False)
    if loaded.source is None:
        raise ServiceError("There is no config to serve. `parley init` writes one to start from.")
    if not loaded.adapters:
        raise ServiceError(f"{loaded.source} has no [adapters] table, and so no platform to serve.")
    program = Path(sys.executable).with_name("parley")
    service = Service(loaded.source.absolute(), machine, program)
    usual = Path("/var/lib/parley") if machine else store_folder()
    log, backup = loaded.config.logging.file, loaded.config.backup
    written = [loaded.config.store.folder or usual, *([log.parent] if log else [])]
    return service, service.unit(*written, backups=backup.folder if backup else None)


def install_service(service: Service, unit: str) -> str:
    """Write the unit and tell systemd; what to do next. Raises ServiceError."""
    if not shutil.which("systemctl"):
        raise ServiceError(
            "There is no systemd on this machine (no program systemctl). `--print` shows the unit; "
            "docs/operate.md has a container as well."
        )
    old = _read(service.path)
    if old is not None and old != unit and _MARK not in old:
        raise ServiceError(
            f"{service.path} is not of `parley install-service`, or was edited without its first "
            "line. Move it away first; own settings belong in a drop-in (systemctl edit parley)."
        )
    _write(service.path, unit)
    reloaded = subprocess.run(
        [*service.control.split(), "daemon-reload"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = f"\nsystemd was not told: {reloaded.stderr.strip()}" if reloaded.returncode else ""
    lines = [f"Wrote {service.path}.{said}", "Next:"]
    if service.machine:
        lines.append(f"  useradd --system {ACCOUNT}   (once, if there is no such account)")
        if "\nReadWritePaths=" in unit:
            lines.append(f"  make the folders of ReadWritePaths= in the unit, owned by {ACCOUNT}")
    else:
        lines.append("  loginctl enable-linger   (once: it runs while you are not logged in, too)")
    if names := _variables(service.config.read_text(encoding="utf-8")):
        lines.append(f"  put {', '.join(names)} into {service.environment}, mode 0600")
    lines.append(f"  {service.control} enable --now parley")
    return "\n".join(lines)


_MARK = "# Written by `parley install-service`."
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|_env\s*=\s*[\"']([A-Za-z_]\w*)[\"']")


def _variables(text: str) -> list[str]:
    """Environment variables that the config names."""
    return sorted({a or b for a, b in _VARIABLE.findall(text)})


def _deployed(name: str) -> str:
    """A file of deploy/, of the package or the checkout."""
    inside = files("gateway").joinpath("deploy", name)
    if inside.is_file():
        return inside.read_text(encoding="utf-8")
    return (Path(__file__).parents[2] / "deploy" / name).read_text(encoding="utf-8")


def _with(lines: Sequence[str], own: Mapping[str, str]) -> str:
    """The unit with settings of its own."""
    names = [line.partition("=")[0] for line in lines]
    made = [f"{n}={own[n]}" if n in own else line for n, line in zip(names, lines, strict=True)]
    return "\n".join([_MARK, *made, ""])


def _for_user(lines: Sequence[str], own: Mapping[str, str]) -> str:
    kept = [
        line
        for line in lines
        if line.startswith("[") or not line or line.partition("=")[0] in _FOR_USERS | own.keys()
    ]
    return _with([*kept, "WantedBy=default.target"], own)


def _user_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "systemd" / "user"


def _quoted(text: str) -> str:
    """The text as one word of a unit."""
    escaped = _escaped(text).replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"' if re.search(r"[\s\"'\\]", text) else escaped


def _executable(program: Path) -> str:
    """The program as a command's first word, which keeps each `$`."""
    if re.search(r"[\x00-\x1f\x7f\"'\\]", str(program)):
        raise ServiceError(
            f"systemd starts no program whose path has quotes, backslashes or tabs: {program}. "
            "Install Parley elsewhere."
        )
    return _quoted(str(program))


def _escaped(text: str) -> str:
    if "\n" in text or text.endswith(("\\", " ", "\t")):
        raise ServiceError(
            f"The path {text!r} has a line break, or ends in a space or backslash, which no unit "
            "can hold."
        )
    return text.replace("%", "%%")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"{path} can't be read: {describe(error)}.") from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path.parent, path.name, text.encode())
        path.chmod(0o644)
    except PermissionError as error:
        raise ServiceError(f"{path} can't be written. Run it as root: sudo parley ...") from error
    except OSError as error:
        raise ServiceError(f"{path} can't be written: {describe(error)}.") from error
