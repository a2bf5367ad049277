"""Services of an engine beside turns: one file each."""
