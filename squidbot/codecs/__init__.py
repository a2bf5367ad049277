"""The forms in which conversations come: one file per form, and the reader of recorded ones."""
