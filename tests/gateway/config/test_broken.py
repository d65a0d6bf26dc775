"""Broken configs, each with its whole report.

In the files of `data/`, a line has its mistakes behind `#!`: the keys, `|`, and the text. Lists of
known settings and kinds are left out there.
"""

import re
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.problems import ConfigError

pytestmark = pytest.mark.usefixtures("fresh_imports")

DATA = Path(__file__).parent / "data"
FILES = sorted((DATA / "ten").glob("*.toml"))
SINGLE = (DATA / "broken.toml").read_text().splitlines()
ROUTES = (DATA / "broken_routes.toml").read_text().splitlines()

TOOLS = """
def find_order(id: str) -> str:
    "Find an order."
    return id
def pay_back(id: str) -> str:
    "Pay back."
    return id
def search(text: str, limit: int = 5) -> str:
    "Search."
    return text
"""
# A good route, of which each line of the file replaces one setting.
SLACK = 'adapters.slack = { bot_token = "xoxb-1", app_token = "xapp-1" }'
ROUTE = {"adapter": '"slack"', "channels": '"*"', "users": '"members"'}

KINDS = re.compile(r"(expected type =|the key) (?:'\w+', )*'\w+' or '\w+'")

Mistake = tuple[int, str, str]


def marked(text: str) -> list[Mistake]:
    """The mistakes that the remarks of a text name."""
    found: list[Mistake] = []
    for number, line in enumerate(text.splitlines(), 1):
        for remark in re.split(r"\s+#! ", line)[1:]:
            keys, _, said = remark.partition(" | ")
            found.append((number, keys, said))
    return found


def reported(folder: Path, text: str) -> list[Mistake]:
    """The mistakes that the report names, each with its line and keys."""
    path = folder / "config.toml"
    path.write_text(text)
    (folder / "tools.py").write_text(TOOLS)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    whole = str(caught.value)
    assert whole.startswith(f"{path}: ")
    found: list[Mistake] = []
    for entry in re.split(r"\n  (?=\S)", whole.replace(str(folder), "FOLDER"))[1:]:
        place, _, said = entry.partition("\n")
        at = re.fullmatch(r"line (\d+), (.+)", place)
        assert at, place
        said = re.sub(r"; known are .*", "; known are ...", " ".join(said.split()))
        said = KINDS.sub(r"\1 ...", said)
        found.append((int(at[1]), at[2], said))
    return found


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_all_ten_mistakes_of_a_file_are_in_one_report(tmp_path, file):
    text = file.read_text()
    assert len(marked(text)) == 10
    assert sorted(reported(tmp_path, text)) == sorted(marked(text))


@pytest.mark.parametrize("line", SINGLE)
def test_one_mistake_is_reported_once_and_nothing_that_follows_from_it(tmp_path, line):
    assert reported(tmp_path, line) == marked(line)


@pytest.mark.parametrize("line", ROUTES)
def test_a_route_that_lets_nobody_in_is_refused(tmp_path, line):
    setting, _, _ = line.partition("  #!")
    key, _, value = setting.partition(" = ")
    route = ", ".join(f"{name} = {text}" for name, text in {**ROUTE, key: value}.items())
    found = reported(tmp_path, f"{SLACK}\nroutes = [{{ {route} }}]")
    assert [(1, keys, said) for _, keys, said in found] == marked(line)


# Texts that do not say what was found and what is expected, each with its reason.
UNLIKE = re.compile(
    r"is missing(: | for mode | beside )"  # nothing was found, and it says what is needed
    r"|there is no "  # what was found is named, and known ones follow
    r"|has no type, expected "  # as above
    r"|cannot read "  # the system's reason follows
    r"|the environment variable \w+ is not set"  # as above
    r"|no environment variable has this name|expected "  # what was found may be a secret
    r"|found '\w+', an example; put "  # what is expected stands behind it
)


def test_a_text_says_what_was_found_and_what_is_expected():
    texts = [*SINGLE, *ROUTES, *(file.read_text() for file in FILES)]
    said = [said for text in texts for _, _, said in marked(text)]
    assert len(said) > 300
    assert [each for each in said if not re.match(r"found .*expected ", each)] == [
        each for each in said if UNLIKE.match(each)
    ]


def test_there_are_enough_of_them():
    assert len(FILES) == 20
    assert len(SINGLE) + len(ROUTES) >= 60


def test_a_rule_names_arguments_that_its_tool_has(tmp_path):
    text = """\
[models.m]
provider = "demo"
[teams.t]
type = "round_robin"
max_turns = 1
agents.a = { tools = ["tools:find_order", "tools:pay_back"] }
[policies.tools]
find_order = { action = "ask", paths = ["id", "idd"] }
pay_back = { action = "ask", diff = { path = "path", content = "id" } }
"""
    ask = "expected an argument of"
    assert reported(tmp_path, text) == [
        (
            8,
            "policies.tools.find_order.paths",
            f"found 'idd', {ask} find_order; did you mean 'id'?",
        ),
        (9, "policies.tools.pay_back.diff", f"found 'path', {ask} pay_back; its arguments are id"),
    ]
    half = text.split("pay_back =")[0].replace('paths = ["id", "idd"]', 'diff = { old = "id" }')
    [(_, keys, said)] = reported(tmp_path, half)
    assert keys == "policies.tools.find_order.diff"
    assert "expected the arguments for old and new, or for path and content" in said


def test_a_strict_tool_has_no_defaults(tmp_path):
    text = """\
[models.m]
provider = "demo"
[teams.t]
type = "round_robin"
max_turns = 1
agents.a = { tools = [{ path = "tools:search", strict = true }] }
"""
    assert reported(tmp_path, text) == [
        (
            6,
            "teams.t.agents.a.tools[0]",
            "Tool 'search' is strict: its arguments cannot have defaults (limit).",
        )
    ]
