"""The database's schema as a sequence of numbered steps.

A connection goes in; afterwards its database has the newest schema. A step is a named function in a module of its own,
runs in one transaction with the record that it ran, and is never changed once released: a change is a new step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from prospection.errors import NewerDatabaseError, StoreError
from prospection.store.connection import transaction
from prospection.store.migrations.m001_foundation import lay_foundation
from prospection.store.migrations.m002_durable_work import make_work_durable

__all__ = ["APPLICATION_ID", "MIGRATIONS", "migrate", "version"]

Migration = Callable[[sqlite3.Connection], None]

MIGRATIONS: tuple[Migration, ...] = (lay_foundation, make_work_durable)
"""Step number i + 1 is MIGRATIONS[i]."""

APPLICATION_ID = 0x50524F53  # "PROS" in the file's header tells our files from other programs'


def version(connection: sqlite3.Connection) -> int:
    """Return the number of the last step that ran; 0 for an empty database.

    Raises:
        StoreError: The database belongs to another program.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        (number,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
        return int(number)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables or application:
        raise StoreError("the file is an SQLite database of another program; choose another path")
    return 0


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest schema; safe when several processes do so at once.

    Raises:
        NewerDatabaseError: The database has steps that this version does not know.
        StoreError: The database belongs to another program.
    """
    if version(connection) > len(migrations):
        raise NewerDatabaseError(
            f"the database has schema {version(connection)} and this version of prospection knows schemas up to "
            f"{len(migrations)}; upgrade prospection: pip install --upgrade prospection"
        )
    for number, step in enumerate(migrations, start=1):
        if version(connection) >= number:
            continue
        with transaction(connection):
            if version(connection) >= number:  # another process was faster
                continue
            step(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", (number, step.__name__))
