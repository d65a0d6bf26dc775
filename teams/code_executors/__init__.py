"""Code executors: on this machine (`.local`) and in a container (`.docker`)."""

from teams._base.code import CommandLineCodeResult
from teams.code_executors._default import create_default_code_executor

__all__ = ["CommandLineCodeResult", "create_default_code_executor"]
