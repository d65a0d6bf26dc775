"""`python -m gateway.cli` is `parley`."""

from gateway.cli import main

main(prog_name="parley")
