"""Slack's cards, lines and files: texts, buttons and outcomes."""

import json
from dataclasses import replace

import pytest
from slack_sdk.models.blocks import Block

from adapters.slack.action_ids import parse_action
from adapters.slack.testing import ConnectionReset, Refusal
from gateway.events import InputRequested
from gateway.interactions import Button
from gateway.surface import (
    CallRejected,
    Card,
    Document,
    File,
    Line,
    OutcomeUnknown,
    PlatformUnreachable,
)
from tests.adapters.slack.desk import Desk, part, speech, tool

APPROVAL = InputRequested(
    thread="t",
    request="0123456789ab",
    request_kind="approval",
    agent="clerk",
    prompt="clerk wants to use pay.",
    tool="pay",
    arguments='{"to": "bob", "amount": 5}',
)
ARGUMENTS = "to: bob\namount: 5"
BUTTONS = (
    "Approve",
    "Deny",
    "Deny with a note",
    "For this thread: exactly these arguments",
    "For this thread: any arguments",
)
CHOICE = replace(
    APPROVAL, request_kind="choice", prompt="Which one?", tool="", arguments="", options=("a", "b")
)
QUESTION = replace(CHOICE, request_kind="text", prompt="What is your name?", options=())


def actions_of(desk: Desk) -> list[Button | None]:
    """Actions of all elements of the last message."""
    found: list[Button | None] = []
    for block in desk.messages()[-1].blocks:
        for element in block.get("elements", ()):
            match element.get("type"):
                case "button":
                    found.append(parse_action(element))
                case "static_select":
                    found += [
                        parse_action({**element, "selected_option": option})
                        for option in element.get("options", ())
                    ]
                case "feedback_buttons":
                    found += [
                        parse_action({**element, "value": element[thumb]["value"]})
                        for thumb in ("positive_button", "negative_button")
                    ]
                case _:
                    pass
    return found


@pytest.fixture(autouse=True)
async def every_block_is_valid(desk: Desk):
    yield
    for call in desk.slack.calls():
        sent = call.arguments.get("blocks") or []
        for block in json.loads(sent) if isinstance(sent, str) else sent:
            parsed = Block.parse(block)
            assert parsed is not None
            parsed.validate_json()


async def test_an_approval_shows_the_call_whole_and_what_can_be_said_to_it(desk: Desk) -> None:
    card = Card(request=APPROVAL, mentions=("slack:T0HOME:U0BOB",))
    await desk.surface.post(desk.place, part(card))
    [shown] = desk.messages()
    assert shown.text.splitlines() == [
        ":raised_hand: <@U0BOB> *clerk* asks to run `pay`.",
        *ARGUMENTS.splitlines(),
    ]
    assert shown.fallback == "clerk asks to run pay."
    assert shown.buttons == BUTTONS
    kinds = [
        action.kind
        for action in actions_of(desk)
        if action and action.about == card.request.request
    ]
    assert kinds == ["approve", "deny", "note", "same", "always"]


async def test_what_may_not_be_allowed_for_ever_has_no_button_for_that(desk: Desk) -> None:
    await desk.surface.post(desk.place, part(Card(request=replace(APPROVAL, always=False))))
    assert desk.messages()[0].buttons == BUTTONS[:3]


async def test_an_approval_for_the_thread_names_the_folder(desk: Desk) -> None:
    request = replace(APPROVAL, below=(("path", "<!here> a‮*b*"),))
    await desk.surface.post(desk.place, part(Card(request=request)))
    assert desk.messages()[0].buttons[4] == "For this thread: path below \u2039!here> a⟨U+202E⟩*b*/"
    action = actions_of(desk)[4]
    assert action is not None
    assert (action.kind, action.about) == ("below", APPROVAL.request)


async def test_arguments_hide_nothing(desk: Desk) -> None:
    request = replace(APPROVAL, arguments='{"to": "a\u202eb\u200b <!channel> `x` *y*"}')
    await desk.surface.post(desk.place, part(Card(request=request)))
    assert "to: a⟨U+202E⟩b⟨U+200B⟩ <!channel> `x` *y*" in desk.messages()[0].text


async def test_sixty_lines_are_sixty_lines(desk: Desk) -> None:
    text = "".join(f"{n}: {'x' * 70} <@U0BOB>\n" for n in range(60))
    request = replace(APPROVAL, arguments=json.dumps({"path": "a.py", "text": text}))
    await desk.surface.post(desk.place, part(Card(request=request)))
    [card] = desk.messages()
    code = [
        element["elements"][0]["text"]
        for block in card.blocks
        if block["type"] == "rich_text"
        for element in block["elements"]
    ]
    assert code[0] == "path: a.py"
    assert "".join(code[1:]) == text
    assert max(map(len, code)) <= 3000
    assert "`text` · 60 lines" in card.text


async def test_an_approval_gives_its_reason(desk: Desk) -> None:
    because = "It needs approval because this conversation contains results of fetch."
    request = replace(APPROVAL, prompt=f"{APPROVAL.prompt} {because}")
    await desk.surface.post(desk.place, part(Card(request=request)))
    [shown] = desk.messages()
    assert shown.text.splitlines()[1] == because
    assert shown.fallback == f"clerk asks to run pay. {because}"


async def test_long_arguments_come_whole_in_a_file_before_the_card(desk: Desk) -> None:
    text = "\n".join(f"line {n}" for n in range(1500))
    request = replace(APPROVAL, arguments=json.dumps({"to": "bob", "text": text}))
    message = await desk.surface.post(desk.place, part(Card(request=request)))
    file, card = desk.messages()
    assert file.files[0].startswith("arguments-0123456789ab")
    assert (
        "`text` (1,500 lines): All arguments are in arguments-0123456789ab.txt above" in card.text
    )
    assert "to: bob" in card.text
    stored = next(iter(desk.slack.world.workspaces["T0HOME"].files.values()))
    assert stored.data.decode().splitlines()[:3] == ["to: bob", "text:", "    line 0"]
    assert stored.data.decode().endswith("    line 1499")
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) == message == card.ts


async def test_a_file_before_a_card_is_sent_once_however_often_the_card_is_tried(
    desk: Desk,
) -> None:
    request = replace(APPROVAL, arguments=json.dumps({"text": "x" * 9000}))
    desk.slack.fail("chat.postMessage", Refusal("fatal_error"))
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, part(Card(request=request)))
    await desk.surface.post(desk.place, part(Card(request=request)))
    assert [bool(each.files) for each in desk.messages()] == [True, False]


@pytest.mark.parametrize("readable", [True, False])
async def test_a_file_whose_card_was_lost_with_the_process_is_not_sent_twice_silently(
    desk: Desk, *, readable: bool
) -> None:
    request = replace(APPROVAL, arguments=json.dumps({"text": "x" * 9000}))
    desk.slack.fail("chat.postMessage", Refusal("fatal_error"))
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, part(Card(request=request)))
    if not readable:
        desk.slack.fail("conversations.replies", Refusal("missing_scope"), times=9)
    await desk.restarted().post(desk.place, part(Card(request=request), unsure=not readable))
    shown = [bool(each.files) for each in desk.messages()]
    assert shown == ([True, False] if readable else [True, True, False])
    marked = ["may appear twice" in text for text in desk.texts]
    assert marked == ([False, False] if readable else [False, True, True])


async def test_few_options_are_buttons_and_many_are_a_menu(desk: Desk) -> None:
    await desk.surface.post(desk.place, part(Card(request=CHOICE)))
    assert desk.messages()[0].buttons == ("a", "b")
    assert [action.number for action in actions_of(desk) if action] == [0, 1]
    many = replace(CHOICE, options=tuple(f"option {n}" for n in range(12)))
    await desk.surface.post(desk.place, part(Card(request=many), key="k2"))
    meant = [action for action in actions_of(desk) if action]
    assert [action.number for action in meant] == list(range(12))
    assert {(action.kind, action.about) for action in meant} == {("choice", "0123456789ab")}


async def test_a_question_has_a_button_and_takes_a_reply(desk: Desk) -> None:
    await desk.surface.post(desk.place, part(Card(request=QUESTION)))
    [shown] = desk.messages()
    assert shown.buttons == ("Answer",)
    assert shown.text.splitlines() == [
        ":raised_hand: *clerk* asks:",
        "What is your name?",
        "or reply in this thread",
    ]
    assert shown.fallback == "clerk asks: What is your name?"
    settled = Card(request=QUESTION, outcome="Ann *Lee*", by="Bob")
    await desk.surface.edit(desk.place, shown.ts, part(settled))
    [shown] = desk.messages()
    assert shown.text.splitlines()[::2] == [
        "*clerk* asked:",
        "Bob answered: Ann *Lee*",
    ]
    assert shown.fallback == "clerk asked: What is your name? Bob answered: Ann Lee"


async def test_a_question_is_read_as_markdown_and_whole_if_need_be_in_a_file(desk: Desk) -> None:
    prompt = "Which **one**, <@U0BOB>?\n\n" + "Many words. " * 900
    await desk.surface.post(desk.place, part(Card(request=replace(CHOICE, prompt=prompt))))
    file, card = desk.messages()
    markdown = [block["text"] for block in card.blocks if block["type"] == "markdown"]
    assert markdown[0].startswith("Which **one**, &lt;@U0BOB>?")
    assert f"The whole question is in {file.files[0]} above." in card.text
    stored = next(iter(desk.slack.world.workspaces["T0HOME"].files.values()))
    assert stored.data.decode() == prompt


async def test_a_settled_card_says_how_and_by_whom_and_has_no_buttons(desk: Desk) -> None:
    message = await desk.surface.post(
        desk.place, part(Card(request=APPROVAL, mentions=("slack:T0HOME:U0BOB",)))
    )
    settled = Card(
        request=APPROVAL,
        outcome="denied: too <!here> much",
        by="Bob",
        mentions=("slack:T0HOME:U0BOB",),
    )
    await desk.surface.edit(desk.place, message, part(settled))
    [shown] = desk.messages()
    assert shown.buttons == ()
    assert "Denied by Bob: too" in shown.text
    assert shown.fallback.startswith("clerk asked to run pay. Denied by Bob: too")
    assert "<!here>" not in shown.text
    assert "<@U0BOB>" not in shown.text


async def test_a_card_elsewhere_is_for_deciding_without_the_conversation(desk: Desk) -> None:
    away = replace(desk.place, key=replace(desk.place.key, channel="C0RANDOM", root=""))
    link = "https://home.slack.com/archives/C1/p1"
    request = replace(APPROVAL, prompt="Bob said: pay me.")
    card = Card(request=request, away=True, link=link, mentions=("slack:T0HOME:U0BOB",))
    message = await desk.surface.post(away, part(card))
    shown = desk.slack.messages("random")[-1]
    assert "Bob said" not in shown.text + shown.fallback
    assert ARGUMENTS in shown.text
    assert link in shown.text
    assert shown.buttons == BUTTONS
    assert await desk.surface.find(away, "k1", 0.0, speech=True) == message
    await desk.surface.edit(away, message, part(replace(card, outcome="approved", by="Bob")))
    shown = desk.slack.messages("random")[-1]
    assert "Approved by Bob" in shown.text
    assert "Bob said" not in shown.text + shown.fallback
    assert shown.buttons == ()


async def test_a_line_has_its_level_its_people_and_its_button(desk: Desk) -> None:
    line = Line(
        text="That failed: <!channel> *x*",
        level="error",
        command="/retry",
        label="Try again",
        mentions=("slack:T0HOME:U0ALICE", "discord:1:2"),
    )
    await desk.surface.post(desk.place, part(line))
    [shown] = desk.messages()
    assert shown.text.startswith(":x: <@U0ALICE> That failed: &lt;!channel&gt;")
    assert shown.buttons == ("Try again",)
    assert actions_of(desk) == [Button(kind="command", about="/retry")]


async def test_an_answer_can_be_praised_and_blamed(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("Done.", growing=False))
    assert actions_of(desk) == [
        Button(kind="feedback", about="k1", number=1),
        Button(kind="feedback", about="k1", number=0),
    ]


async def test_what_may_stand_there_twice_says_so(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("Done.", growing=False, unsure=True))
    await desk.surface.post(desk.place, speech("Wait ", key="k2", unsure=True))
    await desk.surface.post(desk.place, part(Line(text="Hm."), key="k3", unsure=True))
    await desk.surface.post(desk.place, part(Card(request=APPROVAL), key="k4", unsure=True))
    assert all("may appear twice" in text for text in desk.texts)


async def test_a_file_stands_in_the_thread_and_is_found_again(desk: Desk) -> None:
    document = Document(files=(File(name="plan.md", data=b"# Plan"),), text="All of it:")
    message = await desk.surface.post(desk.place, part(document, key="abcdefghijklmnop"))
    [shown] = desk.messages()
    assert shown.files == ("plan.md",)
    assert shown.text == "All of it:"
    assert await desk.surface.find(desk.place, "abcdefghijklmnop", 0.0, speech=True) == message
    assert await desk.surface.find(desk.place, "another-key", 0.0, speech=True) is None


async def test_files_stand_in_one_message_under_their_agents_name(desk: Desk) -> None:
    files = (
        File(name="plan.md", data=b"# Plan"),
        File(name="none", data=b""),
        File(name="b", data=b"b"),
    )
    document = Document(files=files, agent="writer")
    message = await desk.surface.post(desk.place, part(document, key="abcdefghijklmnop"))
    [shown] = desk.messages()
    assert shown.files == ("plan.md", "b")
    assert "writer" in (shown.name, shown.text.splitlines()[0].strip("*"))
    assert "The file none is empty." in shown.text
    assert await desk.surface.find(desk.place, "abcdefghijklmnop", 0.0, speech=True) == message


async def test_a_file_without_an_answer_is_found_or_surely_not_there(desk: Desk) -> None:
    document = Document(files=(File(name="plan.md", data=b"# Plan"),))
    await desk.surface.post(desk.place, part(document, key="k0"))  # another of the same name
    assert desk.texts == ["plan.md, 6 bytes"]
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) is None
    desk.slack.fail("files.completeUploadExternal", ConnectionReset(applied=True))
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, part(document))
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True)
    desk.slack.fail("files.completeUploadExternal", ConnectionReset())
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, part(document, key="k2"))
    assert await desk.surface.find(desk.place, "k2", 0.0, speech=True) is None


async def test_an_empty_file_is_refused_in_words(desk: Desk) -> None:
    with pytest.raises(CallRejected, match="empty"):
        await desk.surface.post(desk.place, part(Document(files=(File(name="plan.md", data=b""),))))


async def test_nothing_that_an_agent_writes_pings_or_unfurls(desk: Desk) -> None:
    text = desk.surface.neutral(
        "<!channel> <@U0BOB> @here [ok](https://evil.example) <https://evil.example|ok>"
    )
    await desk.surface.post(desk.place, speech(text, growing=False))
    [call] = desk.slack.calls("chat.postMessage")
    sent = json.dumps(call.arguments, ensure_ascii=False)
    assert "<!" not in sent
    assert "<@" not in sent
    assert "@here" not in sent
    assert sent.count("[ok](https://evil.example) (evil.example)") == 2
    assert call.arguments["unfurl_links"] is call.arguments["unfurl_media"] is False


async def test_bytes_that_slack_does_not_take_leave_nothing_there(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document(files=(File(name="plan.md", data=b"# Plan"),))
    desk.slack.fail("files.getUploadURLExternal", ConnectionReset())
    with pytest.raises(PlatformUnreachable):
        await desk.surface.post(desk.place, part(document))
    monkeypatch.setattr(desk.slack.world, "base", f"{desk.slack.url}/nowhere")
    with pytest.raises(CallRejected, match="404"):
        await desk.surface.post(desk.place, part(document))
    assert desk.messages() == []


async def test_a_file_can_not_be_changed_nor_a_message_become_one(desk: Desk) -> None:
    document = Document(files=(File(name="plan.md", data=b"# Plan"),))
    message = await desk.surface.post(desk.place, part(document))
    with pytest.raises(CallRejected):
        await desk.surface.edit(desk.place, message, part(document))
    line = await desk.surface.post(desk.place, part(Line(text="Hm."), key="k2"))
    with pytest.raises(CallRejected):
        await desk.surface.edit(desk.place, line, part(document, key="k2"))


async def test_a_line_is_changed(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, part(Line(text="Hm.")))
    await desk.surface.edit(desk.place, message, part(Line(text="Well.", level="warning")))
    assert desk.texts == [":warning: Well."]


async def test_a_long_line_and_a_long_question_are_shown_whole(desk: Desk) -> None:
    words = [f"word{n}" for n in range(900)]
    await desk.surface.post(desk.place, part(Line(text=" ".join(words), level="error")))
    long = replace(QUESTION, prompt="\n".join(words))
    await desk.surface.post(desk.place, part(Card(request=long), key="k2"))
    for text in desk.texts:
        assert [word for word in text.split() if word.startswith("word")] == words


async def test_very_many_options_are_a_menu_in_groups(desk: Desk) -> None:
    many = replace(CHOICE, options=tuple(f"option {n}" for n in range(250)))
    await desk.surface.post(desk.place, part(Card(request=many)))
    [menu] = [
        e for b in desk.messages()[0].blocks for e in b.get("elements", ()) if "action_id" in e
    ]
    meant = [
        parse_action({**menu, "selected_option": option})
        for group in menu["option_groups"]
        for option in group["options"]
    ]
    assert [action.number for action in meant if action] == list(range(250))


async def test_of_very_many_tool_calls_the_last_are_told(desk: Desk) -> None:
    acts = tuple(tool("done", id=f"c{n}", title=f"call {n} {'x' * 100}") for n in range(60))
    text = "word " * 2100
    await desk.surface.post(desk.place, speech(text, activity=acts, growing=False, unsure=True))
    assert "earlier steps" in desk.texts[0]
    assert "call 59" in desk.texts[0]
    assert desk.texts[0].count("word") == 2100


async def test_somebody_who_is_written_to_by_their_id_has_a_message_that_can_be_changed(
    desk: Desk,
) -> None:
    alice = desk.slack.person("alice")
    key = replace(desk.place.key, channel=alice.id, root="")
    place = replace(desk.place, key=key)
    message = await desk.surface.post(place, part(Line(text="Psst.")))
    await desk.surface.edit(place, message, part(Line(text="Never mind.")))
    assert desk.slack.messages(alice.direct)[-1].text == "Never mind."
