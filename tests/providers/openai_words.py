"""How OpenAI words what it refuses, and reads what both of its endpoints take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .replies import Refusal

if TYPE_CHECKING:
    from .script import Json, Model, World
    from .shapes import Flaw, Path
    from .wire import Received

_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
_FAILURES = {
    429: ("Rate limit reached for requests", "requests", "rate_limit_exceeded"),
    503: ("The engine is currently overloaded, please try again later", "service_unavailable_error", None),
}


def error(message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: object = None) -> Json:
    """Return the body of an error."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def failure(status: int) -> Json:
    """Return the body of a failure that no request is to blame for."""
    message, kind, code = _FAILURES.get(
        status, ("The server had an error while processing your request. Sorry about that!", "server_error", None)
    )
    return error(message, kind=kind, code=code)


def refusal(message: str, param: str | None = None, code: object = None, status: int = 400) -> Refusal:
    """Return the refusal of a request that is wrong."""
    return Refusal(status, message, error(message, param=param, code=code))


def authenticate(asked: Received, key: str) -> None:
    """Check the key of a request.

    Raises:
        Refusal: there is none, or another.
    """
    given = asked.headers.get("authorization", "")
    if not given:
        raise refusal("You didn't provide an API key.", status=401)
    if given != f"Bearer {key}":
        raise refusal(
            f"Incorrect API key provided: {given.removeprefix('Bearer ')}.", code="invalid_api_key", status=401
        )


def model_of(asked: Received, world: World) -> Model:
    """Return the model that a request names.

    Raises:
        Refusal: there is none of that name.
    """
    name = str(asked.body.get("model"))
    if name not in world.models:
        message = f"The model `{name}` does not exist or you do not have access to it."
        raise refusal(message, code="model_not_found", status=404)
    return world.models[name]


def worded(flaw: Flaw) -> Refusal:
    """Return the refusal of a request whose fields are not as they have to be."""
    where = path_text(flaw.path)
    match flaw.kind:
        case "missing":
            return refusal(f"Missing required parameter: '{where}'.", where, "missing_required_parameter")
        case "unknown":
            return refusal(f"Unknown parameter: '{where}'.", where, "unknown_parameter")
        case "type":
            expected = " or ".join(f"{'an' if one[0] in 'aio' else 'a'} {one}" for one in flaw.expected)
            got = _KINDS.get(type(flaw.got), "a number")
            return refusal(
                f"Invalid type for '{where}': expected {expected}, but got {got} instead.", where, "invalid_type"
            )
        case "long":
            message = (
                f"Invalid '{where}': string too long. Expected a string with maximum length {flaw.expected[0]}, but got"
                f" a string with length {len(str(flaw.got))} instead."
            )
            return refusal(message, where, "string_above_max_length")
        case "empty":
            message = f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array"
            return refusal(f"{message} instead.", where, "empty_array")
        case _:
            values = ", ".join(f"'{one}'" for one in flaw.expected)
            return refusal(f"Invalid value: '{flaw.got}'. Supported values are: {values}.", where, "invalid_value")


def path_text(path: Path) -> str:
    """Return where something stands, as OpenAI writes it."""
    text = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return text.removeprefix(".")
