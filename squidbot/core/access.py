"""Access tokens: secrets by which the users of a server say who they are. The server knows their digests only."""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from typing import Final, NamedTuple

from squidbot.core.errors import ConfigError

# Shorter ones can be guessed. `squidbot mcp --new-token` makes tokens of 52 characters.
LEAST_TOKEN_CHARS: Final = 20
MOST_USER_CHARS: Final = 200
# What a header can carry, by RFC 6750.
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_LINE: Final = re.compile(r"(?P<user>\S(?:.*\S)?)\s+(?P<digest>[0-9A-Fa-f]{64})(?:\s+#.*)?")
_EMPTY: Final = sha256(b"").hexdigest()


class UserDigest(NamedTuple):
    """The digest of one user's token.

    Attributes:
        user: the user's name.
        digest: the SHA-256 of the token, in hexadecimal.
    """

    user: str
    digest: str


class AccessTokens(NamedTuple):
    """The tokens of a server's users; a user may have several.

    Attributes:
        digests: one for each token.
    """

    digests: tuple[UserDigest, ...]

    @property
    def users(self) -> tuple[str, ...]:
        """The users, each once."""
        return tuple(dict.fromkeys(each.user for each in self.digests))

    def user_of(self, token: bytes) -> str | None:
        """Return whose token this is, or `None`. The time it takes tells nothing about the known tokens."""
        sent, user = digest_of(token), None
        for known in self.digests:
            if compare_digest(known.digest, sent):
                user = known.user
        return user


def digest_of(token: bytes) -> str:
    """Return the digest of a token."""
    return sha256(token).hexdigest()


def read_digests(text: str, source: str) -> tuple[UserDigest, ...]:
    """Return the digests in a file's text: lines of a user and a digest, and comments behind #.

    `source` names the file in errors, which never repeat a line: it may hold a token.

    Raises:
        ConfigError: a line is wrong, two users share a token, or there is no token.
    """
    found: dict[str, UserDigest] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where, match = f"{source}:{number}", _LINE.fullmatch(line.strip())
        if match is None:
            raise ConfigError(
                f"{where}: write a user and the SHA-256 of a token, 64 hexadecimal digits; "
                "`squidbot mcp --new-token USER` prints such a line"
            )
        user, digest = checked_user(match["user"], where), match["digest"].lower()
        if digest == _EMPTY:
            raise ConfigError(f"{where}: this is the digest of an empty token; make one: squidbot mcp --new-token USER")
        if found.setdefault(digest, UserDigest(user, digest)).user != user:
            raise ConfigError(f"{where}: another user has the same token; make one for each user")
    if not found:
        raise ConfigError(f"{source}: it has no token; make a line: squidbot mcp --new-token USER")
    return tuple(found.values())


def checked_user(user: str, where: str) -> str:
    """Return a user's name.

    Raises:
        ConfigError: it can't stand in a file of digests.
    """
    if len(user) > MOST_USER_CHARS:
        raise ConfigError(
            f"{where}: the user's name has {len(user):,} characters; at most {MOST_USER_CHARS} are allowed"
        )
    if not user.isprintable() or user != user.strip() or not user or user.startswith("#"):
        raise ConfigError(
            f"{where}: the user's name {user!a:.60} is empty, begins with # or has unprintable characters"
        )
    return user


def checked_token(token: str, where: str) -> bytes:
    """Return a token as a client sends it; `where` names its place in errors, which never repeat it.

    Raises:
        ConfigError: it is too short, or has characters that a header can't carry.
    """
    if len(token) < LEAST_TOKEN_CHARS:
        raise ConfigError(
            f"{where}: the token has {len(token)} characters; use at least {LEAST_TOKEN_CHARS}, at random"
        )
    if not _TOKEN.fullmatch(token):
        raise ConfigError(f"{where}: a token has letters, digits and ._~+/- only, without spaces")
    return token.encode("ascii")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_listening(host: str, tokens: AccessTokens | None) -> None:
    """Check that nobody can connect from elsewhere without a token.

    Raises:
        ConfigError: anybody could.
    """
    if tokens is None and not is_loopback(host):
        raise ConfigError(
            f"other machines can connect to {host!a:.100}, so users need tokens: pass --tokens FILE "
            "(`squidbot mcp --new-token USER` prints a line for it) or set SQUIDBOT_MCP_TOKEN, or listen on 127.0.0.1"
        )
