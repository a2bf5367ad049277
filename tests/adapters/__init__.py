"""One test file for each adapter, and what they share."""
