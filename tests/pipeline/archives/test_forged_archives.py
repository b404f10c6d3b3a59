"""Archives of a forger, whose sums fit: refused by what their members are and declare."""

import tarfile
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from ngo.common.registry import UserError
from ngo.pipeline.archives import archive, limits

TABLE = "results/own/metrics/own.parquet"


@pytest.fixture
def packed(tmp_path):
    """A small archive."""
    members = {"archive.json": b"{}", "config/config.yaml": b"tier: own\n"}
    archive.write_archive(tmp_path / "a.tar", members)
    return tmp_path / "a.tar"


# What no archive has, and why it is refused.
FORGED = {
    "results/own/tables/claims.html": "is no part of an archive",
    "results/own/report.html": "is no part of an archive",
    ".snakemake/metadata/a": "is no part of an archive",
    "workflow/profiles/local/config.yaml": "is no part of an archive",
    "sitecustomize.pth": "is no part of an archive",
    "config/CONFIG.yaml": "differ only in capital letters",
    "config/config.yaml/a.yaml": "'config/config.yaml' is a file and a folder",
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_members_are_refused_although_their_sums_fit(packed, name):
    members = {**archive.read_archive(packed).members, name: b"{}"}
    archive.write_archive(packed, members)
    with pytest.raises(UserError, match=f"is refused: .*{FORGED[name]}"):
        archive.read_archive(packed)


def sparse(path):
    """A sparse file of 8 GiB, in 1.5 kB: GNU's header declares its real size."""
    entry = tarfile.TarInfo("config/config.yaml")
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[483:495] = tarfile.itn(2**33, 12, tarfile.GNU_FORMAT)
    total = sum(header[:148]) + 256 + sum(header[156:])
    header[148:156] = b"%06o\0 " % total
    path.write_bytes(bytes(header) + bytes(1024))


def of_declared_size(path):
    """A member whose extended header declares 10²³ bytes."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as made:
        entry = tarfile.TarInfo("config/config.yaml")
        entry.pax_headers = {"size": "9" * 23}
        made.addfile(entry)


def of_many_members(path):
    """5,000 members."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as made:
        for k in range(5_000):
            made.addfile(tarfile.TarInfo(f"config/{k}.yaml"))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (sparse, "'config/config.yaml' is not a regular file"),
        (of_declared_size, "is not a regular file"),
        (of_many_members, "it has more than 1000 files"),
    ],
)
def test_what_declares_more_than_it_has_is_refused_at_once(tmp_path, made, message):
    made(tmp_path / "a.tar")
    tracemalloc.start()
    with pytest.raises(UserError, match=message):
        archive.read_archive(tmp_path / "a.tar")
    assert tracemalloc.get_traced_memory()[1] < 2 * (tmp_path / "a.tar").stat().st_size + 2**22
    tracemalloc.stop()


def test_only_a_file_of_an_allowed_size_is_read(tmp_path):
    with open(tmp_path / "a.tar", "wb") as file:
        file.truncate(2**31)
    for name in ("a.tar", "/dev/zero"):
        with pytest.raises(UserError, match=r"is refused: it is no file of at most \d+ bytes"):
            archive.read_archive(tmp_path / name)


def test_a_table_that_is_none_or_too_large_is_refused(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "TABLES", limits.MIB)
    zeros = pd.DataFrame({"x": np.zeros(10**6, np.int8)})
    for frame in (b"a table", zeros.to_parquet()):
        members = archive.read_archive(packed).members
        members[TABLE] = frame
        archive.write_archive(tmp_path / "b.tar", members)
        with pytest.raises(UserError, match=f"'{TABLE}' can't be read"):
            archive.read_archive(tmp_path / "b.tar")
