"""What breaking a prompt cache costs, and what it brings, in tokens weighed by their price."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected after an event: requests grow by `growth_tokens` each until they reach `high_tokens`.

    `read_price` and `write_price` are those of a cached and of a newly written input token, 1 being an uncached one
    (decisions.md section 13).
    """

    high_tokens: float
    growth_tokens: float
    read_price: float
    write_price: float

    def cost_per_request(self, *, after: float, written: float) -> float:
        """Return the mean price of a request from an event to the next one, the event's own rewriting shared out.

        `after` is what history costs after the event, `written` the part of it that is written anew. An event that
        leaves no room to grow into pays its rewriting on every request.
        """
        requests = max(1.0, (self.high_tokens - after) / max(1.0, self.growth_tokens))
        rewriting = (self.write_price - self.read_price) * written / requests
        return self.read_price * (after + self.high_tokens) / 2 + rewriting
