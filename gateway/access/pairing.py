"""One-time codes by which an operator lets somebody in: `parley pair CODE`.

Only a salted hash of a code is ever stored; it is good for an hour and for five tries.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import field

from gateway.store.decisions import PairingCode
from gateway.values import value

LIFETIME = 3600.0
"""Seconds for which a code is good."""
LENGTH = 8
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that are taken for each other."""


@value
class DrawnCode:
    """A fresh code; it is hashed later, since hashing takes long."""

    text: str = field(repr=False)
    salt: bytes

    def kept(self, now: float) -> PairingCode:
        """The code as it is stored."""
        digest = _hashed(self.text, self.salt)
        return PairingCode(salt=self.salt, hash=digest, expires_at=now + LIFETIME)


@value
class TypedCode:
    """A code as an operator types it; case and dashes are ignored."""

    code: str = field(repr=False)

    @property
    def lifetime(self) -> float:
        """Seconds for which it was good."""
        return LIFETIME

    def hashed(self, salt: bytes) -> bytes:
        """Its hash with the salt of a code that waits."""
        plain = "".join(character for character in self.code.upper() if character.isalnum())
        return _hashed(plain, salt)


def draw_code() -> DrawnCode:
    """A fresh code."""
    text = "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))
    return DrawnCode(text=text, salt=secrets.token_bytes(16))


def _hashed(plain: str, salt: bytes) -> bytes:
    return hashlib.scrypt(plain.encode(), salt=salt, n=2**12, r=8, p=1)
