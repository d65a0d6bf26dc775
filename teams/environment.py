"""Variables of this process that code of others never sees."""

from teams._base.environment import environment_for_code, withhold_variables

__all__ = ["environment_for_code", "withhold_variables"]
