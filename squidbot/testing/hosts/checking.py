"""The check of a plugin for a host: every point of the list, or one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts import apart, failing, lasting, loud, providers, talks, ways

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.testing.hosts.programs import Host

__all__ = ["HOST_CHECKS", "check_host_plugin"]

HOST_CHECKS: Final[dict[str, Callable[[Host, Path], None]]] = {
    "C1 restart": talks.restarted,
    "C2 budget": talks.bounded,
    "C3 pairs": talks.pairs,
    "C4 append-only": talks.append_only,
    "C5 recall": talks.recalled,
    "C6 stream": ways.streamed,
    "C7 sync and async": ways.alike,
    "C8 fail open": failing.fails_open,
    "C9 failed or cancelled run": failing.broken_off,
    "C10 isolation": apart.isolated,
    "C11 server-held state": providers.server_held,
    "C12 non-destructive": apart.untouched,
    "C13 overflow": providers.overflowed,
    "C14 reasoning": providers.reasoned,
    "C15 usage": providers.calibrated,
    "C16 rivals": loud.rivalled,
    "C17 inactive is loud": loud.inactive,
    "C18 hygiene": loud.hygienic,
    "300 steps": lasting.lasting,
}


def check_host_plugin(host: Host, folder: Path, point: str = "") -> None:
    """Check a plugin for a host, at one point of `HOST_CHECKS` or at all; `folder` is empty, and is written to.

    Where a host can't meet a point, `Host.otherwise` says why, and what is checked instead.

    Raises:
        AssertionError: a promise is broken; the text says which point, what was expected and what was seen.
    """
    unknown = {*host.otherwise, *filter(None, [point])} - set(HOST_CHECKS)
    assert not unknown, f"no such points: {sorted(unknown)}; there are {', '.join(HOST_CHECKS)}"
    for name in [point] if point else HOST_CHECKS:
        place = folder / name.split()[0].lower()
        place.mkdir(parents=True, exist_ok=True)
        otherwise = host.otherwise.get(name)
        check = HOST_CHECKS[name] if otherwise is None else otherwise.check
        try:
            if check is not None:
                check(host, place)
        except AssertionError as error:
            raise AssertionError(f"{host.name}, {name}: {error}") from error
        except Exception as error:
            raise AssertionError(
                f"{host.name}, {name}: nothing of squidbot's or its host's is raised, but {error!r}"
            ) from error
