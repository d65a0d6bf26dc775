"""Tokens that platforms gave to Parley, encrypted in the store.

The keys stand in the config, never in the store. Each value says by which key it was encrypted; the
first key encrypts, the others are for reading until `parley secrets rotate` has run. A value holds
its own name, so that none can be put in another's place.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import SecretStr

from gateway.base.exit_codes import ExitCode
from gateway.errors import GatewayError
from gateway.store.protocols import SessionReader
from gateway.store.records import EncryptedToken
from gateway.store.units import adapters as adapter_units

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


class WrongKey(GatewayError):
    """A token can't be read, or kept, with the config's keys."""

    exit_code = ExitCode.USAGE


def new_key() -> str:
    """A new key for the config: its id, and the key itself."""
    from cryptography.fernet import Fernet  # for start-up, as below: few configs have keys

    return f"{time.strftime('k%Y%m%d')}:{Fernet.generate_key().decode()}"


def keys_of(text: SecretStr | None) -> dict[str, SecretStr]:
    """The keys in a text by their ids; the first one encrypts."""
    entries = text.get_secret_value().replace(",", " ").split() if text else ()
    pairs = (entry.partition(":") for entry in entries)
    return {name: SecretStr(key) for name, _, key in pairs}


def _fernet(key: SecretStr) -> Fernet:
    from cryptography.fernet import Fernet  # as above

    return Fernet(key.get_secret_value())


class TokenStore:
    """Tokens by their names, such as "slack:T1:bot". Writing needs the store's ownership."""

    def __init__(self, store: SessionReader, keys: Mapping[str, SecretStr]) -> None:
        self._store = store
        self._keys = {name: _fernet(key) for name, key in keys.items()}

    async def get(self, name: str) -> SecretStr | None:
        """The token, None if there is none. Raises WrongKey."""
        for row in await self._store.run(adapter_units.tokens):
            if row.name == name:
                return SecretStr(self._decrypted(row))
        return None

    async def put(self, name: str, token: SecretStr) -> None:
        """Keep a token; it replaces an earlier one.

        Raises WrongKey without a key.
        """
        await self._store.run(
            adapter_units.put_tokens, [self._encrypted(name, token.get_secret_value())]
        )

    async def delete(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        return await self._store.run(adapter_units.delete_token, name)

    async def names(self) -> list[str]:
        """The names of all tokens."""
        return [row.name for row in await self._store.run(adapter_units.tokens)]

    async def check(self) -> None:
        """Raises WrongKey if there is a token that these keys can't read."""
        for row in await self._store.run(adapter_units.tokens):
            self._decrypted(row)

    async def rotate(self) -> int:
        """Encrypt all tokens, or none, with the first key; their number.

        Raises WrongKey.
        """
        rows = await self._store.run(adapter_units.tokens)
        await self._store.run(
            adapter_units.put_tokens,
            [self._encrypted(row.name, self._decrypted(row)) for row in rows],
        )
        return len(rows)

    def _encrypted(self, name: str, token: str) -> EncryptedToken:
        if not self._keys:
            raise WrongKey(
                "No key is set to encrypt the platforms' tokens. Make one with "
                "`parley secrets key` and name its file in [store], keys_file = ..."
            )
        key = next(iter(self._keys))
        text = json.dumps({"name": name, "token": token})
        value = self._keys[key].encrypt(text.encode())
        return EncryptedToken(name=name, key=key, value=value)

    def _decrypted(self, row: EncryptedToken) -> str:
        from cryptography.fernet import InvalidToken  # as above

        name, key = row.name, row.key
        if key not in self._keys:
            known = ", ".join(self._keys) or "none"
            raise WrongKey(
                f"The token {name!r} was encrypted with the key {key!r}, which [store] keys does "
                f"not have (there is {known})."
            )
        try:
            data = json.loads(self._keys[key].decrypt(row.value))
        except InvalidToken as error:
            raise WrongKey(
                f"The token {name!r} can't be read with the key {key!r}: it is another key of that "
                "name, or the token is damaged."
            ) from error
        if data["name"] != name:
            raise WrongKey(f"The token {name!r} belongs to {data['name']!r}: rows were swapped.")
        return data["token"]
