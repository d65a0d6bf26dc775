"""The settings of `[adapters.slack]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator
from typing_extensions import override

from gateway.config.table import AdapterSection, IdForm, host_name
from gateway.faces import Face
from teams.kinds import SettingMistake, setting_errors

PLATFORM = "slack"
"""The platform that ids of its people begin with."""
SLACK_API = "https://slack.com/api/"
SLACK_DOMAINS = ("slack.com", "slack-gov.com")
"""Slack's own, and that of GovSlack: files and answers stand at hosts below them.

api.slack-gov.com/gov-slack/about names GovSlack's domain, and no page of Slack the hosts below it:
they are taken to be called as Slack's.
"""
LOOPBACK = ("127.0.0.1", "::1", "localhost")

MOST_TOKENS = 1_000
"""Tokens in bot_token."""

_APP_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-")
_BOT_TOKEN = re.compile(r"xoxb-(\d+-\d+)-")
_FOR_MODE = {
    "socket": (
        "app_token",
        "make one under Basic Information, App-Level Tokens, with the scope connections:write, and "
        "give it as app_token_env or app_token_file",
    ),
    "http": (
        "signing_secret",
        "Basic Information, App Credentials shows it; give it as signing_secret_env or "
        "signing_secret_file",
    ),
}
_BESIDE = {
    "client_secret": "Basic Information shows it; give it as client_secret_env or _file",
    "public_url": "give the https address under which Slack and people reach Parley",
    "allowed_workspaces": "name the workspaces that may install the app",
}


def _split(token: SecretStr | None) -> list[str]:
    return token.get_secret_value().replace(",", " ").split() if token else []


def _like(pattern: str, expected: str) -> AfterValidator:
    """Let a text be of this form."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"found {text!r}, expected {expected}")
        return text

    return AfterValidator(check)


def _begins(starts: tuple[str, ...], where: str, *, most: int = 1) -> AfterValidator:
    """Let at most so many tokens begin with one of these."""

    def check(token: SecretStr | None) -> SecretStr | None:
        found = _split(token)
        if len(found) > most or not all(each.startswith(starts) for each in found):
            raise ValueError(f"expected a token that begins with {starts[0]}: {where}")
        return token

    return AfterValidator(check)


def _url(text: str) -> str:
    parts = urlsplit(text)
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not (secure and parts.hostname):
        raise ValueError(f"found {text!r}, expected an address that begins with https://")
    return text if text.endswith("/") else f"{text}/"


BotTokens = Annotated[
    SecretStr | None,
    _begins(("xoxb-", "xoxe.xoxb-"), "OAuth & Permissions shows it", most=MOST_TOKENS),
]
AppToken = Annotated[SecretStr | None, _begins(("xapp-",), "Basic Information, App-Level Tokens")]
WorkspaceId = Annotated[
    str, _like(r"[TE][A-Z0-9]{2,}", "the id of a workspace, such as 'T0123ABCD'")
]
SlashCommand = Annotated[str, _like(r"/[a-z0-9_-]{1,31}", "a slash command such as '/parley'")]
Emoji = Annotated[
    str,
    AfterValidator(lambda text: text.strip(":")),
    _like(r"[a-z0-9_+'-]+", "the name of an emoji, such as 'robot_face'"),
]
Url = Annotated[str, AfterValidator(_url)]


_PROFILE = "copy it in Slack: the profile, More (⋮), Copy member ID"

IDS = {
    "workspace": IdForm(
        "the id of a workspace",
        r"[TE][A-Z0-9]+",
        "T0123ABCD",
        "a browser shows it in the address of Slack: app.slack.com/client/T...",
    ),
    "channels": IdForm(
        "the id of a channel",
        r"[CG][A-Z0-9]+",
        "C0123ABCD",
        "Slack shows it under the channel's name, About, at the bottom",
        {"D": "that of a direct message needs none: write dm = true"},
    ),
    "users": IdForm("the id of a person", r"[UW][A-Z0-9]+", "U0123ABCD", _PROFILE),
    "groups": IdForm(
        "the id of a user group",
        r"S[A-Z0-9]+",
        "S0123ABCD",
        "copy it in Slack: People, User groups, the group, More (⋮), Copy group ID",
    ),
    "bots": IdForm("the id of a bot or of its user", r"[BUW][A-Z0-9]+", "B0123ABCD", _PROFILE),
}
"""Slack's ids, by the keys of a route; there are no roles."""


class Config(AdapterSection):
    """One Slack app, in one workspace or in several."""

    _account: str = PLATFORM
    ids: ClassVar[Mapping[str, IdForm]] = IDS
    people_have_workspaces: ClassVar[bool] = True

    mode: Literal["socket", "http"] = "socket"
    """Transport of events: "socket" for connections that Parley opens, "http" for requests by Slack
    to an address of yours.
    """

    bot_token: BotTokens = None
    """The token of the installed app, xoxb-...; for several workspaces one each, with commas. That
    of an organisation serves all its workspaces.
    """

    app_token: AppToken = None
    """For mode "socket": the app-level token with connections:write, xapp-..."""

    signing_secret: SecretStr | None = None
    """For mode "http": proves that a request comes from Slack."""

    client_id: str = ""
    """Instead of bot_token: lets people install the app with "Add to Slack"; from the app's page
    Basic Information.
    """

    client_secret: SecretStr | None = None
    """Beside client_id."""

    public_url: Url | None = None
    """The https address under which Slack and people reach host and port: beside client_id, and for
    pictures of agents from files. With it, Parley listens there in any mode.
    """

    allowed_workspaces: list[WorkspaceId] = Field(default_factory=list)
    """Beside client_id: the only workspaces (T...) and organisations (E...) that may install."""

    host: Annotated[str, host_name("127.0.0.1")] = "127.0.0.1"
    """Where to listen for mode "http" and installs; only this machine unless given."""

    port: int = Field(default=3000, ge=0, le=65535)
    """The port there."""

    command: SlashCommand = "/parley"
    """The slash command, as the app's settings name it."""

    reactions: list[Emoji] = Field(default_factory=list)
    """Emoji that hand the message they are put on to the team; none if not given."""

    show_progress: bool = False
    """Show with a reaction on a message that it was seen, is worked on, and is done."""

    home: bool = False
    """Give each person a page of their own, the app's Home tab: what waits for them, with buttons,
    their last threads and their usage.
    """

    suggested_prompts: list[str] = Field(default_factory=list, max_length=4)
    """Up to four first messages that people are offered in a direct conversation.

    A route may have its own.
    """

    pace: float = Field(default=1.0, gt=0, le=100, allow_inf_nan=False)
    """Times Slack's published rates at which Parley calls its methods; more for workspaces that
    Slack has granted more.
    """

    api_url: Url = SLACK_API
    """Where Slack's Web API is: "https://slack-gov.com/api/" for GovSlack; another one for a proxy
    before it, or a simulator.
    """

    @property
    def api_address(self) -> str:
        """The address of Slack's Web API."""
        return self.api_url

    @property
    def app_ids(self) -> tuple[str, ...]:
        """Ids of the app and of its bots, as the tokens tell."""
        app = _APP_TOKEN.match(self.app_token.get_secret_value() if self.app_token else "")
        bots = filter(None, map(_BOT_TOKEN.match, self.bot_tokens))
        return (
            *([f"app {app[1]}"] if app else []),
            *([f"client {self.client_id}"] if self.client_id else []),
            *(f"bot {bot[1]}" for bot in bots),
        )

    @property
    def bot_tokens(self) -> list[str]:
        """The tokens of bot_token; they are secrets."""
        return _split(self.bot_token)

    @property
    def listens_at(self) -> tuple[str, int] | None:
        """Host and port for requests, if Parley listens for any."""
        return (self.host, self.port) if self._listens else None

    @property
    def _listens(self) -> bool:
        return self.mode == "http" or bool(self.client_id or self.public_url)

    @override
    def look_of(self, face: Face) -> str:
        served = bool(self.public_url)
        return face.in_words(
            f":{face.emoji}:", address=True, picture=served, draws=False, needs="public_url"
        )

    def is_at_slack(self, url: str, service: str) -> bool:
        """True for Slack's "files" or "hooks", or the API's own host.

        An API elsewhere may stand before any of Slack's own domains, or be a simulator.
        """
        api = urlsplit(self.api_url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return False
        known = api.hostname in SLACK_DOMAINS
        if not known and (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
            return True
        domains = [str(api.hostname)] if known else SLACK_DOMAINS
        hosts = {f"{service}.{domain}" for domain in domains}
        return parts.scheme == "https" and port is None and parts.netloc in hosts

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if wrong := [*self._mistakes()]:
            raise setting_errors(wrong)
        return self

    def _mistakes(self) -> Iterator[SettingMistake]:
        name, where = _FOR_MODE[self.mode]
        if getattr(self, name) is None:
            yield SettingMistake((name,), f'is missing for mode "{self.mode}": {where}', ("mode",))
        if self.client_id and self.bot_token is not None:
            said = "found bot_token beside it, expected one of the two"
            yield SettingMistake(("client_id",), said, ("bot_token",))
        elif self.client_id:
            for name, where in _BESIDE.items():
                if not getattr(self, name):
                    said = f"is missing beside client_id: {where}"
                    yield SettingMistake((name,), said, ("client_id",))
        elif self.bot_token is None:
            said = (
                "is missing: install the app under OAuth & Permissions and give its xoxb- token as "
                "bot_token_env or bot_token_file (or client_id for installs by others)"
            )
            yield SettingMistake(("bot_token",), said, ("client_id",))


def without_tokens(table: Mapping[str, Any]) -> Config:
    """The settings of a table, without its tokens. Raises ValueError."""
    secrets = {f"{name}{end}" for name in Config.secrets() for end in ("", "_env", "_file")}
    given = {name: value for name, value in table.items() if name not in secrets}
    unset = {"app_token": "xapp-unset", "signing_secret": "unset"}
    mine = {"client_secret": "unset"} if "client_id" in table else {"bot_token": "xoxb-unset"}
    return Config.model_validate({**given, **unset, **mine})
