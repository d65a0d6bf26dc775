"""Replies are easy to read: lines, headings, code, tasks and tables."""

from pathlib import Path

import pytest
from textual.content import Content
from textual.widgets import Label, Markdown
from textual.widgets.markdown import MarkdownFence

from adapters.terminal.widgets.columns import READABLE
from tests.adapters.terminal.running import Chat, began, chatting, delta, said, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)
LONG = "word " * 60
TEXT = f"""# One

## Two

### Three

{LONG}

```
Error: it's not "closed ???
```

```json
{{"cut": tru
```

```diff
-old
+new
```

- [x] done
- [ ] open
- plain

| {"wide " * 22}| 2 |
| --- | --- |
| a | b |

The end.
"""


async def told(client: ScriptedClient, text: str) -> None:
    thread = client.add_thread("Reading")
    await client.happen(thread, began(LONG), speaker("helper"), said("helper", "m", text))


def colours(chat: Chat) -> list[list[str]]:
    """The styles of each code block's parts."""
    labels = [fence.query_one(Label) for fence in chat.transcript.query(MarkdownFence)]
    contents = [label.content for label in labels]
    return [
        [str(span.style) for span in content.spans]
        for content in contents
        if isinstance(content, Content)
    ]


async def test_a_reply_is_set_to_be_read(tmp_path: Path):
    client = ScriptedClient()
    await told(client, TEXT)
    async with chatting(client, tmp_path, size=(200, 60)) as chat:
        await chat.until_shown("The end.")
        lines = [line[30:165].rstrip() for line in chat.text().splitlines()]  # between its sides
        wide = [line for line in lines if "word word" in line]
        assert len(wide) == 6, "both the question and the answer are wrapped"
        assert max(map(len, wide)) <= READABLE + 4
        assert len(next(line for line in lines if "wide wide" in line)) > READABLE + 4
        headings = [chat.transcript.query_one(f"MarkdownH{level}") for level in (1, 2, 3)]
        looks = {(str(each.styles.text_style), each.styles.color.hex) for each in headings}
        assert len(looks) == 3
        unnamed, cut, diff = colours(chat)
        assert unnamed == []
        assert cut
        assert not [style for style in cut if "error" in style]
        assert ["error" in style for style in diff] == [True, False]
        assert ["success" in style for style in diff] == [False, True]
        shown = chat.text()
        assert "[✓] done" in shown
        assert "[ ] open" in shown
        assert "• plain" in shown


async def test_numbers_stand_at_the_right_also_in_a_table_that_grows(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, size=(90, 40), new=True) as chat:
        await chat.type("count")
        head = "| name | number | said |\n| --- | --- | ---: |\n| a | 7 | x |\n"
        await chat.happen(speaker("helper"), delta("helper", "m", head))
        await chat.until_shown("│ a    │      7 │    x │")
        await chat.happen(delta("helper", "m", "| b | 1,234.5 | yy |\n"))
        await chat.until_shown("│ a    │       7 │    x │", "│ b    │ 1,234.5 │   yy │")
        await chat.happen(delta("helper", "m", "| c | none | z |\n"))
        await chat.until_shown("│ b    │ 1,234.5 │   yy │", "│ c    │ none    │    z │")


async def test_a_hostile_reply_is_only_text(tmp_path: Path):
    client = ScriptedClient()
    task, code, table = "- [x] [/nope] [@click=app.exit]now[/]", "[bold]", "| [/] |\n| - |\n| [b] |"
    text = f"{task}\n\n```[red]\n{code}\n```\n\n{table}\n\nend"
    await told(client, text)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("[✓] [/nope] [@click=app.exit]now[/]", "[bold]", "│ [b] │", "end")
        assert chat.transcript.query_one(Markdown).source == text
