"""Run a program whose Slack SDK calls another address.

`pointed.py URL PROGRAM ARGUMENTS` runs in a peer's environment; PROGRAM is a file.
"""

from __future__ import annotations

import runpy
import sys

from slack_sdk.web.async_base_client import AsyncBaseClient
from slack_sdk.web.base_client import BaseClient


def main() -> None:
    """Change the SDK's default, and be the program."""
    url = sys.argv[1]
    for client in (AsyncBaseClient, BaseClient):
        given = client.__init__.__defaults__ or ()
        changed = tuple(url if each == client.BASE_URL else each for each in given)
        client.__init__.__defaults__ = changed
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
