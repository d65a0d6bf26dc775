"""Names of keys and credentials."""

import pytest

from teams.safe_files import is_key_file


@pytest.mark.parametrize(
    "name",
    [
        *("id_rsa", "id_ed25519", "ID_ECDSA", "work_id_rsa", "id_ed25519_sk", "id_rsa.bak"),
        *("server.pem", "tls.key", "cert.p12", "cert.PFX", "app.jks", "my.kdbx", "putty.ppk"),
        *("AuthKey_X1.p8", "deploy.env", "terraform.tfstate", "x.tfstate.backup", "prod.tfvars"),
        *("credentials", "credentials.json", "aws-credentials.csv", "secrets.yaml", "secret.toml"),
        *("db_passwords.txt", "token.json", "api_keys.txt", "apikey.txt", "client_secret_1.json"),
        *("my-service-account.json", "application_default_credentials.json", "google_tokens.json"),
        *(
            "netrc",
            "_netrc",
            "pgpass",
            "htpasswd",
            "shadow",
            "kubeconfig",
            "wallet.dat",
            "vpn.ovpn",
        ),
        *("vault_pass.txt", "deep/down/id_dsa", "service.keytab", "key.gpg"),
    ],
)
def test_a_key_file(name: str):
    assert is_key_file(name)


@pytest.mark.parametrize(
    "name",
    [
        *("id_rsa.pub", "id_ed25519.pub", "handbook.md", "secrets.md", "tokens.md", "keys.md"),
        *("credentials-howto.pdf", "tokenizer.json", "monkey.txt", "environment.md", "token.py"),
        *("secretary.txt", "passwords/readme.md", "service-accounts.md", "shadows.txt", "pem"),
    ],
)
def test_other_files(name: str):
    assert not is_key_file(name)
