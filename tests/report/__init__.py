"""Reports: their data, the page, and the server of live pages."""
