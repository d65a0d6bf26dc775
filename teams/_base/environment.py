"""The environment of processes that run code and pages of others.

Made up from a list of what is let through: no name tells whether a variable is a secret.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from ctypes import CDLL
from functools import cache

_USUAL = """
HOME LOGNAME USER SHELL PATH TERM COLORTERM NO_COLOR TMPDIR TMP TEMP TZ
LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME
PYTHONPATH PYTHONHOME PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED PYTHONDONTWRITEBYTECODE
VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH DYLD_LIBRARY_PATH
SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
PIP_CERT PIP_NO_INDEX
HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
http_proxy https_proxy ftp_proxy all_proxy no_proxy
OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS CUDA_VISIBLE_DEVICES MPLBACKEND
DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_CACHE_HOME FONTCONFIG_PATH
"""
USUAL_VARIABLES = frozenset(_USUAL.split())
"""Variables that are the machine's and the account's, and no program's secrets."""
_PR_SET_DUMPABLE = 4

_withheld: set[str] = set()


def withhold_variables(names: Iterable[str]) -> None:
    """Keep variables from others' code, and this process's memory from all processes."""
    _withheld.update(names)
    _close_process()


def environment_for_code() -> dict[str, str]:
    """The variables of this process that others' code may see.

    Neither those that were withheld, nor proxies with a user.
    """
    _close_process()
    return {
        name: value
        for name in USUAL_VARIABLES - _withheld
        if (value := os.environ.get(name)) is not None
        and not (name.lower().endswith("_proxy") and "@" in value)
    }


@cache
def _close_process() -> None:
    """Close this process's environment and memory to others of its user.

    Linux alone has both. Not closed to root with all its powers.
    """
    if sys.platform == "linux":
        CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
