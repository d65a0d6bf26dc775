"""One-time codes by which an operator lets somebody in: `parley pair CODE`.

Only a salted hash of a code is ever stored; it is good for an hour and for five tries.
"""

from __future__ import annotations

import hashlib
import secrets

from gateway.store.decisions import PairingCode

LIFETIME = 3600.0
"""Seconds."""
LENGTH = 8
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that are taken for each other."""


def new_code(now: float) -> tuple[str, PairingCode]:
    """A fresh code, as it is told to the person, and as it is stored."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))
    salt = secrets.token_bytes(16)
    return code, PairingCode(salt=salt, hash=hashed(code, salt), expires_at=now + LIFETIME)


def hashed(code: str, salt: bytes) -> bytes:
    """The code's hash; spaces, dashes and small letters do not matter."""
    plain = "".join(character for character in code.upper() if character.isalnum())
    return hashlib.scrypt(plain.encode(), salt=salt, n=2**12, r=8, p=1)
