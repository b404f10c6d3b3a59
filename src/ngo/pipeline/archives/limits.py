"""The most that an archive may contain. One that has more is refused.

The largest archive of the project has 11 MB in 38 members, with tables that take 570 MB when they
are decoded.
"""

MIB = 2**20

#: Bytes of an archive, and of all its members.
ARCHIVE = 128 * MIB

#: Members of an archive.
MEMBERS = 1000

#: Bytes of a text: a config, claims, a plugin, a file that a run names.
TEXT = MIB

#: Bytes of a JSON file that describes the whole archive.
JSON = 16 * MIB

#: Bytes of all records of runs, decompressed.
RECORDS = 64 * MIB

#: Bytes of all tables, decoded.
TABLES = 768 * MIB

#: Bytes of all tables that are joined from the runs, with numbers as text.
JOINED = 1024 * MIB

#: Columns of a table.
COLUMNS = 1000

#: Bytes of memory, and seconds, of the process that first reads a stranger's JSON and tables.
MEMORY, SECONDS = 4096 * MIB, 120
