"""`parley completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

from gateway.cli.group import say

INSTALL = {
    "bash": 'in ~/.bashrc: eval "$(parley completion bash)"',
    "zsh": 'in ~/.zshrc, below compinit: eval "$(parley completion zsh)"',
    "fish": "parley completion fish > ~/.config/fish/completions/parley.fish",
}


@click.command()
@click.argument("shell", type=click.Choice([*INSTALL]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    bash, in ~/.bashrc:   eval "$(parley completion bash)"
    zsh, in ~/.zshrc:     eval "$(parley completion zsh)"
    fish, once:           parley completion fish > ~/.config/fish/completions/parley.fish
    """
    from click.shell_completion import get_completion_class  # only here: it costs start-up time

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "parley", "_PARLEY_COMPLETE").source()
    say(f"# To install it, {INSTALL[shell]}\n{script.strip()}")
