"""What texts and messages cost in both units that matter: the policy's, and the window's."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from squidbot.core.counting.tokens import measure
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message
    from squidbot.core.ports import Certificate, TokenCounter

__all__ = ["REQUEST_TOKENS", "TEMPLATE_TOKENS", "Meter", "Template"]

# Tokens that a chat template puts around one message. OpenAI's cookbook counts 3 and 1 for a name; ChatML, Llama 3 and
# Gemma spend 3 to 5 on role and turn marks. The scorer of recorded conversations charges 4.
TEMPLATE_TOKENS = 4
# Tokens that a template puts around a whole request: the first one, and the opening of the answer. Llama 3 spends 5
# (<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>\n\n), Gemma 4, ChatML 3, as OpenAI's cookbook counts.
REQUEST_TOKENS = 5

NOTHING = Cost(0, 0)


class Template(NamedTuple):
    """What a model's chat template puts around texts, in tokens.

    Attributes:
        message_tokens: around a message, of whichever role.
        call_tokens: around a tool call, and around the result of one, more than around a message.
        request_tokens: around all messages together: the first token, the opening of the answer, a text of its own.
    """

    message_tokens: int = TEMPLATE_TOKENS
    call_tokens: int = 0
    request_tokens: int = REQUEST_TOKENS


ANY_TEMPLATE = Template()


class _KnowsTemplate(Protocol):
    """A counter that knows the template of its model, as one of a local model does."""

    @property
    def template(self) -> Template:
        """What stands around texts."""

    def tools_tokens(self, tools: str) -> int:
        """Return what tool definitions, a JSON list, add to a request."""


@lru_cache
def _knows_template(kind: type) -> bool:
    # Asked for every message that is recorded, as in `tokens`.
    return hasattr(kind, "template") and hasattr(kind, "tools_tokens")


class Meter(NamedTuple):
    """Counts with the session's token counter; with `policy` set, estimates are in that counter's unit (words)."""

    physical: TokenCounter
    policy: TokenCounter | None = None

    @property
    def name(self) -> str:
        """The name under which counts are stored: two meters with one name give the same numbers."""
        return self.physical.name if self.policy is None else f"{self.policy.name}/{self.physical.name}"

    @property
    def certificate(self) -> Certificate:
        """How far bounds can be trusted."""
        return self.physical.certificate

    @property
    def template(self) -> Template:
        """What stands around texts, as far as the counter knows it."""
        known = _knows_template(type(self.physical))
        return cast("_KnowsTemplate", self.physical).template if known else ANY_TEMPLATE

    def text(self, text: str) -> Cost:
        """Return what a text costs inside a message: estimate in the policy's unit, bound in tokens."""
        if self.policy is None:
            return measure(self.physical, text)
        return Cost(self.policy.count(text), self.physical.upper_bound(text))

    def fixed(self, text: str) -> Cost:
        """Return what `message` does, for a text that comes with every request: the newest ones are remembered."""
        return _fixed(self, text)

    def message(self, text: str, extra_tokens: int = 0, calls: Sequence[str] = ()) -> Cost:
        """Return what a message costs with its template.

        `extra_tokens` are those of its pictures and documents. `calls` are the arguments of the tool calls that it
        makes, which `text` has, too, and "" for each call that it answers.
        """
        cost, template = self.text(text), self.template
        added = template.message_tokens + extra_tokens + template.call_tokens * len(calls)
        spelled = sum(map(_spelling_tokens, calls)) if template.call_tokens else 0
        return Cost(cost.estimate + (added if self.policy is None else 0), cost.bound + added + spelled)

    def said(
        self,
        message: Message,
        extra_tokens: int = 0,
        *,
        text: str | None = None,
        arguments: Sequence[str] | None = None,
    ) -> Cost:
        """Return what a message of a transcript costs, or would with another text or other arguments in place."""
        given = [call.arguments for call in message.calls] if arguments is None else arguments
        rendered = message.rendered_as(message.text if text is None else text, given)
        return self.message(rendered, extra_tokens, (*given, *("",) * len(message.results)))

    def tools(self, tools: str) -> Cost:
        """Return what tool definitions, as JSON text, cost in each request; "" for none."""
        if not tools or not _knows_template(type(self.physical)):
            return self.fixed(tools) if tools else NOTHING
        tokens = cast("_KnowsTemplate", self.physical).tools_tokens(tools)
        return Cost(tokens if self.policy is None else self.policy.count(tools), tokens)

    @property
    def request(self) -> Cost:
        """What stands around all messages of a request together."""
        tokens = self.template.request_tokens
        return Cost(tokens if self.policy is None else 0, tokens)


def _spelling_tokens(arguments: str) -> int:
    """Return how many characters a template may write more than there are: as text in JSON, with spaces, escaped."""
    return len(json.dumps(arguments)) - len(arguments) + arguments.count(",") + arguments.count(":")


@lru_cache(maxsize=32)
def _fixed(meter: Meter, text: str) -> Cost:
    return meter.message(text)
