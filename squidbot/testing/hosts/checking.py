"""The check of a plugin for a host: every point of the list, or one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts import points

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.testing.hosts.program import Host

__all__ = ["HOST_CHECKS", "check_host_plugin"]

HOST_CHECKS: Final[dict[str, Callable[[Host, Path], None]]] = {
    "C1 restart": points.restarted,
    "C2 budget": points.bounded,
    "C3 pairs": points.pairs,
    "C4 append-only": points.append_only,
    "C5 recall": points.recalled,
    "C6 stream": points.streamed,
    "C7 sync and async": points.alike,
    "C8 fail open": points.fails_open,
    "C9 failed or cancelled run": points.broken_off,
    "C10 isolation": points.isolated,
    "C11 server-held state": points.server_held,
    "C12 non-destructive": points.untouched,
    "C13 overflow": points.overflowed,
    "C14 reasoning": points.reasoned,
    "C15 usage": points.calibrated,
    "C16 rivals": points.rivalled,
    "C17 inactive is loud": points.inactive,
    "C18 hygiene": points.hygienic,
    "300 steps": points.lasting,
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
