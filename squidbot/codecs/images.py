"""Pictures inside payloads: how many there are, and texts in the place of the first ones (P-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Pictures", "is_image_type", "placeholder"]

# What tools were given, or hosts keep for themselves: nothing in it is shown as a picture.
_BESIDE: Final = frozenset({"input", "args", "arguments", "tool_calls", "function", "usage", "artifact", "metadata"})
# Payloads nest no deeper down to where a picture stands; what does is data.
_MOST_DEEP: Final = 12
# No form of a picture is without it; most payloads are not read for it.
_MARK: Final = "image"


def is_image_type(mime: object) -> bool:
    """Return whether a MIME type is that of a picture."""
    return isinstance(mime, str) and mime.startswith("image/")


def placeholder(number: int, of: int, handle: str) -> str:
    """Return what stands in the place of a picture, counted from 1; `handle` brings back what was said beside it."""
    return f"[image {number} of {of}: stored, not shown; recall {handle}]"


class Pictures:
    """What codecs have in common whose pictures are objects of a `type`, anywhere in the content of a message."""

    image_types: Sequence[str] = ()
    text_type: str = "text"

    def images(self, payload: str) -> int:
        """Return how many pictures a payload has; 0 for what is no JSON."""
        return self._shown(payload, 0, "")[1]

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload in which a text stands in the place of each of its first `most` pictures.

        `handle` names the message in that text. What is no JSON is returned as it is.
        """
        return self._shown(payload, most, handle)[0]

    def _shown(self, payload: str, most: int, handle: str) -> tuple[str, int]:
        """Return a payload without its first pictures, and how many it has."""
        if _MARK not in payload:
            return payload, 0
        try:
            value = jsontext.parse(payload)
        except ValueError:
            return payload, 0
        of = sum(1 for _ in self._found(value))
        if not most or not of:
            return payload, of
        gone = {id(one): placeholder(n, of, handle) for n, one in enumerate(self._found(value), 1) if n <= most}
        return jsontext.write(self._without(value, gone)), of

    def _found(self, value: object, depth: int = 0) -> Iterator[object]:
        """Yield the pictures of a value, in order."""
        if isinstance(value, list):
            inner: Iterable[object] = value
        elif isinstance(value, dict):
            if self._is_image(value):
                yield value
                return
            inner = (one for key, one in value.items() if key not in _BESIDE)
        else:
            return
        if depth < _MOST_DEEP:
            for one in inner:
                yield from self._found(one, depth + 1)

    def _without(self, value: object, gone: Mapping[int, str], depth: int = 0) -> object:
        """Return a value with texts in the place of what is named by its identity."""
        if id(value) in gone:
            return self._said(gone[id(value)])
        if depth > _MOST_DEEP:
            return value
        if isinstance(value, list):
            return [self._without(one, gone, depth + 1) for one in value]
        if not isinstance(value, dict):
            return value
        return {key: one if key in _BESIDE else self._without(one, gone, depth + 1) for key, one in value.items()}

    def _is_image(self, one: Mapping[str, object]) -> bool:
        return one.get("type") in self.image_types

    def _said(self, text: str) -> object:
        return {"type": self.text_type, "text": text}
