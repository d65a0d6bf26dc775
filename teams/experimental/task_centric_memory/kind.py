"""Task-centric memories as tables of config.toml."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Kind, Maker, Model, Part
from teams._base.tables import ConfigPath


class TaskCentricKind(Part):
    """A memory of people's advice, in a folder of yours.

    All agents and threads with the folder share it: they see what anybody said, between marks, as
    data. /memory shows none of it, and neither /memory nor the deletion of a person deletes any:
    delete files of the folder. Its model is asked for each message.
    """

    kind: ClassVar = Kind(
        *("memory", "task_centric", "teams.experimental.task_centric_memory.utils:Teachability"),
        has_form=False,
    )

    type: Literal["task_centric"]
    """Kind of memory."""

    folder: ConfigPath
    """Folder of the memos, a file each; give each team one of its own."""

    model: Model = ""
    """Name of the model in [models] that finds advice; default_model if not given."""

    generalize_task: bool = True
    """Look for a message in general terms."""

    revise_generalized_task: bool = True
    """Have the general terms looked over in the same request."""

    generate_topics: bool = True
    """Look for the topics of a message."""

    validate_memos: bool = True
    """Leave out memos that do not help."""

    max_memos_to_retrieve: int = Field(default=10, ge=1)
    """Memos that are told at most."""

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        from teams.experimental.task_centric_memory import _teachability as it  # few need it

        settings: Any = self.model_dump(exclude={"type", "folder", "model"})
        settings["MemoryBank"] = {"path": str(self.folder)}
        client, masked = maker.client(self.model), maker.masked
        return it.Teachability(it.MemoryController(False, client, config=settings, masked=masked))
