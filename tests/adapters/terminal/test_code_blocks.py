"""Code blocks are what was written, newest first."""

from adapters.terminal.code_blocks import newest_blocks
from gateway.items import Agent, AgentItem, HumanItem

TEXT = """First:

- in a list
  ```python title=x
  def f():
      return "```"
  ```

~~~
$ ls{spaces}

~~~
""".replace("{spaces}", "  ")


def test_blocks_are_found_newest_first_with_their_sources():
    helper = Agent(name="helper")
    items = [
        HumanItem(key="0", author="Ann", text="```\nmine\n```"),
        AgentItem(key="1", agent=helper, text=TEXT),
        AgentItem(key="2", agent=helper, text="no code"),
        AgentItem(key="3", agent=helper, text="```sql\nselect 1\n```"),
    ]
    blocks = list(newest_blocks(items))
    counts = ["1 line of sql", "2 lines of code", "2 lines of python"]
    assert [str(block) for block in blocks] == counts
    assert blocks[1].source == "$ ls  \n"
    assert blocks[2].source == 'def f():\n    return "```"'
