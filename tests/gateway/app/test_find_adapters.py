"""Adapters of installed distributions: entry points found or refused in words."""

import inspect
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost
from gateway.app.find_adapters import AdapterError, AdapterNotFound, adapter_names, find_adapter
from gateway.app.load import load_config
from gateway.app.serve import open_service, run_adapters
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.problems import ConfigError
from gateway.gateway import Gateway
from gateway.outbox import DeliveryHost
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("fresh_imports")

ACME = '''
import click

from gateway.adapter import AuthError
from gateway.config.table import AdapterSection
from gateway.conversation import Author, ConversationKey, InboundMessage

receipts = []


class Config(AdapterSection):
    """What `[adapters.acme]` takes."""

    room: str
    """The room that is served."""


class Acme:
    """Hands in one message, then its account ends."""

    name = "acme"

    def __init__(self, config):
        self.room = config.room

    async def run(self, host):
        key = ConversationKey(platform="acme", channel=self.room, root="1")
        message = InboundMessage(key=key, author=Author(id="acme::ann"), text="hi")
        receipts.append(await host.accept(message))
        raise AuthError("the account has ended")


def build(config):
    return Acme(config)


@click.group()
def commands():
    """Set Acme up."""


@commands.command()
@click.pass_obj
def rooms(read):
    """Print the rooms."""
    written = read()
    click.echo(f"{written.table['room']} {len(written.routes)}")
'''

CONFIG = """
health = { port = 0 }

[adapters.acme]
room = "lobby"

[[routes]]
adapter = "acme"
channels = "lobby"
users = "members"
"""


def install(
    folder: Path,
    points: str,
    *,
    name: str = "acme-chat",
    module: str = ACME,
    of: str = "acme_chat",
    group: str = "parley.adapters",
) -> None:
    """A distribution as an installer leaves it in a folder of modules."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{points}\n")
    (folder / f"{of}.py").write_text(module)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def report(config: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(config)
    return str(caught.value)


def test_the_gateway_is_all_that_adapters_are_handed(tmp_path):
    host: AdapterHost = Gateway(new_store(tmp_path), teams=None)  # pyright: ignore[reportArgumentType]
    wanted = {
        name
        for protocol in inspect.getmro(AdapterHost)
        for name in vars(protocol)
        if not name.startswith("_") and protocol.__module__.startswith("gateway.")
    }
    assert {"accept", "delivering", "open_form", "health"} <= wanted
    assert wanted <= {*dir(host)}


def test_adapters_are_handed_nothing_of_the_outbox():
    host_of_delivery = {name for name in vars(DeliveryHost) if not name.startswith("_")}
    assert {"outbox", "count_part"} <= host_of_delivery
    assert not host_of_delivery & {name for name in dir(AdapterHost) if not name.startswith("_")}


async def test_the_adapter_of_a_distribution_is_served(site, config, tmp_path):
    install(site, "acme = acme_chat")
    loaded = load_config(config)
    async with open_service(loaded, new_store(tmp_path / "store")) as (gateway, adapters, _):
        await run_adapters(gateway, adapters)
    assert [receipt.outcome for receipt in sys.modules["acme_chat"].receipts] == ["turn"]


def test_its_commands_are_handed_what_the_config_says_of_it(site, config):
    install(site, "acme = acme_chat")
    assert "Set Acme up." in CliRunner().invoke(main, ["--help"]).output
    result = CliRunner().invoke(main, ["acme", "rooms", "--config", str(config)])
    assert (result.exit_code, result.output) == (ExitCode.DONE, "lobby 1\n")


def test_one_that_is_installed_while_the_process_runs_is_found(site):
    install(site, "acme = acme_chat:wrong", name="other")
    with pytest.raises(AdapterNotFound):
        find_adapter("later")
    install(site, "later = acme_chat")
    assert find_adapter("later").__name__ == "acme_chat"


def test_its_table_is_checked_by_its_own_settings(site, config):
    install(site, "acme = acme_chat")
    config.write_text(CONFIG.replace('room = "lobby"', "rom = 1"))
    assert "there is no setting 'rom'; did you mean 'room'?" in report(config)


def test_a_hint_names_the_adapters_of_distributions_too(site, config):
    install(site, "acme = acme_chat")
    config.write_text(CONFIG.replace("adapters.acme", "adapters.acne"))
    assert "there is no chat platform 'acne'; did you mean 'acme'?" in report(config)


def test_a_hint_names_no_module_that_can_not_be_served(site, config):
    config.write_text(CONFIG.replace("adapters.acme", "adapters.simulatio"))
    assert "simulation" not in report(config)


@pytest.mark.parametrize(
    ("points", "module", "said"),
    [
        (
            "acme = not_there",
            ACME,
            "the adapter of 'acme-chat': importing 'not_there' failed: ModuleNotFoundError",
        ),
        ("acme = acme_chat", "raise KeyError('boom')", "importing 'acme_chat' failed: KeyError"),
        ("acme = acme_chat:Nothing", ACME, "importing 'acme_chat:Nothing' failed: AttributeError"),
        ("acme = acme_chat", "x = 1", "'acme' is not a chat platform that Parley can serve"),
    ],
)
def test_a_broken_one_is_a_mistake_of_the_config(site, config, points, module, said):
    install(site, points, module=module)
    assert said in report(config)


def test_its_command_says_what_is_broken(site):
    install(site, "acme = acme_chat", module="raise KeyError('boom')")
    assert CliRunner().invoke(main, ["--help"]).exit_code == ExitCode.DONE
    result = CliRunner().invoke(main, ["acme"])
    assert result.exit_code == ExitCode.USAGE
    assert "importing 'acme_chat' failed: KeyError: 'boom'" in result.stderr


def test_a_name_of_parleys_own_is_refused(site):
    install(site, "slack = acme_chat")
    with pytest.raises(
        AdapterError, match=r"Parley's own, and 'acme-chat' has an adapter of that name"
    ):
        find_adapter("slack")


@pytest.mark.parametrize("name", ["simulation", "terminal"])
def test_a_module_beside_the_adapters_is_a_mistake_of_the_config(config, name):
    config.write_text(CONFIG.replace("acme", name))
    assert f"{name!r} is not a chat platform that Parley can serve" in report(config)


@pytest.mark.parametrize("name", ["simulation", "terminal"])
def test_a_module_beside_the_adapters_has_no_simulator(name):
    result = CliRunner().invoke(main, ["simulate", name])
    assert result.exit_code == ExitCode.USAGE
    assert f"there is no simulator of {name!r}; simulators are discord, slack" in result.stderr


def test_a_name_that_two_distributions_have_is_refused(site):
    install(site, "acme = acme_chat")
    install(site, "acme = other_chat", name="other-chat", of="other_chat")
    with pytest.raises(AdapterError, match="have an adapter 'acme'") as caught:
        find_adapter("acme")
    assert "'acme-chat'" in str(caught.value)
    assert "'other-chat'" in str(caught.value)


@pytest.mark.parametrize("name", ["", "_hidden", "a-b", "../x", "acne"])
def test_what_is_no_name_of_an_adapter_is_not_there(site, name):
    install(site, "_hidden = acme_chat\na-b = acme_chat\nacme = acme_chat")
    with pytest.raises(AdapterNotFound, match="there is no chat platform"):
        find_adapter(name)


def test_names_are_listed_without_an_import(site):
    install(site, "acme = acme_chat")
    assert {"acme", "discord", "slack"} <= {*adapter_names()}
    assert "acme_chat" not in sys.modules
