"""squidbot's face inside agent programs that exist already; none of it knows another host than its own.

| file        | host |
|-------------|------|
| pydantic_ai | pydantic-ai 2: a capability of an agent, or of a run |
"""
