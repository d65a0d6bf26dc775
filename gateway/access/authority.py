"""Access of people: the one authority over every event.

It follows the operators and routes of the config, and judges the actor, the same for messages,
edits, commands, clicks, modals, reactions, shortcuts, files and the stop button, over values and
without any IO. Default deny: what no route matches is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from gateway.config.policies import ASKER, OPERATORS
from gateway.config.routes import ANYWHERE, MEMBERS, Reset, Route
from gateway.config.settings import LimitsConfig
from gateway.conversation import (
    LOCAL,
    LOCAL_OPERATOR,
    Author,
    AuthorKind,
    ConversationKey,
    InboundMessage,
)
from gateway.faces import NO_FACES, Face, TeamFaces
from gateway.store.decisions import PersonLimits
from gateway.store.records import Request, Wait
from gateway.values import NO_OFFERS, PLAIN_MANNERS, Manners, Offers, value

NEVER = Reset()
"""Conversations go on for ever."""

MOST_NAMED = 3
"""Approvers that are told by their names."""


@value
class Operators:
    """People who may do everything, and the rule on who answers."""

    ids: frozenset[str]

    def include(self, author: Author) -> bool:
        """True for an operator. A bot never is one."""
        return author.kind != "bot" and author.id in self.ids

    def may_answer(self, author: Author, request: Request) -> bool:
        """True if the author may answer the request.

        An approval is for its approvers, or else for the operators. Anything else is for the person
        whose message the team works on, and for the operators.
        """
        if author.kind == "bot":
            return False
        operator, asker = self.include(author), author.id == request.asker
        if request.kind != "approval":
            return asker or operator
        named = request.approvers or (OPERATORS,)
        # Whoever owns the machine can always decide, or a thread could be stuck for ever.
        return (
            author.id in (*named, LOCAL_OPERATOR.id)
            or (ASKER in named and asker)
            or (OPERATORS in named and operator)
        )

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """People named for the request, by the same rule as `may_answer`."""
        asker = {request.asker} - {""}
        if request.kind != "approval":
            return tuple(asker)
        named = {*request.approvers} or {OPERATORS}
        if ASKER in named:
            named |= asker
        if OPERATORS in named:
            named |= self.ids
        return tuple(sorted(named - {ASKER, OPERATORS, LOCAL_OPERATOR.id}))


def awaited(wait: Wait) -> str:
    """The name of the person whom a request waits for.

    "" for the operator, who may answer everything.
    """
    named = wait.approvers or (OPERATORS,)
    if wait.kind == "approval" and OPERATORS in named:
        return ""
    if wait.kind == "approval" and ASKER not in named:
        few = wait.approver_names if len(wait.approver_names) <= MOST_NAMED else ()
        return " or ".join(few) or "its approvers"
    return "" if wait.asker == LOCAL_OPERATOR.id else wait.asker_name


@value
class Admission:
    """Permission to write.

    `team` ("": the default one) and `mode` are for a new thread; `may_set_mode`: the author may
    change the mode, as operators may anyway.
    """

    team: str = ""
    teams: tuple[str, ...] = ()
    """Further teams that the author may choose, and models likewise."""
    models: tuple[str, ...] = ()
    mode: str = "queue"
    limits: PersonLimits | None = None
    may_set_mode: bool = False
    reset: Reset = NEVER
    """Times at which the conversation begins anew."""
    rule: str = ""
    """"operators", "pairing", or the route, such as "routes[0]"."""


@value
class Denial:
    """Refusal to let the author write.

    `once_paired` holds if an operator lets them in by a code; None where there are no codes.
    """

    once_paired: Admission | None = None


Verdict: TypeAlias = Admission | Denial


class Access:
    """Access of the operators, and of the people whom routes name.

    `limits` are those of routes without their own, `groups` what else depends on groups or roles,
    `approvals` the channels to which approvals are copied.
    """

    default_team = ""
    terminal = PLAIN_MANNERS
    """Manners of turns that are asked for there."""
    _faces: Mapping[str, TeamFaces] = MappingProxyType({})

    def __init__(
        self,
        operators: Collection[str] = (),
        *,
        routes: Sequence[Route] = (),
        limits: LimitsConfig | None = None,
        live_links: Collection[str] = (),
        groups: Collection[str] = (),
        approvals: Collection[str] = (),
        operator_name: str = LOCAL_OPERATOR.name,
    ) -> None:
        self._routes = tuple(routes)
        self._names = {id(route): f"routes[{n}]" for n, route in enumerate(self._routes)}
        self._limits = limits or LimitsConfig()
        self.operators = Operators(ids=frozenset({LOCAL_OPERATOR.id, *operators}))
        """Those that were given, and whoever owns the machine."""
        self.operator_name = operator_name
        """Name of whoever owns the machine, as others and models read it."""
        self.live_links = frozenset(host.lower() for host in live_links)
        """Hosts whose links stay links while an answer is being written."""
        self.approval_places = tuple(map(_channel, approvals))
        """Channels where approvals are shown besides their threads."""
        self.own_bots: set[str] = set()
        """Ids of the accounts' bots: none of them answers another one."""
        named = (group for route in self._routes for group in (*route.roles, *route.groups))
        self.groups = frozenset((*groups, *named))
        """Groups and roles that rules depend on."""

    def use_faces(self, faces: Mapping[str, TeamFaces]) -> None:
        """Let teams have these faces."""
        self._faces = faces

    def faces_of(self, team: str) -> TeamFaces:
        """The faces of a team's agents."""
        return self._faces.get(team, NO_FACES)

    @property
    def faces(self) -> list[Face]:
        """The faces of all agents that are known."""
        return [face for team in self._faces.values() for face in team.faces()]

    def workspaces(self, platform: str) -> tuple[str, ...]:
        """The workspaces that a platform's routes name, in their order."""
        there = [route for route in self._routes if route.adapter == platform]
        return tuple(dict.fromkeys(name for route in there for name in route.workspace))

    def serves(self, platform: str, workspace: str, channels: Collection[str]) -> bool:
        """True if a route is for this workspace or its channels."""
        if any(
            (place.platform, place.workspace) == (platform, workspace)
            for place in self.approval_places
        ):
            return True
        return any(
            _reaches(route, workspace, channels)
            for route in self._routes
            if route.adapter == platform
        )

    def introduce(self, bots: Collection[str]) -> None:
        """Know the platform's ids of an account's bot, which no account answers."""
        self.own_bots.update(bots)

    def at(self, key: ConversationKey, *, direct: bool) -> list[Route]:
        """The routes of a place."""
        return [route for route in self._routes if _is_there(route, key, direct=direct)]

    def addressed(
        self,
        key: ConversationKey,
        author: Author,
        *,
        direct: bool,
        mentioned: bool,
        in_thread: bool,
        to_others: bool = False,
    ) -> bool:
        """True if something said there is meant for the team.

        `mentioned`: it mentions the bot; `in_thread`: it stands in a thread that the bot is in;
        `to_others`: it mentions other people, and not the bot.
        """
        if self._is_own(author):
            return False
        there = self.at(key, direct=direct)
        if to_others:
            in_thread = in_thread and any(map(_answers_others, there))
        if self.operators.include(author):
            return direct or mentioned or in_thread
        if author.kind == "bot":
            there = [route for route in there if _lets_in(route, author, key)]
        wanted = {route.mention for route in there}
        if "always" in wanted or (in_thread and "thread" in wanted):
            return True
        return bool(wanted) and (direct or mentioned)

    def _is_own(self, author: Author) -> bool:
        """True for a bot of one of the accounts."""
        ids = (each.rpartition(":")[2] for each in (author.id, *author.aliases))
        return author.kind == "bot" and not self.own_bots.isdisjoint(ids)

    def offers(self, key: ConversationKey, author: Author, *, direct: bool) -> Offers:
        """The choices that a person has in a place; none for strangers."""
        route = self._route(self.at(key, direct=direct), author, key)
        if route is None or not (self.operators.include(author) or _lets_in(route, author, key)):
            return NO_OFFERS
        teams = (route.team or self.default_team, *route.teams) if route.teams else ()
        prompts = tuple(route.suggested_prompts)
        return Offers(teams=tuple(dict.fromkeys(filter(None, teams))), prompts=prompts)

    def open_to(self, author: Author, key: ConversationKey, *, direct: bool) -> list[Route]:
        """The routes by which somebody may write in a workspace.

        `direct`: they may write directly, be it as one whom a code has let in.
        """
        mine = [route for route in self._routes if route.adapter == key.platform]
        mine = [each for each in mine if not each.workspace or key.workspace in each.workspace]
        if self.operators.include(author):
            return mine
        found = [route for route in mine if _lets_in(route, author, key)]
        return found or [route for route in mine if direct and route.pairing][:1]

    @property
    def has_manners(self) -> bool:
        """True if turns somewhere have manners of their own."""
        return {PLAIN_MANNERS} != {self.terminal, *map(_manners, self._routes)}

    def manners(self, key: ConversationKey, asker: Author, direct: bool) -> Manners:
        """Manners of a turn that somebody has asked for in a thread."""
        if key.is_local:
            return self.terminal
        there = self.at(key, direct=direct)
        mine = [route for route in there if _lets_in(route, asker, key)]
        if not mine and (len(there) == 1 or self.operators.include(asker)):
            mine = there
        # A code has let them in. Nobody is told what another route's people are to be told.
        mine = mine or [route for route in there if direct and route.pairing]
        return _manners(mine[0]) if mine else PLAIN_MANNERS

    def _route(self, there: Sequence[Route], author: Author, key: ConversationKey) -> Route | None:
        """The author's route of a place, or the first."""
        mine = next((route for route in there if _lets_in(route, author, key)), None)
        return mine or next(iter(there), None)

    def judge(self, message: InboundMessage) -> Verdict:
        """Verdict of the first matching route; operators need none."""
        author, there = message.author, self.at(message.key, direct=message.direct)
        if self.operators.include(author):
            route = self._route(there, author, message.key)
            if route is None:
                return Admission(rule=OPERATORS)
            return Admission(
                team=route.team,
                teams=tuple(route.teams),
                mode=route.mode,
                reset=route.reset,
                rule=OPERATORS,
            )
        if message.key.is_local or author.id.partition(":")[0] == LOCAL or self._is_own(author):
            return Denial()
        for route in there:
            if _lets_in(route, author, message.key):
                return self._allowed(route)
        pairing = next((route for route in there if route.pairing), None)
        if pairing is None or not message.direct or author.kind == "bot":
            return Denial()
        return Denial(once_paired=replace(self._allowed(pairing), rule="pairing"))

    def _allowed(self, route: Route) -> Admission:
        own, general = route.limits, self._limits
        limits = PersonLimits(
            parallel=own.parallel_turns or general.person_parallel_turns,
            turns=own.turns or general.person_turns,
        )
        return Admission(
            team=route.team,
            teams=tuple(route.teams),
            models=tuple(route.models),
            mode=route.mode,
            limits=limits,
            may_set_mode=route.change_mode,
            reset=route.reset,
            rule=self._names[id(route)],
        )


def _manners(route: Route) -> Manners:
    return Manners(instructions=route.instructions, reasoning=route.reasoning)


@value
class Judgement:
    """Verdict on a message, bound to its author, place and authority.

    `may_write` also counts people who were let in by a code.
    """

    verdict: Verdict
    by: Access
    key: ConversationKey
    author: Author
    direct: bool
    may_write: bool


def judge(message: InboundMessage, access: Access) -> Judgement:
    """The valid verdict that the message carries, or a fresh one.

    One is good for the same author in any thread of the same place, while the same authority is in
    use: whatever else a message carries is not looked at, so that no adapter can let anybody in.
    """
    carried = message.ruling
    if isinstance(carried, Judgement) and _is_good(carried, message, access):
        return carried
    verdict = access.judge(message)
    return Judgement(
        verdict=verdict,
        by=access,
        key=message.key,
        author=message.author,
        direct=message.direct,
        may_write=isinstance(verdict, Admission),
    )


def _is_good(carried: Judgement, message: InboundMessage, access: Access) -> bool:
    return (
        carried.by is access
        and replace(carried.key, root="") == replace(message.key, root="")
        and carried.author == message.author
        and carried.direct == message.direct
    )


def _channel(text: str) -> ConversationKey:
    platform, workspace, channel = text.split(":")
    return ConversationKey(platform=platform, workspace=workspace, channel=channel)


def _is_there(route: Route, key: ConversationKey, *, direct: bool) -> bool:
    if route.adapter != key.platform:
        return False
    if route.workspace and key.workspace not in route.workspace:
        # Direct messages of some platforms are in no workspace: there the person counts.
        return direct and route.dm and not key.workspace
    if direct:
        return route.dm
    return ANYWHERE in route.channels or key.channel in route.channels


def _answers_others(route: Route) -> bool:
    return route.mention == "always" or route.others_mentioned == "answer"


def _reaches(route: Route, workspace: str, channels: Collection[str]) -> bool:
    if route.workspace:
        return workspace in route.workspace
    return route.dm or ANYWHERE in route.channels or not set(route.channels).isdisjoint(channels)


def _kind_for(route: Route, author: Author, key: ConversationKey) -> AuthorKind:
    """The author's kind: outside of all of the route's workspaces, an outsider."""
    if author.kind == "bot" or key.workspace or not route.workspace:
        return author.kind
    return "external" if author.workspaces.isdisjoint(route.workspace) else author.kind


def _lets_in(route: Route, author: Author, key: ConversationKey) -> bool:
    """True if the route is for this author.

    Guests and people from outside need to be named, or a route that is for them, too; another bot
    always needs to be named.
    """
    names = {author.id, author.id.rpartition(":")[2]}
    match _kind_for(route, author, key):
        case "bot":
            return not (names | author.aliases).isdisjoint(route.bots)
        case "guest" if not route.guests:
            return not names.isdisjoint(route.users)
        case "external" if not route.external:
            return not names.isdisjoint(route.users)
        case _:
            everyone = MEMBERS in route.users
            groups = {*route.roles, *route.groups}
            named = not names.isdisjoint(route.users)
            return everyone or named or not author.groups.isdisjoint(groups)
