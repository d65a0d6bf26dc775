"""The client reads files of a thread's own folder alone."""

import pytest

from gateway.control.socket_client import SocketClient
from gateway.errors import NotFound
from tests.gateway.scripted import ScriptedTeams, opened, solo, turn


async def test_a_made_file_is_read_and_nothing_outside_of_its_folder(tmp_path):
    teams = ScriptedTeams(lambda: solo("ok"))
    async with opened(tmp_path, teams):
        client = await SocketClient.connect(tmp_path)
        thread = (await client.create_thread()).id
        await turn(client, thread, "go")
        (folder,) = teams.workdirs
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.txt").write_bytes(b"hi")
        (folder / "link").symlink_to("/etc/passwd")
        assert (await client.made_file(thread, "a.txt")).data == b"hi"
        for path in ("link", "../secret", "/etc/passwd", "nothing", "", ".", "a\0b"):
            with pytest.raises(NotFound, match="There is no file"):
                await client.made_file(thread, path)
        with pytest.raises(NotFound):
            await client.made_file("another", "a.txt")
