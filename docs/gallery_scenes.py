"""Scenes of the gallery: a small team and its scripted model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateway.human_tools import ASKS_PEOPLE, ask_human
from teams import Swarm
from teams.agents import AssistantAgent
from teams.conditions import TextMessageTermination
from teams.models import ChatCompletionClient
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Fail, Reply, Script, after_tool, when

LENGTH = 12_000
FILLER = "This sentence only makes the answer long."
HARD = """\
# Level one

## Level two

### Level three with `code`

#### Level four

##### Level five

###### Level six

Text in **bold**, *italics*, ~~struck~~ and `inline <b>code</b>`, with 2 < 3 && 5 > 4.

1. first
   - nested
     - nested twice
       1. and numbered
2. second

- [x] a task that is done
- [ ] a task that is open

> A quote
>
> > in a quote
> >
> > > in a quote.

Links: [the docs](https://example.com/docs), https://example.com/bare, and
[https://example.com](https://example.org/elsewhere), which looks like another host.

| Region | Q1 | Q2 | Q3 | Q4 | Sum | Remark |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
| North | 1,200 | 1,340 | 1,410 | 1,800 | 5,750 | the new **shop** opened in the third quarter |
| South | 900 | 870 | 910 | 1,020 | 3,700 | see [the plan](https://example.com/plan) |

```html
<div class="card" onclick="go('a')">
  <p>Hello, <b>@everyone</b> &amp; you</p>
</div>
```

```cpp
template <typename T>
std::vector<T> twice(const std::vector<T>& v) { return v.size() < 2 ? v : cut<T>(v); }
```

Inline $e^{i\\pi} + 1 = 0$, and on its own:

$$
\\int_0^1 x^2 \\, dx = \\frac{1}{3}
$$

---

"""


OLD = """\
def wait_for(condition, timeout=5.0):
    until = time.monotonic() + timeout
    while time.monotonic() < until:
"""
NEW = OLD.replace("5.0", "30.0")


def long_answer() -> str:
    """The hard answer, with numbered paragraphs up to its length."""
    text, number = HARD, 0
    while len(text) < LENGTH:
        number += 1
        text += f"Paragraph {number}. {' '.join([FILLER] * 12)}\n\n"
    return text.strip()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Something that a person asks, and the model's answers to it.

    `press` is the button that the person then clicks, or the options that they choose, with commas
    between them, or `menu` the entry that they choose in the menu of the message with the text
    `on`; `ends` is a pattern of the scene's last call.
    """

    title: str
    about: str
    asks: str
    answers: tuple[Script, ...]
    ends: str
    press: str = ""
    menu: str = ""
    on: str = ""


def build(model_client: ChatCompletionClient, workdir: Path) -> Swarm:
    """A front desk that hands refunds over, asks, and writes files."""

    def pay_back(order: str, amount: float) -> str:
        """Pay an order back."""
        return f"{amount:.2f} EUR of order {order} were paid back."

    def write_report(name: str) -> str:
        """Write a report as a file."""
        (workdir / name).write_text("region,sum\nNorth,5750\nSouth,3700\n", encoding="utf-8")
        return f"{name} was written."

    def edit_file(path: str, old_str: str, new_str: str) -> str:
        """Replace a part of a file."""
        return f"{path} was changed: {len(old_str)} characters are {len(new_str)} now."

    tools = [pay_back, edit_file, write_report, FunctionTool(ask_human, "Ask.", traits=ASKS_PEOPLE)]
    ends = TextMessageTermination("front") | TextMessageTermination("refunds")
    front = AssistantAgent(
        "front",
        model_client,
        tools=tools,
        handoffs=["refunds"],
        model_client_stream=True,
        reflect_on_tool_use=True,
    )
    refunds = AssistantAgent("refunds", model_client, model_client_stream=True)
    return Swarm([front, refunds], termination_condition=ends)


def _calls(tool: str, /, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=tool, arguments=arguments)])


def _after_result(text: str, answer: Reply) -> Script:
    """An answer to this result of a tool."""
    return lambda request: answer if request.last.get("content") == text else None


SCENES = (
    Scene(
        title="A hard answer",
        about="Headings of all levels, nested lists, a task list, quotes, links, a wide table, "
        "code and formulas: 12,000 characters in all.",
        asks="Show everything.",
        answers=(when("Show everything", Reply(text=long_answer(), chunks=1)),),
        ends="Paragraph 17.|The whole answer",
    ),
    Scene(
        title="An approval",
        about="`pay_back` has the policy `ask`. Alice, who may approve, presses the first button.",
        asks="Pay back order 7.",
        answers=(
            when("Pay back order 7", _calls("pay_back", order="7", amount=12.5)),
            after_tool("pay_back", Reply(text="Order 7 is paid back.", chunks=1)),
        ),
        press="Approve",
        ends="Order 7 is",
    ),
    Scene(
        title="A change to approve",
        about="The policy of `edit_file` says which of its arguments is a path, and which are a "
        "change. Alice approves it for all files of the folder.",
        asks="Wait longer.",
        answers=(
            when(
                "Wait longer", _calls("edit_file", path="queue/wait.py", old_str=OLD, new_str=NEW)
            ),
            after_tool("edit_file", Reply(text="It waits for 30 seconds now.", chunks=1)),
        ),
        press="For this thread: path below queue/",
        ends="It waits for",
    ),
    Scene(
        title="A question with several answers",
        about="The agent calls `ask_human` with `several`, and Alice chooses two of the options.",
        asks="Deliver every week.",
        answers=(
            when(
                "Deliver every week",
                _calls(
                    "ask_human",
                    question="On which days?",
                    options=["Monday", "Tuesday", "Friday"],
                    several=True,
                ),
            ),
            _after_result("Monday, Friday", Reply(text="Mondays and Fridays it is.", chunks=1)),
        ),
        press="Monday, Friday",
        ends="Mondays and Fridays",
    ),
    Scene(
        title="A question",
        about="The agent calls `ask_human` with two suggested answers, and Alice presses one.",
        asks="Send me a mug.",
        answers=(
            when(
                "Send me a mug",
                _calls("ask_human", question="Which colour?", options=["Red", "Blue"]),
            ),
            after_tool("ask_human", Reply(text="A red mug is on its way.", chunks=1)),
        ),
        press="Red",
        ends="A red mug",
    ),
    Scene(
        title="A hand-off",
        about="`front` transfers the work to `refunds`, which answers.",
        asks="I want my money back.",
        answers=(
            when("I want my money back", _calls("transfer_to_refunds")),
            when("Transferred to refunds", Reply(text="Which order is it about?", chunks=1)),
        ),
        ends="Which order",
    ),
    Scene(
        title="An error",
        about=(
            "The model's server refuses the key. Alice is an operator, so she sees the setting; "
            "others read that only the operator can correct it."
        ),
        asks="Fail, please.",
        answers=(
            when("Fail, please", Fail(status=401, code="invalid_api_key", message="Wrong key.")),
        ),
        ends="was refused",
    ),
    Scene(
        title="A file",
        about="The agent's tool writes `report.csv` into the thread's folder.",
        asks="Write the report.",
        answers=(
            when("Write the report", _calls("write_report", name="report.csv")),
            after_tool("write_report", Reply(text="Here is the report.", chunks=1)),
        ),
        ends="report.csv",
    ),
    Scene(
        title="A fork",
        about="Alice chooses *Fork from here* in the menu of the answer: a copy of the thread "
        "begins in a new message of the channel.",
        asks="Name our new mug.",
        answers=(when("Name our new mug", Reply(text="Call it Cuppa.", chunks=1)),),
        menu="Fork from here",
        on="Cuppa",
        ends="is a fork of",
    ),
)
