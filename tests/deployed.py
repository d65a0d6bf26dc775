"""The image and the configs of deploy/."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from gateway.app.load import LoadedConfig, load_config
from gateway.app.servable import check_servable

ROOT = Path(__file__).parents[1]
MARGIN = 10.0
"""Seconds that a node has after its turns, to hand over and to close."""
MADE_UP = {
    "openai_api_key": "sk-made-up-for-the-test",
    "slack_app_token": "xapp-made-up-for-the-test",
    "slack_bot_token": "xoxb-made-up-for-the-test",
    "slack_signing_secret": "made-up-for-the-test",
    "store_url": "postgresql://parley:made-up-for-the-test@postgres/parley",
}


def instruction(name: str) -> str:
    """The last one of this name in the Dockerfile."""
    text = (ROOT / "deploy" / "container" / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)[-1]


def image_config() -> str:
    """The path of the config in the image."""
    return dict(each.split("=", 1) for each in shlex.split(instruction("ENV")))["PARLEY_CONFIG"]


def image_volume() -> str:
    return json.loads(instruction("VOLUME"))[0]


def secret_files(text: str, folder: str) -> set[str]:
    """Names of the files in `folder` that a config reads."""
    named = re.findall(r'_file = "([^"]+)"', text)
    assert named
    assert {str(Path(each).parent) for each in named} == {folder}
    return {Path(each).name for each in named}


def loaded(text: str, folder: str, tmp_path: Path) -> LoadedConfig:
    """The config, with made-up secrets in place of those in `folder`."""
    for name in secret_files(text, folder):
        (tmp_path / name).write_text(MADE_UP[name] + "\n")
    source = tmp_path / "config.toml"
    source.write_text(text.replace(folder, str(tmp_path)))
    config = load_config(source)
    check_servable(config)
    assert config.config.store.url is not None
    return config
