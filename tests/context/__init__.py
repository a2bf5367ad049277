"""Documents of the project and of a folder."""
