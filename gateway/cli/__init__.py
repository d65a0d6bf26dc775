"""The command `parley`.

Each command parses, calls one function, and maps errors to exit codes.
It imports inside its function whatever is heavy: a chat paints before that is read.
"""

from __future__ import annotations

import click

from gateway.cli.audit import audit, feedback
from gateway.cli.chat import chat
from gateway.cli.check import check, init
from gateway.cli.completion import completion
from gateway.cli.doctor import doctor
from gateway.cli.group import global_parameters
from gateway.cli.log import log
from gateway.cli.migrate import migrate
from gateway.cli.models import models
from gateway.cli.people import pair
from gateway.cli.platforms import PlatformsGroup
from gateway.cli.plugins import plugins
from gateway.cli.run import run
from gateway.cli.schema import schema
from gateway.cli.secrets import secrets
from gateway.cli.serve import reload, serve, status
from gateway.cli.service import install_service
from gateway.cli.sessions import sessions
from gateway.cli.simulate import simulate
from gateway.cli.store import backup, restore, store
from gateway.cli.teams import teams
from gateway.cli.web import web

__all__ = ["main"]


@click.group(
    cls=PlatformsGroup,
    default="chat",
    commands=[
        chat,
        serve,
        run,
        web,
        check,
        doctor,
        init,
        sessions,
        teams,
        models,
        status,
        install_service,
        reload,
        audit,
        feedback,
        log,
        store,
        restore,
        backup,
        pair,
        secrets,
        plugins,
        schema,
        simulate,
        migrate,
        completion,
    ],
    params=global_parameters(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="parley-gateway", prog_name="parley")
def main() -> None:
    """Talk to a team of AI agents.

    Without a command, parley opens the chat. Without a config and a key, the built-in demo team
    answers; `parley init` writes a config to start from. --config and --trust-config may stand
    before or after the command.

    Exit codes: 0 done, 1 failed, 2 wrong command line or config, 3 the team waits for an answer,
    4 the store is damaged, 130 stopped by ctrl+c.
    """
