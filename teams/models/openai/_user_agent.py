"""The name under which Azure is asked."""

from importlib.metadata import version

AZURE_OPENAI_USER_AGENT = f"parley-gateway/{version('parley-gateway')}"
