"""`/model`: a thread's models, and the choice of one for all.

Costs arise and data leaves through a model, so that only those may choose one who may approve where
no policy names others, the operators; and others among the models that their route names.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from gateway.base.suggest import no_such
from gateway.client import Choice, ChoiceKind
from gateway.registry import ModelChoice, TeamSource, described
from gateway.store.decisions import CommandReply, ModelChange
from gateway.store.records import Thread
from gateway.values import value

MODEL = "model"
"""Name of the command."""

OWN = "default"
"""Word for the model that each agent has by itself."""

EACH_ITS_OWN = "each agent its own again"
MODEL_NOT_YOURS = "Only operators may choose the model here."
OWN_NOT_YOURS = "Only operators may give the agents their own models back here."
MODEL_IN_THREAD = "Use /model NAME in the thread that you mean."
CHOSEN = "From the next turn on, all agents use the model {name!r} ({label})."
CHOSEN_OWN = "From the next turn on, each agent uses its own model."
ALL_USE = "All agents use the model {name!r} ({label})."
GIVES_BACK = "/model default gives each its own again."
ALREADY = "All agents use the model {name!r} already."
NO_MODELS = "There is no model to choose."
ALREADY_OWN = "Each agent uses its own model already."


@value
class TeamModels:
    """A team's choices, and what each agent uses by itself.

    `own` has the label of each model that an agent uses, behind the agent's name; `named` are the
    models that may be chosen, None for all.
    """

    team: str = ""
    own: tuple[tuple[str, str], ...] = ()
    choices: tuple[ModelChoice, ...] = ()
    named: Collection[str] | None = None

    @property
    def offered(self) -> tuple[ModelChoice, ...]:
        """The models that may be chosen."""
        named = self.named
        return tuple(each for each in self.choices if named is None or each.name in named)

    @property
    def may_be_own(self) -> bool:
        """True if each agent's own model may be chosen, too."""
        labels = {each.label for each in self.offered}
        return self.named is None or all(label in labels for _, label in self.own)


def choose(
    word: str, thread: Thread | None, models: TeamModels, *, allowed: bool
) -> ModelChange | CommandReply:
    """Decide about `/model` with this word, or none."""
    if not word:
        return CommandReply(reply=_listed(thread, models))
    if not allowed:
        return CommandReply(reply=MODEL_NOT_YOURS)
    if thread is None:
        return CommandReply(reply=MODEL_IN_THREAD)
    if word.casefold() == OWN:
        if thread.model and not models.may_be_own:
            return CommandReply(reply=OWN_NOT_YOURS)
        change = ModelChange(model="", notice=CHOSEN_OWN)
        return change if thread.model else CommandReply(reply=ALREADY_OWN)
    return _chosen(word, thread, models)


def _chosen(word: str, thread: Thread, models: TeamModels) -> ModelChange | CommandReply:
    """Choice of the model with this name, or its problem."""
    choice = _find(word, models.offered)
    if choice is None:
        names = [*(each.name for each in models.offered), *([OWN] if models.may_be_own else [])]
        return CommandReply(reply=no_such("model", word[:40], names))
    name = choice.name
    if choice.problem:
        return CommandReply(reply=f"The team can't use the model {name!r}: {choice.problem}.")
    if name == thread.model:
        return CommandReply(reply=ALREADY.format(name=name))
    return ModelChange(model=name, notice=CHOSEN.format(name=name, label=choice.label))


def _find(word: str, choices: tuple[ModelChoice, ...]) -> ModelChoice | None:
    """The only model of this name, in any capitals."""
    exact = [each for each in choices if each.name == word]
    found = exact or [each for each in choices if each.name.casefold() == word.casefold()]
    return found[0] if len(found) == 1 else None


def _listed(thread: Thread | None, models: TeamModels) -> str:
    """The models in use, and those that could be."""
    chosen = next((each for each in models.choices if thread and each.name == thread.model), None)
    if not models.choices:
        return NO_MODELS
    if chosen is not None:
        used = ALL_USE.format(name=chosen.name, label=chosen.label)
        used += f" {GIVES_BACK}" if models.may_be_own else ""
    else:
        own = ", ".join(f"{agent} {label}" for agent, label in models.own)
        used = f"Each agent uses its own model: {own}." if own else "Each agent uses its own model."
    if not models.offered:
        return f"{used}\n{NO_MODELS}"
    return "\n".join([used, "The models are:", *map(_line, models.offered)])


def _line(choice: ModelChoice) -> str:
    line = f"{choice.name}: {choice.label}"
    return f"{line} (not here: {choice.problem})" if choice.problem else line


def agent_models(teams: TeamSource, team: str, model: str) -> dict[str, str]:
    """A team's agents with their models; none for an unknown team.

    The default team's unless named. With a `model` that there is, all use that one.
    """
    name = team or teams.default
    try:
        known = any(choice.name == model for choice in teams.model_choices(name))
        info = teams.info(name, model=model if known else "")
    except KeyError:
        return {}
    return dict(info.models)


def blind_models(teams: TeamSource, team: str, model: str) -> str:
    """The team's models if none is known to take images, else ""."""
    labels = {*agent_models(teams, team, model).values()} - {""}
    with suppress(KeyError):
        choices = teams.model_choices(team or teams.default)
        if labels and labels <= {each.label for each in choices if each.is_blind}:
            return " and ".join(sorted(labels))
    return ""


def choices_of(teams: TeamSource, kind: ChoiceKind) -> list[Choice]:
    """The config's teams, or what /model takes, with what they are."""
    if kind == "model":
        labels = teams.models() | {OWN: EACH_ITS_OWN}
        return [Choice(name=name, description=label) for name, label in labels.items()]
    infos = [teams.info(name) for name in teams.names()]
    return [Choice(name=info.name, description=described(info)) for info in infos]
