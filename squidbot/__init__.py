"""squidbot keeps an agent's context window within budget, and what falls out of it recallable."""
