"""The line of files above the composer."""

from textual.app import App, ComposeResult

from adapters.terminal.widgets.file_bar import HINT, FileBar


class Barred(App[None]):
    def compose(self) -> ComposeResult:
        yield FileBar()


async def test_it_names_files_their_readers_and_faults_and_hides_without_any():
    app = Barred()
    async with app.run_test(size=(100, 12)):
        bar = app.query_one(FileBar)
        assert not bar.display
        bar.show("a.txt", to="everyone in #x", faults=["The team can't [read] it."])
        shown = str(bar.render()).splitlines()
        assert shown == ["files to everyone in #x: a.txt", "The team can't [read] it.", HINT]
        bar.show("a.txt", asked="a.txt will go out.")
        assert str(bar.render()).splitlines()[1:] == ["Enter again sends: a.txt will go out."]
        bar.show("")
        assert not bar.display
