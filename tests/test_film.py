"""The moving picture of the README."""

import re
from xml.etree import ElementTree

import pytest

from docs.film import FILM, film, taken

PICTURE = (
    '<svg class="rich-terminal" viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg">\n'
    "<style>\n    .terminal-12-r1 {{ fill: {0} }}\n</style>\n"
    '<text class="terminal-12-r1">{0}</text>\n</svg>\n'
)


def test_each_picture_is_shown_for_its_seconds_with_its_own_colours():
    made = film([(PICTURE.format("red"), 1.0), (PICTURE.format("blue"), 3.0)])
    frames = ElementTree.fromstring(made).findall("{*}g")
    assert ["".join(frame.itertext()).split() for frame in frames] == [
        [".f0-r1", "{", "fill:", "red", "}", "red"],
        [".f1-r1", "{", "fill:", "blue", "}", "blue"],
    ]
    assert "0.00% { visibility: visible; } 25.00% { visibility: hidden; }" in made
    assert "25.00% { visibility: visible; } 100.00% { visibility: hidden; }" in made


def test_the_film_loads_nothing_and_stops_for_those_who_want_no_motion():
    shown = FILM.read_text(encoding="utf-8")
    assert re.findall(r"url\((?!#)|href=\"(?!#)|<script", shown) == []
    assert "prefers-reduced-motion: reduce" in shown


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_the_film_is_of_todays_terminal():
    assert FILM.read_text(encoding="utf-8") == film(await taken()), "run `python docs/film.py`"
