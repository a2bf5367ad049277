"""Durable facts: where they come from, how they are found, and how they are told.

| file      | holds |
|-----------|-------|
| asking    | what the tool `memory` does: search, add, list, forget, within one view |
| learning  | the messages of a session read for facts, each once, by rules or by a language model |
| merging   | which memories say nearly the same |
| deciding  | what becomes of facts: new, known, or in the place of an older one |
| extract   | facts found by rule in what was said |
| meaning   | `ByMeaning`: a store that is searched by vectors, too, made behind the writing |
| reading   | a language model that reads exchanges for facts |
| prompts   | facts found by a language model: what it is asked, and what is taken of its answer |
| rules     | the rules |
| wording   | small pieces of English that rules are made with |
| facts     | what facts are made from, and what they are before they are memories |
| turns     | messages of a session, found as memories are |
| heads     | what stands in a request unasked: the index, cold-start facts, profile and traits |
| telling   | memories as text, in groups, as many as fit |
| pieces/   | files as what can be found; its own map inside |
| search/   | what answers a question, best first; its own map inside |
| notefiles | notes as files of YAML say them |
| naming    | ids as a model copies them |
"""
