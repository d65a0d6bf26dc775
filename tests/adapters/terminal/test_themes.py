"""The themes that the config takes are those that the terminal has."""

from textual.theme import BUILTIN_THEMES

from adapters.terminal.themes import PARLEY_DARK, PARLEY_LIGHT
from gateway.config.settings import THEMES


def test_the_config_takes_the_themes_of_the_terminal():
    assert sorted(THEMES) == sorted([*BUILTIN_THEMES, PARLEY_DARK.name, PARLEY_LIGHT.name])
