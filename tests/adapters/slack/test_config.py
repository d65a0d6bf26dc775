"""Hosts at which Slack keeps files and takes answers."""

import pytest

from adapters.slack import Config

GOV, PROXY = "https://slack-gov.com/api/", "https://slack.proxy.example:8443/api/"


def config(api_url: str) -> Config:
    given = {"bot_token": "xoxb-1", "app_token": "xapp-1", "api_url": api_url}
    return Config.model_validate(given)


@pytest.mark.parametrize(
    ("api_url", "url", "service", "good"),
    [
        ("https://slack.com/api/", "https://files.slack.com/f", "files", True),
        ("https://slack.com/api/", "https://hooks.slack.com/f", "hooks", True),
        ("https://slack.com/api/", "https://files.slack-gov.com/f", "files", False),
        ("https://slack.com/api/", "https://hooks.slack.com/f", "files", False),
        ("https://slack.com/api/", "http://files.slack.com/f", "files", False),
        ("https://slack.com/api/", "https://files.slack.com:444/f", "files", False),
        ("https://slack.com/api/", "https://files.slack.com@evil.example/f", "files", False),
        ("https://slack.com/api/", "https://files.slack.com.evil.example/f", "files", False),
        ("https://slack.com/api/", "https://[", "files", False),
        (GOV, "https://files.slack-gov.com/f", "files", True),
        (GOV, "https://hooks.slack-gov.com/f", "hooks", True),
        (GOV, "https://files.slack.com/f", "files", False),
        (PROXY, "https://slack.proxy.example:8443/f", "files", True),
        (PROXY, "http://slack.proxy.example:8443/f", "files", False),
        (PROXY, "https://files.slack.com/f", "files", True),
        (PROXY, "https://hooks.slack-gov.com/f", "hooks", True),
        (PROXY, "https://files.proxy.example/f", "files", False),
    ],
)
def test_tokens_and_answers_go_to_hosts_of_the_api_alone(api_url, url, service, good):
    assert config(api_url).is_at_slack(url, service) is good
