from typing import Any

from gateway.client import ThreadInfo
from gateway.events import (
    HumanText,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    MessageJoined,
    Notice,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkHandedOff,
)
from gateway.transcript import markdown

THREAD = ThreadInfo(id="t", title="A\ntitle", team="demo", state="idle", updated_at=0.0)
EXPECTED = """\
# A title

Team: demo

## Ann

Please *look*.

> desk uses read: {"name": "a b"}

> read answered:

````
```
code
```
````

> desk asks: Delete it?
> Really?

> Ann approved: 1 of 2 approvals.

> Bob: denied: no

## Bob

Not that.

> Attached: plan.md, a b.png

> desk hands off to clerk

## clerk

Here **it** is.

> Careful.

> the turn was stopped
"""


def test_a_thread_reads_as_a_document():
    call: dict[str, Any] = {"agent": "desk", "call": "1", "tool": "read"}
    events = [
        TurnStarted(
            thread="t", messages=(HumanText(inbox=1, author="Ann", text="Please *look*."),)
        ),
        ToolStarted(thread="t", **call, arguments='{"name":\n"a b"}'),
        ToolFinished(thread="t", **call, result="```\ncode\n```"),
        InputRequested(
            thread="t",
            request="r",
            request_kind="approval",
            agent="desk",
            prompt="Delete it?\nReally?",
        ),
        InputSupported(thread="t", request="r", by="Ann", approved=1, quorum=2),
        InputResolved(thread="t", request="r", outcome="denied: no", by="Bob"),
        MessageJoined(
            thread="t",
            message=HumanText(
                inbox=2, author="Bob", text="Not that.", files=("plan.md", "a\nb.png")
            ),
        ),
        WorkHandedOff(thread="t", agent="desk", target="clerk"),
        MessageFinished(thread="t", agent="clerk", message="m", text="Here **it** is."),
        MessageFinished(thread="t", agent="clerk", message="n", text=""),
        Notice(thread="t", text="Careful."),
        TurnFinished(thread="t", outcome="stopped"),
    ]
    assert markdown(THREAD, events) == EXPECTED
