"""The server and the real SDKs as fixtures; what needs an SDK that is not installed is skipped."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from .wire import KEY, Providers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anthropic import Anthropic
    from openai import OpenAI


@pytest.fixture(scope="session", autouse=True)
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have each client trust one authority in place of 150, all read anew: no server here has a certificate."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    with pytest.MonkeyPatch.context() as patch:
        if known:
            path = tmp_path_factory.mktemp("certificates") / "one.pem"
            path.write_text(ssl.DER_cert_to_PEM_cert(known[0]), encoding="ascii")
            patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture
def providers() -> Iterator[Providers]:
    """A server of its own for each test."""
    with Providers() as server:
        yield server


@pytest.fixture(scope="session")
def any_claude() -> Iterator[Anthropic]:
    """Anthropic's SDK without a server: making one reads the certificates of this machine, which takes its time."""
    anthropic = pytest.importorskip("anthropic", exc_type=ImportError)
    with anthropic.Anthropic(api_key=KEY, base_url="http://127.0.0.1:9", max_retries=0) as client:
        yield client


@pytest.fixture(scope="session")
def any_gpt() -> Iterator[OpenAI]:
    """OpenAI's SDK without a server."""
    openai = pytest.importorskip("openai", exc_type=ImportError)
    with openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:9", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(any_claude: Anthropic, providers: Providers) -> Anthropic:
    """Anthropic's SDK, which tries nothing twice."""
    return any_claude.with_options(base_url=providers.url)


@pytest.fixture
def gpt(any_gpt: OpenAI, providers: Providers) -> OpenAI:
    """OpenAI's SDK, which tries nothing twice."""
    return any_gpt.with_options(base_url=providers.openai_url)
