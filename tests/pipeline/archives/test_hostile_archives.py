"""Archives of a forger, whose sums fit: each ends in one line, and nothing is run or written."""

import gzip
import io
import json
import lzma
import os
import tarfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from cases import refused
from click.testing import CliRunner
from conftest import REPOSITORY
from finished_runs import good_archive
from pyarrow import parquet

from ngo.cli import cli
from ngo.pipeline.archives.archive import CRATE, read_archive
from ngo.pipeline.archives.finished_runs import METRICS, RECORDS
from verdicts import members as limits
from verdicts.cli import main as verdicts_main
from verdicts.members import tar_of
from verdicts.registry import UserError

CODE = b"open('canary', 'w').close()\n"
CONFIG = "config/config.yaml"
WORDS = pa.array(["a" * 10**5] * 8100)
ZEROS = pa.array(np.zeros(10**7))
SPARSE = ("a.parquet", {"pax_headers": {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**26)}})
LARGE = lzma.compress(bytes(2**29), preset=0)
NONE = "'a.tar' is refused: it is not a metrics archive"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of an archive of a campaign."""
    folder = tmp_path_factory.mktemp("good")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return good_archive(folder).read_bytes()


@pytest.fixture
def here(good, tmp_path, monkeypatch):
    """A folder of the repository's, with local code and without Snakemake; what it has started."""
    monkeypatch.chdir(tmp_path)
    for name in ("Snakefile", "workflow", "config"):
        Path(name).symlink_to(REPOSITORY / name)
    Path("evil.py").write_bytes(CODE)
    started = []
    monkeypatch.setattr(os, "execve", lambda _, command, environment: started.append(command))
    return started


def ngo(content, command, *options):
    """The exit status and the output of a command on an archive."""
    Path("a.tar").write_bytes(content)
    answer = CliRunner().invoke(cli.main, [command, "a.tar", *options])
    assert isinstance(answer.exception, SystemExit | None), answer.exc_info
    return answer.exit_code, answer.output


def headers(*entries, form=tarfile.USTAR_FORMAT):
    """A tar file with more entries behind those of the good one: names and fields of headers."""

    def changed(content):
        file = io.BytesIO()
        how = {"fileobj": file, "mode": "w", "format": form}
        with tarfile.open(fileobj=io.BytesIO(content)) as old, tarfile.open(**how) as new:
            for entry in old:
                new.addfile(entry, old.extractfile(entry))
            for name, fields in entries:
                more = tarfile.TarInfo(name)
                for key, value in fields.items():
                    setattr(more, key, value)
                new.addfile(more)
        return file.getvalue()

    return changed


def sparse(content):
    """A member of 8 GiB in a few bytes: GNU's header declares its real size."""
    header = bytearray(tarfile.TarInfo(CONFIG).tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[483:495] = tarfile.itn(2**33, 12, tarfile.GNU_FORMAT)
    total = sum(header[:148]) + 256 + sum(header[156:])
    header[148:156] = b"%06o\0 " % total
    return bytes(header) + bytes(1024) + content


def chained(content):
    """Headers of which each announces the next."""
    header = tarfile.TarInfo("a")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2
    return (header.tobuf(tarfile.GNU_FORMAT) + b"a\0".ljust(512, b"\0")) * 9000 + content


def member(name, made):
    """The archive with other bytes as a member; ``made`` may need those that it has."""

    def changed(content):
        members = members_of(content)
        members[name] = made(members[name]) if callable(made) else made
        return tar_of(members)

    return changed


def members_of(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as file:
        found = {entry.name: file.extractfile(entry).read() for entry in file}
    del found["SHA256SUMS"]
    return found


def about(**values):
    """Other values of the description and of the config."""

    def changed(content):
        members = members_of(content)
        said = json.loads(members["archive.json"])
        config = {**yaml.safe_load(members[CONFIG]), **values.pop("config", {})}
        members["archive.json"] = json.dumps({**said, **values}).encode()
        members[CONFIG] = yaml.safe_dump(config).encode()
        return tar_of(members)

    return changed


def table(columns, metadata=None, **options):
    """A parquet file as the metrics."""
    file = io.BytesIO()
    made = pa.table(columns) if isinstance(columns, dict) else pa.table(*columns)
    parquet.write_table(made.replace_schema_metadata(metadata), file, **options)
    return member(METRICS, file.getvalue())


def footer(content):
    """A footer with some of its bits flipped."""
    return content[:-60] + bytes(255 - byte for byte in content[-60:-8]) + content[-8:]


def endless(content):
    """A footer that is said to have 4 GB."""
    return content[:-8] + b"\xff\xff\xff\xffPAR1"


CASES = {
    "truncated": (lambda content: content[:-9000], "is refused: "),
    "empty": (lambda _: b"", NONE),
    "more behind its end": (lambda content: content + b"\0", "differs from an archive of its mem"),
    "no archive": (lambda _: b"not an archive " * 100, NONE),
    "a gzip bomb": (lambda _: gzip.compress(bytes(2**27), mtime=0), NONE),
    "a file without end": (lambda _: bytes(2**20), "it has no SHA256SUMS"),
    "members without end": (headers(*((f"{k}.yaml", {}) for k in range(2000))), "more than 1000 f"),
    "a sparse file": (sparse, f"'{CONFIG}' has 8589934592 bytes; at most 1048576 are allowed"),
    "a sparse table": (headers(SPARSE, form=tarfile.PAX_FORMAT), "'a.parquet' is not a regular f"),
    "a chain of headers": (chained, NONE),
    "a link": (headers(("a.yaml", {"type": b"2", "linkname": "/etc/passwd"})), "not a regular fil"),
    "a device": (headers(("a.yaml", {"type": b"3"})), "'a.yaml' is not a regular file"),
    "an absolute path": (headers(("/tmp/a.yaml", {})), "'/tmp/a.yaml' is no part of an archive"),
    "a path outside": (headers(("../a.yaml", {})), "'../a.yaml' is no part of an archive"),
    "two of a name": (headers((CONFIG, {})), f"'{CONFIG}' is not a regular file, or occurs twice"),
    "a file and a folder": (member(f"{CONFIG}/a.yaml", b""), "two of its files and folders have"),
    "a file not in its sums": (headers(("a.yaml", {})), "differs from an archive of its members"),
    "a result": (member("results/test/tables/claims.html", b""), "is no part of an archive"),
    "a module": (member("pandas.py", CODE), "'pandas.py' is code, and no plugin of the config"),
    "a large text": (member(CONFIG, bytes(2**21)), "has 2097152 bytes; at most 1048576"),
    "deep JSON": (member("archive.json", b"[" * 10**5), "'archive.json' can't be read"),
    "a key twice": (member("archive.json", b'{"a": 1, "a": 2}'), "it has a key twice"),
    "not a number": (member(CRATE, b'{"a": NaN}'), "not JSON compliant"),
    "a list": (member("archive.json", b"[]"), "it is not a mapping"),
    "no name of a figure": (about(artefacts=["--snakefile=x"]), "names a figure that its config a"),
    "a tier elsewhere": (about(config={"tier": "a/x"}), "tier: 'a/x' is not allowed"),
    "a tier of all": (about(config={"tier": "runs"}), "tier: 'runs' is a folder of results/"),
    "a config that holds itself": (member(CONFIG, b"a: &x [*x]"), "more than 1,000,000 values"),
    "a local plugin": (about(config={"plugins": ["evil.py"]}), "'evil.py' is not in the archive"),
    "a local file": (about(config={"claims": "/etc/passwd"}), "its config names a path outside"),
    "records of 512 MiB": (member(RECORDS, LARGE), "it is truncated, or too large"),
    "truncated records": (member(RECORDS, lambda content: content[:-9]), "can't be read"),
    "records behind their end": (member(RECORDS, lambda content: content * 2), "truncated, or t"),
    "a wrong footer": (member(METRICS, footer), f"'{METRICS}' can't be read"),
    "a footer of 4 GB": (member(METRICS, endless), f"'{METRICS}' can't be read"),
    "lists in a table": (table({"x": pa.array([[1.0]])}), "its column 'x' is of the type list"),
    "two columns of a name": (table([[[1], [2]], ["x", "x"]]), "two of one name"),
    "many columns": (table({f"x{k}": [1] for k in range(1001)}), "it has too many columns"),
    "zeros of a gigabyte": (table({f"x{k}": ZEROS for k in range(12)}), "it is too large when"),
    "words of a gigabyte": (table({"x": WORDS}), "it is too large when it is decoded"),
    "a description that pandas can't read": (table({"x": [1]}, {"PANDAS_ATTRS": "["}), "can't be"),
    "other rows than a run's": (table({"x": [1]}), "its runs can't be read"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_archive_ends_in_one_line(good, here, case):
    changed, message = CASES[case]
    content, before, start = changed(good), sorted(Path.cwd().rglob("*")), time.monotonic()
    code, output = ngo(content, "rebuild")
    assert code == 2, output
    assert output.startswith("ngo: archive: 'a.tar' "), output
    assert message in output
    assert output.count("\n") == 1
    assert time.monotonic() - start < 60
    assert {*Path.cwd().rglob("*")} - {*before, Path.cwd() / "a.tar"} == set()
    assert not here


@pytest.mark.parametrize("case", [*CASES][4:40:5])
def test_the_judge_refuses_the_same_archives(good, here, case, capsys):
    Path("a.tar").write_bytes(CASES[case][0](good))
    assert verdicts_main(["verify", "a.tar", "--sample", "0"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("verdicts: archive: 'a.tar' is refused: ")
    assert told.err.count("\n") == 1
    assert "FAIL" not in told.out


def test_the_good_archive_starts_the_repositorys_workflow_and_no_other(good, here):
    for command in (["rebuild"], ["verify", "--sample", "0"]):
        code, output = ngo(good, *command)
        assert code == 0, output
    (command,) = here
    assert command[1:4] == ["-P", "-m", "snakemake"]
    assert command[command.index("--snakefile") + 1] == str(Path("Snakefile").resolve())


@pytest.mark.parametrize("command", [["rebuild"], ["restore"], ["verify", "--sample", "0"]])
def test_a_plugin_does_not_run_unasked(good, here, command):
    members = members_of(about(config={"plugins": ["own/evil.py"]})(good))
    code, output = ngo(tar_of({**members, "own/evil.py": CODE}), *command)
    assert code == 2
    assert "'own/evil.py' (sha256 " in output
    assert "--trust-plugins" in output
    assert not Path("canary").exists()


def test_only_a_regular_file_of_an_allowed_size_is_read(tmp_path):
    with open(tmp_path / "a.tar", "wb") as file:
        file.truncate(2**31)
    with pytest.raises(UserError, match=r"a.tar' has 2,147,483,648 bytes; at most 134,217,728"):
        read_archive(tmp_path / "a.tar")
    refused("'/dev/zero' can't be read: it is not a regular file", read_archive, "/dev/zero")


def test_a_reading_that_takes_too_long_or_ends_its_process_is_refused(good, tmp_path, monkeypatch):
    (tmp_path / "a.tar").write_bytes(good)
    monkeypatch.setattr(limits, "SECONDS", 0.01)
    with pytest.raises(UserError, match=r"a.tar' is refused: it can't be read in 0.01 seconds"):
        read_archive(tmp_path / "a.tar")
    monkeypatch.setattr(limits, "SECONDS", 60)
    (tmp_path / "python").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(limits.sys, "executable", str(tmp_path / "python"))
    refused(r"is refused: it can't be read: it ended the process", read_archive, tmp_path / "a.tar")


def test_the_largest_archive_of_the_project_is_read_with_room():
    content = (REPOSITORY / "results/archive/laptop-metrics.tar").read_bytes()
    members, room = members_of(content), 1.3
    tables = [content for name, content in members.items() if name.endswith(".parquet")]
    sizes = [limits.read_table(content, limits.TABLES) for content in tables]
    assert sum(sizes) * room < limits.TABLES
    assert len(content) * room < limits.ARCHIVE
    assert len(members) * room < limits.MEMBERS
