"""Variables of this process that code of others never sees."""

from teams._base.environment import USUAL_VARIABLES, environment_for_code, withhold_variables

__all__ = ["USUAL_VARIABLES", "environment_for_code", "withhold_variables"]
