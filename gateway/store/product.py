"""The one product that a database belongs to."""

from __future__ import annotations

import json

from gateway.base.exit_codes import ExitCode
from gateway.errors import StoreError
from gateway.values import value


class OtherProduct(StoreError):
    """The store's database belongs to another product."""

    exit_code = ExitCode.USAGE

    def __init__(self, place: str, kept: str, own: str) -> None:
        super().__init__(
            f"The database {place} belongs to another product ({kept}); this config is that of "
            f"another one ({own}). Together they would answer each other's people. Give this one a "
            'place of its own there, such as schema = "second" in [store], or another database. '
            "If it is the same product with other apps: start it once with the earlier ones and a "
            "`name` in [store]; from then on only the name counts."
        )


@value
class Product:
    """A product, by its name and its apps on platforms.

    `ids` are such as "slack: app A0123ABCD".
    """

    name: str = ""
    ids: frozenset[str] = frozenset()

    def __str__(self) -> str:
        named = [f"name {self.name!r}"] if self.name else []
        return ", ".join([*named, *sorted(self.ids)]) or "no name and no app"

    def joined(self, kept: Product, place: str) -> Product:
        """The product of a database that was `kept` for one. Raises OtherProduct.

        Two names decide; else one app in common does. A database of nobody is anybody's.
        """
        if self.name and kept.name:
            is_same = self.name == kept.name
        else:
            is_same = kept == Product() or bool(self.ids & kept.ids)
        if not is_same:
            raise OtherProduct(place, str(kept), str(self))
        return Product(name=self.name or kept.name, ids=self.ids | kept.ids)

    def dump(self) -> str:
        """As it is stored."""
        return json.dumps({"name": self.name, "ids": sorted(self.ids)})


def load_product(stored: str) -> Product:
    """The product that was stored, "" for none."""
    data = json.loads(stored or "{}")
    return Product(name=data.get("name", ""), ids=frozenset(data.get("ids", ())))
