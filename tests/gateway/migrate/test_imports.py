"""Import statements of a program, rewritten."""

from __future__ import annotations

import pytest

from gateway.migrate.rewrite import rewrite


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import autogen_core.models as m, os\n", "import teams.models as m, os\n"),
        (
            "import autogen_core\nautogen_core.models.UserMessage\n",
            "import teams.core, teams.models\nteams.models.UserMessage\n",
        ),
        ("import autogen_core; x = 1\n", "import teams.core; x = 1\n"),
        ("from autogen_core import models\n", "from teams import models\n"),
        ("from autogen_agentchat import teams\n", "import teams\n"),
        (
            "# why\nfrom autogen_core import Image, models  # both\n",
            "# why\nfrom teams.core import Image\nfrom teams import models  # both\n",
        ),
        ("from . import autogen_core\n", "from . import autogen_core\n"),
    ],
)
def test_an_import_leads_to_the_home_of_its_names(before: str, after: str) -> None:
    done = rewrite(before)
    assert (done.code, done.notes) == (after, ())


@pytest.mark.parametrize(
    ("source", "code", "told"),
    [
        (
            "import autogen_core.nowhere\n",
            "import autogen_core.nowhere\n",
            ["autogen_core.nowhere: "],
        ),
        (
            "from autogen_core import *\n",
            "from teams.core import *\n",
            ["import * of autogen_core: "],
        ),
        (
            "from autogen_core.nowhere import *\n",
            "from autogen_core.nowhere import *\n",
            ["autogen_core.nowhere: "],
        ),
        (
            "from autogen_core import Nobody, Image\n",
            "from autogen_core import Nobody\nfrom teams.core import Image\n",
            ["autogen_core.Nobody: "],
        ),
    ],
)
def test_a_name_without_a_home_stays_and_is_told(source: str, code: str, told: list[str]) -> None:
    done = rewrite(source)
    assert done.code == code
    assert [note.line for note in done.notes] == [1]
    assert [note.text[: len(begin)] for note, begin in zip(done.notes, told, strict=True)] == told
