"""Settings for the first screen, from configs in any state."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from gateway.base.paths import account_name, first_screen, store_folder

ACCOUNT = pwd.getpwuid(os.getuid())


@pytest.mark.parametrize(
    ("config", "operator", "theme", "mouse"),
    [
        ('[terminal]\nname = "Ann"\ntheme = "nord"\nmouse = false\n', "Ann", "nord", False),
        ('[terminal]\nname = "${NAME}"\n', account_name(), "", True),
        ("[terminal]\nname = 7\ntheme = 7\nmouse = 7\n", account_name(), "", True),
        ("[terminal", account_name(), "", True),
    ],
    ids=["plain", "with a variable", "of other types", "broken"],
)
def test_the_first_screen_takes_what_it_can_read(
    tmp_path: Path, config: str, operator: str, theme: str, mouse: bool
):
    source = tmp_path / "config.toml"
    source.write_text(config)
    found = first_screen(source)
    assert (found.operator, found.theme, found.mouse) == (operator, theme, mouse)
    assert found.store == store_folder()


def test_without_a_config_the_account_has_the_name():
    assert first_screen(None).operator == account_name()
    assert account_name() in (ACCOUNT.pw_name, ACCOUNT.pw_gecos.partition(",")[0].strip())
