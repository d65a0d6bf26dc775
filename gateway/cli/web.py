"""`parley web`: the terminal in a browser."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from gateway.base.own_packages import import_own
from gateway.cli.group import ask_about, config_option, say, trust_option

PORT = 8643
NEEDS_EXTRA = "`parley web` needs the extra `web`: pip install 'parley-gateway[web]'"


@click.command()
@config_option
@trust_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen at; others can reach any but this one.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port to listen on; 0 picks a free one.",
)
@click.option("--sign-out", is_flag=True, help="Sign all browsers out, and end their chats.")
def web(config: Path | None, trust_config: bool, host: str, port: int, sign_out: bool) -> None:
    """Open your own chat in a browser.

    The link that is printed works once, for ten minutes. The browser is signed in for twelve hours
    then, and each of its tabs, ten at most, has a chat. While it runs, `parley web` in another
    terminal prints another link. Keep the link to yourself: whoever has the chat acts as you.

    Needs `pip install 'parley-gateway[web]'`.
    """
    if importlib.util.find_spec("textual_serve") is None:
        raise click.ClickException(NEEDS_EXTRA)
    from gateway.base.paths import find_config, first_screen  # here as below: start-up counts

    folder = first_screen(config or find_config()).store / "web"
    if sign_out:
        say(import_own("adapters.terminal.web.links").sign_out(folder))
        return
    ask_about(config, trust=trust_config)
    from ipaddress import ip_network

    from gateway.app.load import load_config
    from gateway.app.web import command_of, take_out_variables
    from gateway.base.ending import run_until_ended

    served = import_own("adapters.terminal.web.server")
    loaded = load_config(config, references=False, secrets=False)
    take_out_variables(loaded)
    settings = served.WebSettings(
        folder=folder,
        command=command_of(config),
        config=str(loaded.source.resolve()) if loaded.source else "",
        host=host,
        port=port,
        proxies=tuple(map(ip_network, loaded.config.web.proxies)),
    )
    click.get_current_context().exit(run_until_ended(served.serve_web(settings, say)))
