from conftest import REPOSITORY

from ngo.pipeline.archives import limits
from ngo.pipeline.archives.archive import read_archive
from ngo.pipeline.archives.members import is_table
from ngo.pipeline.archives.parquet_check import decoded_bytes

ROOM = 1.3


def test_the_largest_archive_of_the_project_passes_with_room():
    members = read_archive(REPOSITORY / "results/archive/laptop-metrics.tar").members
    tables = [content for name, content in members.items() if is_table(name)]
    assert sum(map(decoded_bytes, tables)) * ROOM < limits.TABLES
    assert sum(map(len, members.values())) * ROOM < limits.ARCHIVE
    assert len(members) * ROOM < limits.MEMBERS
