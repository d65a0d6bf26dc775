"""Faces of nobody, and names that somebody else has."""

from pathlib import Path

import pytest

from tests.gateway.config.test_faces import mistakes


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("[faces.suport.triage]", "faces.suport", "did you mean 'support'?"),
        ("[faces.support.triag]", "faces.support.triag", "did you mean 'triage'?"),
        ("[faces.support.triage]\nname = 'Slackbot'", "name", "the platform's own"),
        ("[faces.support.triage]\nname = 'D\u0456SCORD'", "name", "the platform's own"),
        ("[faces.support.triage]\nname = 'writer'", "name", "the name of writer too"),
        (
            "[faces.support.triage]\nname = 'Ann'\n[faces.support.writer]\nname = 'ANN'",
            "faces.support.writer.name",
            "the name of triage too",
        ),
    ],
)
def test_a_mistake_in_names_is_told_at_its_place(
    tmp_path: Path, text: str, place: str, said: str
) -> None:
    ((path, found),) = mistakes(tmp_path, text)
    assert path.endswith(place)
    assert said in found
