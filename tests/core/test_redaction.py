"""Secrets are taken out of derived texts, and little else is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.redaction import Redactor

MARK = "[redacted]"
KEY = "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("api_key: abc123", "abc123"),
        ("my API key is q7Wz-99", "q7Wz-99"),
        ("set APIKEY=abc123 first", "abc123"),
        ('{"client_secret": "a b c"}', "a b c"),
        ("my password is hunter2", "hunter2"),
        ("the password is swordfish", "swordfish"),
        ("DB_PASSWORD='pass word'", "pass word"),
        ("Authorization: Bearer abcdefghijklmn", "abcdefghijklmn"),
        ("use sk-" + "x" * 24, "x" * 24),
        ("ghp_" + "a1" * 18, "a1" * 18),
        ("AKIA" + "ABCD1234" * 2, "ABCD1234"),
        ("xoxb-" + "12345-abcdef", "12345-abcdef"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "eyJzdWIiOiIx"),
        ("postgres://ann:pa55@db/x", "pa55"),
        (f"it is {KEY}", KEY),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end", "MIIE"),
        ("pay with 4111 1111 1111 1111 now", "1111 1111"),
    ],
)
def test_secret_is_taken_out(text: str, secret: str) -> None:
    """By the name in front of it, or by its shape."""
    shown = Redactor().redacted(text)
    assert secret not in shown
    assert MARK in shown


# What secrets are made of is put together here, so that those who look for secrets in this repository find none.
HEX, ALNUM, UPPER = "0123456789abcdef" * 13, "aB3dE6gH9jK2mN5pQ8sT" * 20, "ABCD2345" * 20
FAMILIES = {
    "OpenAI": "sk-" + "proj-" + ALNUM[:48],
    "Anthropic": "sk-" + "ant-api03-" + ALNUM[:93] + "AA",
    "Groq": "gsk" + "_" + ALNUM[:52],
    "Replicate": "r8" + "_" + ALNUM[:37],
    "Hugging Face": "hf" + "_" + ALNUM[:34],
    "Perplexity": "pplx" + "-" + ALNUM[:48],
    "GitHub": "ghp" + "_" + ALNUM[:36],
    "GitHub, fine-grained": "github" + "_pat_" + ALNUM[:82],
    "GitLab": "gl" + "pat-" + ALNUM[:20],
    "GitLab runner": "GR" + "1348941" + ALNUM[:20],
    "AWS key id": "AKIA" + UPPER[:16],
    "AWS secret": "wJalr" + "XUtnFEMI/K7MDENG/bPx" + "RfiCYEXAMPLEKEY",
    "Alibaba": "LTAI" + ALNUM[:20],
    "Artifactory": "AKCp" + ALNUM[:69],
    "Slack bot": "xoxb" + "-123456789012-1234567890123-" + ALNUM[:24],
    "Slack app": "xapp" + "-1-A0123456789-123456789012-" + HEX[:64],
    "Slack webhook": "https://hooks.slack" + ".com/services/T" + UPPER[:8] + "/B" + UPPER[:8] + "/" + ALNUM[:24],
    "Discord bot": "M" + ALNUM[:23] + "." + ALNUM[:6] + "." + ALNUM[:27],
    "Discord webhook": "https://discord" + ".com/api/webhooks/123456789012345678/" + ALNUM[:68],
    "Teams webhook": "https://x.webhook.office"
     f".com/webhookb2/{HEX[:36]}@{HEX[:36]}/IncomingWebhook/{HEX[:32]}/{HEX[:36]}",
    "Telegram bot": "123456789" + ":AA" + ALNUM[:33],
    "Google API": "AIza" + ALNUM[:35],
    "Google client": "GOCSPX" + "-" + ALNUM[:28],
    "Google OAuth": "ya29" + "." + ALNUM[:60],
    "Stripe": "sk" + "_live_" + ALNUM[:24],
    "Stripe webhook": "whsec" + "_" + ALNUM[:32],
    "npm": "npm" + "_" + ALNUM[:36],
    "PyPI": "pypi" + "-AgEIcHlwaS5vcmc" + ALNUM[:60],
    "RubyGems": "rubygems" + "_" + HEX[:48],
    "JSON web token": "eyJ" + ALNUM[:17] + ".eyJ" + ALNUM[:20] + "." + ALNUM[:30],
    "SendGrid": "SG" + "." + ALNUM[:22] + "." + ALNUM[:43],
    "Twilio": "SK" + HEX[:32],
    "Mailgun": "key" + "-" + HEX[:32],
    "Mailchimp": HEX[:32] + "-us" + "12",
    "Brevo": "xkeysib" + "-" + HEX[:64] + "-" + ALNUM[:16],
    "Square": "sq0" + "atp-" + ALNUM[:22],
    "Shopify": "shp" + "at_" + HEX[:32],
    "Shippo": "shippo" + "_live_" + HEX[:40],
    "DigitalOcean": "dop" + "_v1_" + HEX[:64],
    "Databricks": "dapi" + HEX[:32],
    "Pulumi": "pul" + "-" + HEX[:40],
    "Vault": "hvs" + "." + ALNUM[:95],
    "Terraform": ALNUM[:14] + ".atlasv1" + "." + ALNUM[:65],
    "Doppler": "dp" + ".pt." + ALNUM[:43],
    "Dynatrace": "dt0c01" + "." + UPPER[:24] + "." + UPPER[:64],
    "Linear": "lin" + "_api_" + ALNUM[:40],
    "Notion": "ntn" + "_" + ALNUM[:46],
    "Grafana": "glsa" + "_" + ALNUM[:32] + "_" + HEX[:8],
    "PlanetScale": "pscale" + "_tkn_" + ALNUM[:43],
    "Postman": "PMAK" + "-" + HEX[:24] + "-" + HEX[:34],
    "Supabase": "sbp" + "_" + HEX[:40],
    "New Relic": "NRAK" + "-" + UPPER[:27],
    "Fly.io": "fo1" + "_" + ALNUM[:43],
    "Atlassian": "ATATT3" + ALNUM[:186],
    "age": "AGE-SECRET" + "-KEY-1" + UPPER[:58],
    "Airtable": "pat" + ALNUM[:14] + "." + HEX[:64],
    "Azure AD": "abc" + "8Q~" + ALNUM[:34],
    "Azure storage": "AccountName=a;AccountKey=" + ALNUM[:86] + "==",
    "Sentry": "sntryu" + "_" + HEX[:64],
    "PEM": "-----BEGIN " + "EC PRIVATE KEY-----\nMIIE\n-----END " + "EC PRIVATE KEY-----",
    "SSH2": "---- BEGIN " + "SSH2 ENCRYPTED PRIVATE KEY ----\nMIIE\n---- END " + "SSH2 ENCRYPTED PRIVATE KEY ----",
    "PuTTY": "PuTTY-User" + "-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: " + HEX[:40],
    "Telegram, short id": "12345" + ":A" + ALNUM[:34],
    "Twilio, capitals": "SK" + HEX[:32].upper(),
    "Prefect": "pnu" + "_" + ALNUM[:36],
    "Adobe": "p8e" + "-" + ALNUM[:32],
    "New Relic insert": "NRII" + "-" + ALNUM[:32],
    "Frame.io": "fio" + "-u-" + ALNUM[:64],
    "Scalingo": "tk" + "-us-" + ALNUM[:48],
    "MaxMind": ALNUM[:6] + "_" + ALNUM[:29] + "_mmk",
    "SettleMint": "sm" + "_pat_" + ALNUM[:16],
    "AWS Bedrock": "bedrock" + "-api-key-" + "YmVkcm9jay5hbWF6b25hd3MuY29t" + ALNUM[:40],
    "Cloudflare origin": "v1" + ".0-" + HEX[:24] + "-" + HEX[:146],
    "1Password": "A3" + "-ABCDEF-ABCDEF-ABCDE-ABCDE-ABCDE-ABCDE",
    "PGP": "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP " + "PRIVATE KEY BLOCK-----",
    "bearer": "curl -H 'Authorization: Bearer " + ALNUM[:30],
    "basic": "Authorization: Basic " + ALNUM[:24] + "==",
    "URL": "postgres://u:" + "p@ss@h/db",
    "URL without a user": "redis://:" + "hunter22@cache:6379/0",
    "URL, slash": "amqp://ann:" + "pa/55word@mq",
    "password =>": "password " + "=> hunter2",
    "pw:": "pw" + ": hunter2",
    "pass:": "pass" + ": hunter2",
    "pwd=": "PWD" + "=hunter2!",
    "connection string": "Server=db;User=sa;Password=" + "Qw3rty;Encrypt=yes",
    "YAML": "db:\n  password" + ": swordfish",
    "JSON": '{"passphrase"' + ': "correct horse"}',
    "environment": "export DB_" + "PASSWORD='pass word'",
    "header": "X-Api-Key" + ": 9f8e7d6c5b",
}  # fmt: skip
KEPT = {
    "AWS secret": "", "Slack webhook": "hooks.slack.com", "Discord webhook": "discord.com", "URL": "@h/db",
    "URL without a user": "@cache:6379/0", "URL, slash": "@mq", "connection string": "Server=db",
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_secret_of_each_family_is_taken_out(family: str) -> None:
    """In a sentence, in quotes and at the end; nothing of it is left but what tells where it belongs."""
    secret = FAMILIES[family]
    for text in (f"use {secret} for now", f'key = "{secret}"' if '"' not in secret else secret, secret):
        shown = Redactor().redacted(text)
        assert MARK in shown
        assert KEPT.get(family, "") in shown
        for part in re.findall(
            r"[A-Za-z0-9]{12,}|hunter\w*|p@ss|ss@|pa/55|Qw3rty|swordfish|horse|pass word|9f8e\w*", secret
        ):
            if part.lower() not in {"accountname", "authorization", "incomingwebhook"}:
                assert part not in shown


@pytest.mark.parametrize(
    "text",
    [
        "The user prefers tabs over spaces.",
        "Secret santa is on Friday.",
        "The deploy branch is release/2026-11.",
        "max_tokens: 4096",
        "order 1234 5678 9012 3456",
        "src/very/long/path/With9Mixed/CaseAndDigits123456789.py",
        "Call me on the first of May 2026.",
        "id 123e4567-e89b-12d3-a456-426614174000 and 00000000-0000-0000-0000-000000000000",
        "sha256 " + HEX[:64] + ", sha1 " + HEX[:40] + ", md5 " + HEX[:32] + ", sha512 " + HEX[:128],
        "commit 0c1e57098f2b7a6c5d4e3f2a1b0c9d8e7f6a5b4c fixes it, see 0c1e570",
        "image sha256:" + HEX[:64] + "@sha256:" + HEX[:64],
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4/8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
        "The password is required for each login, and the token is expired.",
        "I forgot my password. Passwords are hashed; a password manager helps. Reset password?",
        "def login(user: str, password: str, token: Optional[str] = None) -> bool: ...",
        'password = os.environ["DB_PASSWORD"]',
        "tests: pass: 12, fail: 0; pass: yes",
        "http://localhost:8080/a@b and http://host:8080/path/user@example.com",
        "git@github.com:ann/repo.git and https://example.com/a:b/c",
        "src/components/NavigationBar/Header9/index.tsx",
        "2026-11-23T06:45:00Z worker-7 10.0.0.12:5432 max_tokens: 4096",
        "The secretary keeps the token of thanks; api keys and basic rules.",
        "sk-learn and SG.example, key-value, xoxo, hvs.short, v1.2.3.4",
        "class ApiKeyAuthenticationProviderFactoryBean2 in org.springframework.security",
        "Bearer of bad news; authorization is needed",
        "integrity sha384-" + "oqVuAfXRKap7fdgcCY5uykM6" + "/R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC",
    ],
)
def test_what_looks_like_a_secret_and_is_none_stays(text: str) -> None:
    """Ids, digests, pictures, code and prose: a memory with holes is none."""
    assert Redactor().redacted(text) == text


@pytest.mark.parametrize(
    "text", ["+", "a+", "secret ", 'secret:"', "eyJaaaaaaaa-", "://a", "://a:a", "pass:", "bearer ", "1-", "token is "]
)
def test_hostile_texts_take_no_longer_than_they_are_long(text: str) -> None:
    """Whatever is repeated."""

    def seconds(chars: int) -> float:
        start = time.thread_time()
        Redactor().redacted((text * (chars // len(text)))[:chars] + "!")
        return time.thread_time() - start

    assert any(seconds(32_000) / max(seconds(8_000), 2e-3) <= 6 for _ in range(3))


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(?:a|b)*c", r"(\w+\s?)*x", r"((a{2,})+)", r"(?:x[+*]?)+y"])
def test_pattern_that_might_never_end_is_refused(pattern: str) -> None:
    """A repeat in a repeat is exponential in some texts."""
    with pytest.raises(ConfigError, match="without a repeat in a repeat"):
        Redactor(patterns=(pattern,))


def test_pattern_of_a_user_sees_the_whole_text() -> None:
    """Slice by slice, also where a secret stands on a border."""
    redactor = Redactor(patterns=(r"EMP-\d+", r"(?:ID|NO) [0-9]{6}", r"[(+*]x"))
    for at in (0, 990, 997, 1_000, 1_499, 1_500, 2_500, 9_999):
        assert redactor.redacted("." * at + " EMP-12345, " + "." * 3_000) == "." * at + f" {MARK}, " + "." * 3_000


def test_pattern_that_takes_too_long_is_switched_off_and_told_of() -> None:
    """Once; the others go on."""
    ticks, told = iter(range(1_000)), list[str]()
    redactor = Redactor(patterns=("zzz", "EMP-1"), clock=lambda: next(ticks) * 0.3, slow=told.append)
    redactor.redacted("x" * 20_000)
    assert told == ["zzz", "EMP-1"]
    assert redactor.redacted("EMP-1 zzz") == "EMP-1 zzz"
    assert told == ["zzz", "EMP-1"]


def test_names_and_patterns_can_be_set() -> None:
    """What a user of the library adds."""
    redactor = Redactor(names=("badge",), patterns=(r"\bEMP-\d+",), mark="***")
    assert redactor.redacted("badge: 77-A, EMP-1234, password: x12345") == "badge: ***, ***, password: x12345"
    assert Redactor(names=()).redacted("api_key: abc123") == "api_key: abc123"


@pytest.mark.parametrize("pattern", ["(", "x*", "a" * 1_001])
def test_pattern_that_can_not_be_used_is_refused(pattern: str) -> None:
    """At once, not when a secret is to be found."""
    with pytest.raises(ConfigError):
        Redactor(patterns=(pattern,))
    with pytest.raises(ConfigError):
        Redactor(mark="")


SHAPED = st.sampled_from(["api_key", "password", ": ", " is ", "=", "sk-" + "x" * 20, KEY, MARK, '"', "hunter22", " "])


@given(st.lists(SHAPED | st.text(max_size=12), max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Whatever stands around a mark."""
    once = Redactor().redacted(text)
    assert Redactor().redacted(once) == once


@given(st.text(), st.sampled_from([r"\b", "redacted", r"\[", "a", r"(?=x)"]))
def test_any_pattern_comes_to_an_end(text: str, pattern: str) -> None:
    """Also one that finds the mark itself, or nothing between two letters."""
    redactor = Redactor(patterns=(pattern,))
    assert redactor.redacted(redactor.redacted(text)) == redactor.redacted(text)
