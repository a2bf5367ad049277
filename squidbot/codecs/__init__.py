"""The forms of conversations, one file per form, and the reader of recordings."""
