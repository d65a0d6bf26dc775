"""Settings for the first screen from configs in any state; bounded files."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from gateway.base.paths import account_name, first_screen, read_bounded, read_ordinary, store_folder

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


def test_a_file_is_read_up_to_a_bound(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_ordinary(path, 5) == (read_bounded(path, 5), 5) == (b"12345", 5)
    assert read_ordinary(path, 4) == (b"", 5)
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_bounded(path, 4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "it is a folder, not a file"),
        ("pipe", "it is a pipe, not a file"),
        ("/dev/zero", "it is a device, not a file"),
        ("none", "No such file"),
        ("to-folder", "it is a folder, not a file"),
    ],
)
def test_what_is_no_file_is_refused_and_left_closed(tmp_path: Path, name: str, said: str):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-folder").symlink_to(".")
    before = os.listdir("/dev/fd")
    for _ in range(3):
        with pytest.raises(OSError, match=said):
            read_bounded(tmp_path / name, 10)
    assert len(os.listdir("/dev/fd")) == len(before)
