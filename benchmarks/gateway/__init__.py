"""What the gateway costs around a team that costs nothing."""
