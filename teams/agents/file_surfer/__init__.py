"""An agent that looks into files; it needs the extra `file-surfer`."""

from teams.agents.file_surfer._agent import FileSurfer

__all__ = ["FileSurfer"]
