"""Prices and context sizes of models, from a catalog."""

from teams._base.prices import ListedModel, has_catalog, listed_model

__all__ = ["ListedModel", "has_catalog", "listed_model"]
