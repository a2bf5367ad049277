"""Redaction of secrets in texts that are derived from messages, such as memories."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from squidbot.core.cached import cached_property
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Names of secrets in settings and in headers of requests.
NAMES: Final = (
    "api_key", "secret", "password", "passwd", "passphrase", "token", "access_key", "private_key", "authorization",
    "credential", "client_secret", "pin_code", "cvv", "passcode", "pwd", "secret_key", "account_key", "shared_key",
    "auth_key", "signing_key", "encryption_key", "pass", "pw",
)  # fmt: skip
# These are words of other meaning, too: what stands behind them has a letter and a digit, or quotes.
_WEAK: Final = frozenset(("pass", "pw"))
# Secrets that are known by their shape: some of what stands in each, in lower case, which is looked for first, and the
# shape. Where gitleaks' config/gitleaks.toml (b58d3f1) or a plugin of detect-secrets lists a family, its prefix and
# alphabet were held against that, and what is shorter is taken, too; what both know only by a name beside it is not
# here. These stand in neither, and were not checked: DeepSeek, OpenRouter, Groq, Replicate, Discord's webhooks,
# Google's `GOCSPX-` and `ya29.`, `whsec_`, Supabase, Doppler's but `dp.pt.`, New Relic's but `NRAK-` and `NRII-`. JSON
# web tokens are RFC 7519, PEM blocks RFC 7468, user and password in a URL RFC 3986, bearer tokens RFC 6750.
_SHAPES: Final = (
    (("sk-",), r"\bsk-[A-Za-z0-9_\-]{16,}"),  # OpenAI, Anthropic, DeepSeek, OpenRouter
    (("gsk_", "r8_", "hf_", "api_org_", "pplx-"), r"\b(?:gsk_|r8_|hf_|api_org_|pplx-)[A-Za-z0-9]{24,}"),
    (("gh", "github_pat_"), r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"),
    (("gl", "gr1348941"), r"\bgl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas|agent|ffct)-[\w\-.]{16,}|\bGR1348941[\w\-]{16,}"),
    (("akia", "asia", "abia", "acca", "a3t"), r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16}\b"),
    (
        ("ltai", "akcp", "cmvmd", "absk"),
        r"\b(?:LTAI[A-Za-z0-9]{16,}|AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{50,}|ABSK[\w+/]{100,}=*)",
    ),
    (("xox", "xapp-"), r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9\-]{10,}|\bxapp-\d-[A-Za-z0-9\-]{16,}"),
    (("hooks.slack.com",), r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w+/]{20,}"),
    (("/api/webhooks/",), r"(?<=/api/webhooks/)\d{15,22}/[\w\-]{40,}"),
    (
        ("webhook.office.com",),
        r"(?<=webhook\.office\.com/)webhookb2/[\w@\-]{30,}/IncomingWebhook/[\w\-]{20,}/[\w\-]{20,}",
    ),
    ((".",), r"(?<![\w.\-])[MNO][\w\-]{22,28}\.[\w\-]{6}\.[\w\-]{27,45}(?![\w\-])"),  # Discord
    ((":",), r"(?<![\w:\-])\d{5,16}:A[\w\-]{34}(?![\w\-])"),  # Telegram
    (("aiza", "gocspx-", "ya29."), r"\bAIza[\w\-]{30,}|\bGOCSPX-[\w\-]{20,}|\bya29\.[\w\-]{20,}"),
    (("k_live_", "k_test_", "k_prod_"), r"\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    (("whsec_",), r"\bwhsec_[A-Za-z0-9+/]{24,}=*"),
    (("npm_", "rubygems_", "clojars_"), r"\b(?:npm_[A-Za-z0-9]{24,}|rubygems_[a-f0-9]{40,}|CLOJARS_[a-z0-9]{50,})"),
    (("pypi-",), r"\bpypi-[\w\-]{40,}"),
    (
        ("eyj",),
        r"(?<![\w\-])eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?|\b(?:ops|sntrys)_eyJ[\w+/=]{40,}",
    ),
    (("sg.",), r"\bSG\.[\w\-]{16,32}\.[\w\-]{16,64}"),
    (("sk",), r"\bSK[0-9a-fA-F]{32}\b"),  # Twilio
    (("key-", "-us"), r"\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us[0-9]{1,2}\b"),  # Mailgun, Mailchimp
    (("xkeysib-", "sntryu_", "tfp_"), r"\b(?:xkeysib-[a-f0-9]{64}-\w{16}|sntryu_[a-f0-9]{64}|tfp_[\w\-.=]{40,})"),
    (("sq0", "eaaa"), r"\bsq0[a-z]{3}-[\w\-]{22,}|\bEAAA[A-Za-z0-9\-_]{22,}"),
    (("shp", "shippo_"), r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|\bshippo_(?:live|test)_[a-fA-F0-9]{40}"),
    (
        ("_v1_", "dapi", "pul-", "rdme_"),
        r"\b(?:do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|pul-[a-f0-9]{40}|rdme_[a-z0-9]{60,})",
    ),
    (("hvs.", "hvb.", "atlasv1"), r"\bhv[sb]\.[\w\-]{24,}|\b[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{40,}"),
    (("dp.", "dt0c01."), r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.\-]{40,}|\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{40,}"),
    (
        ("lin_api_", "ntn_", "glsa_", "glc_"),
        r"\b(?:lin_api_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|glsa_\w{32,}|glc_[\w+/]{32,}=*)",
    ),
    (
        ("pscale_", "pmak-", "pnu_", "sbp_"),
        r"\b(?:pscale_(?:tkn|pw|oauth)_[\w\-.=]{32,}|PMAK-[a-f0-9\-]{40,}|pnu_[A-Za-z0-9]{36}|sbp_[a-f0-9]{40})",
    ),
    (
        ("nra", "nrii-", "fo1_", "fm1", "fm2_"),
        r"\bNR(?:A[AKL]|II)-[A-Za-z0-9\-]{20,}|\b(?:fo1|fm1[ar]|fm2)_[\w+/\-]{40,}=*",
    ),
    (("atatt3", "p8e-", "age-secret"), r"\bATATT3[\w\-=]{100,}|\bp8e-[A-Za-z0-9]{32}|\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    (
        ("duffel_", "ezak", "eztk", "flw"),
        r"\b(?:duffel_(?:test|live)_[\w\-=]{40,}|EZ[AT]K[a-zA-Z0-9]{50,}|FLWSECK(?:_TEST)?-[a-h0-9X\-]{12,})",
    ),
    (("pat",), r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),  # Airtable
    (("q~",), r"(?<![\w~.])[\w~.]{3}\dQ~[\w~.\-]{31,34}"),  # Azure AD
    (
        ("sgp_", "hrku-", "ico-", "sha256~"),
        r"\b(?:sgp_\w{40,}|HRKU-[\w\-]{36,}|ico-[A-Za-z0-9]{32}|sha256~[\w\-]{43})",
    ),
    (
        ("fio-u-", "tk-us-", "_mmk", "sm_", "bedrock-api-key-"),  # Frame.io, Scalingo, MaxMind, SettleMint, AWS Bedrock
        (
            r"\b(?:fio-u-[\w\-=]{64}|tk-us-[\w\-]{48}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|sm_[aps]at_[A-Za-z0-9]{16}|"
            r"bedrock-api-key-[A-Za-z0-9+/]{28,}=*)"
        ),
    ),
    (("v1.0-",), r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),  # Cloudflare
    (("a3-",), r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b"),  # 1Password
    (
        ("private key",),
        (
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]{0,40}"
            r"PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)"
        ),
    ),
    (("putty-user-key-file",), r"PuTTY-User-Key-File-\d[\s\S]*?(?:Private-MAC: [0-9a-f]+|\Z)"),
    # A password may hold "@" and "/", but what stands between a port and a path is none.
    (("://",), r"(?<=://)[^\s/:@\[\"'<>`]{0,200}:(?!\d{1,5}(?:[/?#\s\"']|\Z))[^\s\"'<>`]{1,200}(?=@)"),
    (("bearer", "basic"), r"(?i:\bbearer\s++|\bauthorization:\s*+basic\s++)[A-Za-z0-9._~+/\-]{12,}=*"),
)
# A run of letters and digits in which both cases and digits stand is a key, where it is as long and as mixed as one: a
# name inCamelCase is not, base64 has slashes. With slashes it is one only with the length of AWS's.
_RUN: Final = r"[A-Za-z0-9+_\-]"
_LONG: Final = re.compile(rf"(?<![\w/.+\-])(?<!base64,){_RUN}{{32,}}+={{0,2}}(?!/)")
_SLASHED: Final = re.compile(r"(?<![\w/+=.\-])[A-Za-z0-9/+]{40}(?![\w/+=.\-])")
# Of neighbours in a random key 62 % are of different kinds, in names of classes about 26 %.
_LEAST_CHANGES_FRACTION = 0.36
# No secrets, though they stand where one may: types, states, where code reads one from.
_NO_VALUE: Final = (
    r"(?!(?:str|string|text|bytes|int|bool|boolean|none|null|nil|true|false|undefined|optional|any|object|required|"
    r"missing|empty|invalid|incorrect|expired|protected|encrypted|mandatory|forgotten|unknown|accepted|rejected|valid|"
    r"wrong|stored|hashed|changed|reset)\b(?!\S{0,200}\d)|(?:os\.(?:environ|getenv)|process\.env|getenv)\b)"
)
# Card numbers, with spaces or dashes between their groups (ISO/IEC 7812): as long as one, and with its check digit.
_CARD: Final = re.compile(r"(?<![\d.\-])\d(?:[ \-]?\d){12,18}(?![\d\-])")
# A user's own pattern sees so much of a text at once, and what begins in it may reach so far behind; in each text it
# has so much time. A pattern that needs more is switched off: it would stall every request.
_SLICE_CHARS, _BEHIND_CHARS, _MOST_SECONDS = 1_000, 500, 1.0
_LONGEST_PATTERN = 1_000
# What a regular expression is made of: escapes, classes, openings of groups, what repeats, any other sign.
_TOKENS: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\]|(?!))*+(?:\]|\Z)|\((?:\?(?:P<\w+>|<?[=!]|[:>]|[a-zA-Z\-]+:?))?|\{\d*+(?:,\d*+)?\}|[\s\S]"
)


@dataclass(frozen=True)
class Redactor:
    """Removes secrets from texts.

    Attributes:
        names: words before a secret, as in `api_key: ...` or "my password is ..."; `_` is any joint, or none.
        patterns: regular expressions of secrets, beside the built-in ones.
        mark: the text in the place of a secret.
        clock: returns the CPU seconds of this thread; `None`: `patterns` have no limit of time.
        slow: called once for each of `patterns` that took over a second for one text; it is not used any more.
    """

    names: Sequence[str] = NAMES
    patterns: Sequence[str] = ()
    mark: str = "[redacted]"
    clock: Callable[[], float] | None = None
    slow: Callable[[str], None] | None = None
    _off: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the patterns.

        Raises:
            ConfigError: a pattern is no regular expression, takes nothing at all for a secret, or is too long; or the
                mark is empty.
        """
        if not self.mark:
            raise ConfigError("the mark that replaces secrets must not be empty")
        for pattern in self.patterns:
            if len(pattern) > _LONGEST_PATTERN:
                raise ConfigError(f"a redaction pattern has {len(pattern):,} characters; at most 1,000 are allowed")
            try:
                is_empty = re.compile(pattern).search("") is not None
            except re.error as error:
                raise ConfigError(f"redaction pattern {pattern!a:.80} is not a regular expression: {error}") from error
            if _is_nested(pattern):
                raise ConfigError(
                    f"redaction pattern {pattern!a:.80} repeats a repeat or a choice, so some texts would take for "
                    "ever; write it without a repeat in a repeat"
                )
            if is_empty:
                raise ConfigError(f"redaction pattern {pattern!a:.80} matches an empty text")

    def redacted(self, text: str) -> str:
        """Return a text in which a mark stands for each secret; redacting it again changes nothing."""
        while True:
            # A mark separates the words around it, which may look like a secret then: repeat until nothing changes.
            fewer = self.mark.join(map(self._once, text.split(self.mark)))
            if fewer == text:
                return text
            text = fewer

    def _once(self, text: str) -> str:
        for written, own in self._own:
            if written not in self._off:
                text = self._by_own(written, own, text)
        lowered = text.lower()
        for hints, shape in _compiled():
            if any(hint in lowered for hint in hints):
                text = shape.sub(self.mark, text)
        for run in (_LONG, _SLASHED):
            text = run.sub(lambda found: self.mark if _is_mixed(found[0]) else found[0], text)
        for hints, named in self._named:
            if any(hint in lowered for hint in hints):
                text = named.sub(self._marked, text)
        return _CARD.sub(lambda found: self.mark if _is_card(found[0]) else found[0], text)

    def _by_own(self, written: str, pattern: re.Pattern[str], text: str) -> str:
        """Return a text without the matches of a user's pattern, read slice by slice, as long as its time lasts."""
        kept: list[str] = []
        done = at = 0
        began = self.clock() if self.clock else 0.0
        while at <= len(text):
            for found in pattern.finditer(text, at, at + _SLICE_CHARS + _BEHIND_CHARS):
                if found.start() >= at + _SLICE_CHARS and len(text) > at + _SLICE_CHARS + _BEHIND_CHARS:
                    break
                kept += [text[done : found.start()], self._marked(found)]
                done = found.end()
            at = max(done, at + _SLICE_CHARS) if len(text) > at + _SLICE_CHARS + _BEHIND_CHARS else len(text) + 1
            if self.clock and self.clock() - began > _MOST_SECONDS:
                self._off.add(written)
                if self.slow:
                    self.slow(written)
                break
        return "".join([*kept, text[done:]])

    def _marked(self, found: re.Match[str]) -> str:
        kept = found.groupdict().get("kept") or ""
        return kept + self.mark if len(found[0]) > len(kept) else kept

    @cached_property
    def _own(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((pattern, re.compile(pattern)) for pattern in self.patterns)

    @cached_property
    def _named(self) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
        """Patterns of values behind names: in quotes, or up to the next white space."""
        weak = [name for name in self.names if name.lower() in _WEAK]
        strong = [name for name in self.names if name.lower() not in _WEAK]
        guard = r"(?=[\"'`]|(?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z]))"
        return tuple(
            (tuple(re.split(r"[\s_\-]+", name.strip())[0].lower() for name in some), self._behind(some, more))
            for some, more in ((strong, ""), (weak, guard))
            if some
        )

    def _behind(self, some: Sequence[str], guard: str) -> re.Pattern[str]:
        """Return the pattern of a value behind one of some names; each blank matches in one way only."""
        names = "|".join(r"[\s_\-]?".join(map(re.escape, re.split(r"[\s_\-]+", name.strip()))) for name in some)
        quoted = (
            rf"(?!{re.escape(self.mark)})(?:\"[^\"\n]{{1,500}}\"|'[^'\n]{{1,500}}'|`[^`\n]{{1,500}}`|"
            r"[^\s\"'`,;]{2,}[^\s\"'`,;.!?])"
        )
        # Behind "is" a word of the language may stand, too: "the token is valid".
        told = r"is\b(?>(?:\s++(?:now\b|set\s++to\b))?):?\s*+(?=[^\s\d]{0,200}\d|[^\s.,;!?]{8,}|[\"'`])"
        joint = rf"\s*+(?>(?:[\"'`]\s*+)?)(?:(?:=>|:=|->|==|[:=])\s*+|\b{told})(?>(?:(?i:bearer|basic)\s++)?)"
        kept = rf"(?P<kept>(?<![^\W_])(?:{names})(?![^\W_]){joint})"
        return re.compile(rf"{kept}{_NO_VALUE}{guard}{quoted}", re.IGNORECASE)


@cache
def _compiled() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Return the shapes, compiled when the first text comes."""
    return tuple((hints, re.compile(shape)) for hints, shape in _SHAPES)


def _is_nested(pattern: str) -> bool:
    """Return whether an endless repeat has a repeat or a choice inside: such a pattern may take exponential time."""
    repeats, was = [False], False  # in each open group; whether the group that has just closed does
    for sign in _TOKENS.findall(pattern):
        if sign[0] in "*+" or sign.endswith(",}"):
            if was:
                return True
            repeats[-1] = True
        elif sign[0] in "|?{":
            repeats[-1] = True
        is_end = sign == ")" and len(repeats) > 1
        was = repeats.pop() if is_end else False
        repeats[-1] |= was
        if sign[0] == "(":
            repeats.append(False)
    return False


def _is_mixed(text: str) -> bool:
    """Return whether capitals, small letters, digits and signs change as often as in a key that was drawn by lot."""
    kinds = ["A" if char.isupper() else "a" if char.islower() else "0" if char.isdigit() else "/" for char in text]
    changes = sum(one != other for one, other in pairwise(kinds))
    return {"A", "a", "0"} <= {*kinds} and changes >= _LEAST_CHANGES_FRACTION * len(text)


def _is_card(text: str) -> bool:
    """Return whether the check digit of a number is right (Luhn)."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits))]
    return any(digits) and sum(doubled) % 10 == 0
