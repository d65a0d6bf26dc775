"""The platforms on which people meet a team: one package each."""
