"""One gateway's run: lifecycle, active settings, housekeeping."""
