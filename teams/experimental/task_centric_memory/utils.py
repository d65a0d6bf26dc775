"""Teachability, and what trains, grades, records and logs."""

from teams.experimental.task_centric_memory._apprentice import Apprentice, ApprenticeConfig
from teams.experimental.task_centric_memory._asking import Grader, PageLogger, PageLoggerConfig
from teams.experimental.task_centric_memory._recorder import ChatCompletionClientRecorder
from teams.experimental.task_centric_memory._teachability import Teachability

__all__ = ["Apprentice", "ApprenticeConfig", "ChatCompletionClientRecorder", "Grader"]
__all__ += ["PageLogger", "PageLoggerConfig", "Teachability"]
