"""`[knowledge.NAME]`: folders and pages in which agents find passages."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, ValidationInfo, model_validator

from teams.kinds import ConfigPath, Section, config_folder, setting_error


class EmbeddingsConfig(Section):
    """A model for a search by meaning."""

    model: str
    """Name of the model at the provider."""

    base_url: str | None = None
    """Address of an OpenAI-compatible API; OpenAI's own if not given."""

    api_key: SecretStr | None = None
    """Key of the API; OPENAI_API_KEY if not given."""


class KnowledgeConfig(Section):
    """Files and pages whose passages agents are shown.

    A search finds those that fit the last message. The index lies beside the threads, and all
    threads share it. Parley updates it when it starts, and before a turn if that was 30 seconds
    ago. A turn waits two seconds at most.
    """

    folder: ConfigPath | None = None
    """Folder of the files. Links in it are not followed.

    Names with a dot first are left out, as are those of keys and credentials, such as `id_rsa`,
    `server.pem` and `secrets.toml`. What looks like a token in other files is not kept.
    """

    files: list[str] = Field(default=["*"])
    """Patterns of paths below the folder, such as "handbook/*.md"; a * matches slashes, too.

    Texts are read as UTF-8, PDF files as text. Office files and HTML need the extra `documents`.
    """

    addresses: list[str] = Field(default_factory=list)
    """Pages, each with its whole address. Redirects are followed on the same server alone."""

    allow_private: bool = False
    """Let the addresses lead to private networks and to this machine."""

    max_mb: float = Field(default=10, gt=0)
    """Megabytes of a file or page; a larger one is left out."""

    passages: int = Field(default=5, ge=1)
    """Number of passages that an agent is shown at most."""

    embeddings: EmbeddingsConfig | None = None
    """Model for a search by meaning; by words alone if not given."""

    @model_validator(mode="after")
    def _check_sources(self, info: ValidationInfo) -> Self:
        if self.folder is None and not self.addresses:
            raise setting_error("folder", "is missing: give a folder, or addresses")
        if self.folder and config_folder(info).resolve().is_relative_to(self.folder.resolve()):
            said = "found the folder of the config, whose secrets agents would be shown; "
            raise setting_error("folder", f"{said}expected a folder in it or elsewhere")
        for address in self.addresses:
            if not address.startswith(("https://", "http://")):
                said = f"found {address!r}, expected an address such as https://example.com/page"
                raise setting_error("addresses", said)
        return self
