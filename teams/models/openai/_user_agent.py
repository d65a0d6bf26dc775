"""The name under which Azure is asked."""

from teams._version import __version__

AZURE_OPENAI_USER_AGENT = f"parley-gateway/{__version__}"
