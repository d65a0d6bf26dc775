"""Faults of files are told before they are sent."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.client import SentFile
from gateway.config.settings import Attachments
from gateway.content.documents import Documents
from gateway.control.socket_client import SocketClient
from gateway.gateway import Limits
from gateway.inbound.file_faults import file_faults
from gateway.registry import ModelChoice
from tests.gateway.content.test_attachments import png
from tests.gateway.scripted import ScriptedTeams, opened, solo

PICTURE = SentFile(name="a.png", media_type="image/png", data=png())
HALF = replace(PICTURE, name="half.png", data=png(100, 100)[:-60])
TEXT = SentFile(name="a.txt", media_type="text/plain", data=b"hi")
SOUND = SentFile(name="a.mp3", media_type="audio/mpeg", data=b"\xff\0")


async def faults(files: Sequence[SentFile], limits: Attachments, blind: str = "") -> list[str]:
    return await file_faults(files, limits, blind, Documents())


async def test_each_file_that_a_team_does_not_get_has_its_sentence():
    limits = Attachments(file_mb=0.000005)
    large = replace(TEXT, data=b"123456")
    assert await faults([TEXT, large], limits) == ["a.txt has 0.0 MB; a file may have 5e-06 MB."]
    limits = Attachments(types=["text/*"])
    assert await faults([TEXT, PICTURE], limits) == [
        "a.png is of the type image/png, which is not allowed here."
    ]
    assert await faults([TEXT, PICTURE], Attachments()) == []
    assert await faults([TEXT, SOUND, HALF, PICTURE], Attachments(), "gpt-3") == [
        "The team can't be shown the file 'half.png': it is broken.",
        "The team can't be shown the file 'a.mp3': the file type audio/mpeg can't be read here.",
        "The team does not see the image 'a.png': gpt-3 takes none.",
    ]


async def test_a_team_whose_models_take_no_images_says_so_also_elsewhere(tmp_path):
    choices = (
        ModelChoice(name="small", label="replay", is_blind=True),
        ModelChoice(name="large", label="large"),
    )
    teams = ScriptedTeams(lambda: solo("ok"), choices=choices)
    async with opened(tmp_path, teams, limits=Limits(attachments=Attachments(types=["*"]))):
        client = await SocketClient.connect(tmp_path)
        (fault,) = await client.file_faults([PICTURE, TEXT])
        assert "replay takes none" in fault
        assert await client.file_faults([PICTURE], model="large") == []
        assert await client.file_faults([PICTURE], team="a team of old") == []
