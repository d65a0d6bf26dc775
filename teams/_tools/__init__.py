"""Tools and workbenches: the code behind `teams.tools`."""
