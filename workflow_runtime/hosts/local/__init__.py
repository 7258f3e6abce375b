"""The local host: the same function app, carried by one process and one SQLite file."""
