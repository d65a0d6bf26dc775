"""The resources of an installation."""

from __future__ import annotations

from benchmarks.scale.parameters import Discord, Nodes, Parameters, Slack
from benchmarks.scale.resources import Clock, Each, Places, Rate, Servers


class Installation:
    """Nodes, database, model account and platforms, idle at first."""

    def __init__(self, given: Parameters, clock: Clock) -> None:
        self._nodes(given.nodes, clock)
        self.database = Servers(given.postgres.cores)
        requests, tokens = given.model.requests_per_minute, given.model.tokens_per_minute
        self.requests = Rate(requests, requests / 60)
        self.tokens = Rate(tokens, tokens / 60)
        self._slack(given.slack)
        self._discord(given.discord)

    def _nodes(self, given: Nodes, clock: Clock) -> None:
        self.cores = Each(lambda: Servers(1))
        self.turns = Each(lambda: Places(clock, given.parallel_turns))
        self.lanes = Each(lambda: Places(clock, 1))

    def _slack(self, given: Slack) -> None:
        self.start = Each(lambda: Rate(given.start_per_minute, given.start_burst))
        self.append = Each(lambda: Rate(given.append_per_minute, given.append_burst))
        self.stop = Each(lambda: Rate(given.stop_per_minute, given.start_burst))
        self.update = Each(lambda: Rate(given.update_per_minute, given.update_burst))
        self.post = Each(lambda: Rate(given.post_per_minute, given.post_burst))

    def _discord(self, given: Discord) -> None:
        per_minute = 60 * given.channel_calls / given.channel_seconds
        self.calls = Rate(60 * given.calls_per_second, given.calls_per_second)
        self.posts = Each(lambda: Rate(per_minute, given.channel_calls))
        self.edits = Each(lambda: Rate(per_minute, given.channel_calls))
