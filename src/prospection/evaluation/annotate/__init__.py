"""The annotation page: people compare two answers, blind; their verdicts are kept in a SQLite file."""
