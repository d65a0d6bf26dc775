"""AutoGen's modules and names without a counterpart, and their replacements."""

from teams._base.absent import instead_of
from teams._components.providers import SAME_MODULES

__all__ = ["SAME_MODULES", "instead_of"]
