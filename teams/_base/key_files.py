"""Files that are keys or credentials by their names."""

from __future__ import annotations

import re

_KEY_FILE = re.compile(
    r"""
    .*\.(?: pem | key | p8 | p12 | pfx | pkcs12 | jks | keystore | bks | kdbx? | ppk | gpg | pgp
          | ovpn | tfstate(?:\.backup)? | tfvars | env | htpasswd | keytab | kubeconfig | agekey )
  | .*id_(?: rsa | dsa | ecdsa | ed25519 )(?:_sk)?(?: [.-] (?!pub\b) .* )?
  | (?: .*[._-] )?(?: client_?secrets? | service[_-]?account | application_default_credentials )
    .*\.json
  | (?: .*[._-] )?(?: credentials? | secrets? | passwords? | passwd | tokens? | api[_-]?keys? )
    (?: \.(?: json | ya?ml | toml | ini | cfg | conf | properties | xml | txt | csv | env | db
            | enc ) )?
  | _?(?: netrc | pgpass | htpasswd | shadow | kubeconfig ) | wallet\.dat
  | vault[_-]pass.*
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_key_file(path: str) -> bool:
    """True for a file whose name is one of keys or credentials."""
    return _KEY_FILE.fullmatch(path.rpartition("/")[2]) is not None
