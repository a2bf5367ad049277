"""System texts for a model in a mode, written by us or by the user, within what a window of that size affords.

| file     | holds |
|----------|-------|
| building | a system text of its parts, whole paragraphs under the cap of the window's tier |
| texts    | our own words: mandates, sanity, a template for each mode |
| modes    | the modes: what each keeps, and from which tier on there is one |
"""
