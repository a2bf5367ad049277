"""What the commands find in a store, and on a machine, as values: nothing here prints, and nothing writes."""
