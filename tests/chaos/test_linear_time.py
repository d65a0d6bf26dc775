"""Law: time is linear in what anybody can send.

Each function over foreign text meets each shape that the tokens of its grammar can make. The one
test of times: thread time of the processor, and a ratio.
"""

import random
import re
from collections.abc import Mapping

import pytest

from adapters.discord.connection.message_body import clip, unmask_links, without_small_print
from adapters.discord.connection.message_body import neutral as discord_neutral
from adapters.discord.inbound.parse_messages import BotIdentity, in_words, parse_message
from adapters.discord.outbound.tables import render_tables
from adapters.slack.connection.payload import as_command, asks_for_help, mentioned, plain
from adapters.slack.outbound import text as slack_text
from adapters.terminal.text import drawable_length
from gateway.base.redaction import Redaction
from gateway.config.expressions import ExpressionError, parse
from gateway.content.task import quote_block, without_imitations
from gateway.conversation import Quote
from gateway.demo.understanding import tasks_in
from gateway.inbound.commands import parse_command
from gateway.render import markdown, sanitize
from gateway.render.formulas import plain_formula
from gateway.render.links import dead_links
from gateway.render.sanitize import StreamSanitizer
from gateway.render.split import split, with_closed_fence
from teams.agents._code_run import find_code_blocks
from teams.agents.file_surfer._viewer import find_page
from teams.models._draft import Draft
from teams.models._past_calls import arguments_object
from teams.models._structured import bare_json
from teams.models._thought import ThoughtParser
from teams.models._thought_marks import marks_of
from teams.utils import extract_json_from_str
from tests.chaos.linear_time import RATIO, Function, growth, shapes

pytestmark = pytest.mark.chaos

SHAPES = [30, pytest.param(300, marks=pytest.mark.nightly)]
"""Shapes of each function; another seed brings others."""


def tokens(text: str) -> list[str]:
    """Words of a text; visible spaces and line ends become real."""
    return [word.replace("\u2423", " ").replace("\u23ce", "\n") for word in text.split(" ")]


MARKDOWN = tokens(
    "a \u00e9 ␣ ⏎ * _ ` ``` ~~~ [ ] ( ) < > \\ ! # : -␣ >␣ 1.␣ \" ' [a]( ](x) [\\ ![ <@ http:// "
    "www. mailto: x@y | |- $ $$ \\( \\) \\[ \\] -# [x]␣ --- & &lt; ](http://a.com)␣(a.com)"
)
FORMULA = tokens("a ␣ ⏎ \\ { } ^ _ ^{ \\frac{ }{ \\sqrt{ \\text{ \\alpha \\\\ $ 2")
CONTROLS = tokens(
    "a ␣ ⏎ \r⏎ \x1b[ \x1b] \x1b \x9b 0 ; \x07 \u200d \u0301 \u202e \U0001f1e6 \U0001f468"
)
MARKS = tokens("a ␣ ⏎ < << > / foreign end␣of␣ end␣ [ ] \u00b7 x␣\u00b7␣ \uff1c \u2039")
SECRETS = tokens(
    "a ␣ - . : = @ / \" ' token token= sk- xoxb- eyJ eyJ0123456789. ghp_ :// bearer␣ x:y@ "
    "M0123456789012345678901 webhooks/1"
)
SLACK = tokens(
    "a ␣ ⏎ < > @ # ! , : <@U1> <@U1 <@U2> <!date^1^ <http:// &lt; &amp; & !stop␣ \u3000 |"
)
DISCORD = tokens("a ␣ ⏎ < > @ # ! , : <@1234567> <@1234567 <@7654321> <t:1 <a:x:12345> \\")
COMMANDS = tokens("a ␣ ⏎ / /stop /approve␣ /deny 0123456789ab : -")
CODE = tokens('a ⏎ ␣ \t ` ``` ```py⏎ ```⏎ ````⏎ ~~~ { } [ ] " \\ : , {"a": {" 1')
EXPRESSIONS = tokens("a ␣ ⏎ A( A() ( ) | & , = ' \" \\ 1 . 1e - [ ] True x=")
SEARCHED = tokens("a ␣ ⏎ b * aa 1 _ . * ** *a a*")
WORDS = tokens(
    'a ␣ ⏎ 1 . / - + ( ) , and␣ then␣ what␣is␣ read␣ time␣in␣ my␣name␣is␣ ` " sqrt( ? % ~'
)

THOUGHTS = tokens(
    "a ␣ ⏎ . ` ``` < <think> </think> <thinking> [THINK] ◁think▷ ◁/think▷ <|end|> <|channel|>final "
    "<|channel|>analysis<|message|> <|message|>"
)
CALLS = tokens("new odd more none rest")


def thoughts(text: str) -> None:
    """The text in single characters, from models of four families."""
    for model in ("gpt-4o", "qwen3", "deepseek-r1", "gpt-oss"):
        parser = ThoughtParser(marks_of(model))
        for character in text:
            parser.read(character)
        parser.end()


def calls(text: str) -> None:
    """Pieces of calls: new ones, and more of others, by odd ids."""
    draft = Draft(finishes={"stop": "stop"}, begun=True, finish="stop")
    for at, letter in enumerate(text):
        match letter:
            case "n":
                draft.continue_call(at, f"call {at}", "tool", "{")
            case "o":
                draft.continue_call(at // 3, f"odd {at}", "", "}")
            case "m":
                draft.continue_call(at // 2, "", "", "1")
            case "r":
                draft.continue_call(None, "", "tool", "")
            case _:
                draft.continue_call(None, f"call {at}", "", "1")
    draft.say("x")
    draft.result((), "")


def pieces(text: str) -> None:
    sanitizer = StreamSanitizer()
    for start in range(0, len(text), 7):
        sanitizer.feed(text[start : start + 7])


ME = BotIdentity(user="1234567", application="1234567")
SECRET = Redaction(["a very secret word", "://"])
FUNCTIONS: Mapping[str, tuple[Function, list[str]]] = {
    "sanitize": (sanitize.sanitize, CONTROLS),
    "markdown for slack": (slack_text.neutral, MARKDOWN),
    "markdown for discord": (discord_neutral, MARKDOWN),
    "mrkdwn": (markdown.mrkdwn, MARKDOWN),
    "dead links": (lambda text: dead_links(text, ["a.com"]), MARKDOWN),
    "formula": (plain_formula, FORMULA),
    "title": (lambda text: sanitize.label(text, 80), MARKDOWN),
    "split": (lambda text: split(text, limit=1900), MARKDOWN),
    "split, growing": (lambda text: split(text, limit=1900, growing=True), MARKDOWN),
    "closed": (with_closed_fence, MARKDOWN),
    "terminal": (drawable_length, MARKDOWN),
    "stream": (pieces, CONTROLS),
    "imitations": (without_imitations, MARKS),
    "quote": (lambda text: quote_block(Quote(text=text, author=text, kind="quote"), "m"), MARKS),
    "redaction": (SECRET.all, SECRETS),
    "command": (parse_command, COMMANDS),
    "demo": (tasks_in, WORDS),
    "slack plain": (lambda text: plain(text, {}, me="U1"), SLACK),
    "slack mentions": (mentioned, SLACK),
    "slack command": (lambda text: as_command(text, ["stop"]), SLACK),
    "slack help": (lambda text: asks_for_help(text, alone=True), SLACK),
    "slack settled": (slack_text.settled, MARKDOWN),
    "slack opening": (slack_text.opening, MARKDOWN),
    "slack fence": (slack_text.fence_end, MARKDOWN),
    "slack table": (slack_text.needs_block, MARKDOWN),
    "slack cut": (slack_text.cut, MARKDOWN),
    "discord message": (lambda text: _read(text), DISCORD),
    "discord tables": (render_tables, MARKDOWN),
    "discord links": (unmask_links, MARKDOWN),
    "discord small print": (without_small_print, MARKDOWN),
    "discord clip": (lambda text: clip(text, 1900), MARKDOWN),
    "code blocks": (lambda text: find_code_blocks(text, ["py", ""]), CODE),
    "expression": (lambda text: _parse(text), EXPRESSIONS),
    "json": (lambda text: _json(text), CODE),
    "thoughts": (thoughts, THOUGHTS),
    "calls": (calls, CALLS),
    "past arguments": (arguments_object, CODE),
    "answer in json": (bare_json, CODE),
    "file search": (lambda text: find_page(text, "a* *a b 1", 0), SEARCHED),
}


def _read(text: str) -> None:
    author = {"id": "7654321", "username": "ann"}
    payload = {"id": "1", "channel_id": "2", "guild_id": "3", "author": author, "content": text}
    said = parse_message(payload, ME)
    assert said is not None
    said.content.map(lambda part: in_words(part, said.names, lambda _: "", lambda _: ""))


def _parse(text: str) -> None:
    try:
        parse(text)
    except ExpressionError:
        return


def _json(text: str) -> None:
    try:
        extract_json_from_str(text)
    except ValueError:
        return


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_is_linear_in_what_anybody_can_send(name: str, number: int) -> None:
    function, grammar = FUNCTIONS[name]
    every = list(shapes(grammar))
    chosen = random.Random(name).sample(every, min(number, len(every)))
    slow = {}
    for shape in chosen:
        ratio, length = growth(function, shape)
        if ratio > RATIO:
            slow[shape] = f"{ratio:.1f} times from {length:,} to {2 * length:,} characters"
    assert not slow


def test_a_pattern_that_gives_back_what_it_matched_is_found() -> None:
    backtracking = re.compile(r"\s+x")
    shape = next(shapes([" "]))
    # A first measurement that somebody else's noise has made longer hides the growth.
    assert max(growth(backtracking.search, shape)[0] for _ in range(3)) > RATIO
