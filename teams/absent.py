"""AutoGen's modules and names without a counterpart, and their replacements."""

from teams._base.absent import instead_of

__all__ = ["instead_of"]
