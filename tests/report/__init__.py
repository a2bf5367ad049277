"""Reports: their data, and the page that shows them."""
