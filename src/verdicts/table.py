"""Rows of tables: read, selected and joined."""

from verdicts.rows.selection import Column, Folder, Selection, Tables, joined, matches, selected
from verdicts.rows.tables import read_table, read_tables

__all__ = [
    "Column",
    "Folder",
    "Selection",
    "Tables",
    "joined",
    "matches",
    "read_table",
    "read_tables",
    "selected",
]
