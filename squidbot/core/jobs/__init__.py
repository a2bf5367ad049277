"""Summaries by a language model: asked for as values, written outside of any request, checked before they are kept.

| file       | holds |
|------------|-------|
| desk       | the jobs of one session: which are due, and doing them |
| due        | which blocks want a summary, at which level |
| writing    | a summarizer over a language model |
| prompts    | what is asked, by level and mode |
| checking   | what is wrong with an answer |
| source     | the messages of a job as they are shown and checked against |
"""
