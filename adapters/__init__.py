"""The platforms on which people meet a team: one module or package each."""
