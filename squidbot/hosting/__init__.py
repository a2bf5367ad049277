"""What all plugins for hosts share; none of it knows a host.

| file          | holds |
|---------------|-------|
| hosted        | `Hosted`: what a plugin is made of: an engine, conversations by id, failing open |
| conversations | `Conversation`: a host's list of messages, before each model call and behind it |
| matching      | which messages of a host's list are new |
| listing       | long lists of which little is looked at: each member is made when it is asked for |
| toolkit       | the tools that a host's model gets, and what executes them |
| served        | `Served`: what a store answers where no conversation is led |
| overview      | what can be told of a conversation at a glance |
| refusals      | which errors of a model mean that a request was too long; the error for a switch that is refused |
| switches      | whether and how squidbot is switched on, where a host loads it by itself |
"""
