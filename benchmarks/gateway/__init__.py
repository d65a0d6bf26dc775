"""The gateway's own cost, around a team that costs nothing."""
