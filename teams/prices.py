"""Prices and context sizes of models, from a catalog."""

from teams._base.prices import ListedModel, listed_model

__all__ = ["ListedModel", "listed_model"]
