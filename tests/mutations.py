"""Archives of a forger: a good one, changed at random, with sums that fit.

Each kind of change takes the members of the good archive and a random generator, and returns the
bytes of an archive.
"""

import contextlib
import io
import json
import lzma
import random
import tarfile
from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import yaml
from pyarrow import parquet

from ngo.pipeline.archives.archive import Members, sha256, tar_of
from ngo.pipeline.archives.crate import CRATE
from ngo.pipeline.archives.members import ABOUT
from ngo.pipeline.archives.packed_runs import METRICS, RECORDS

KINDS: dict[str, Callable[[Members, random.Random], bytes]] = {}

#: What code in an archive would do: the file of this name is then in the working directory.
CANARY = "canary"

#: Where forged code and forged results have been, or could be.
NAMES = (
    "ipykernel_launcher.py", "pandas.py", "tabulate.py", "sitecustomize.py", "usercustomize.py",
    "ngo/__init__.py", "own/evil.py", "Snakefile", "workflow/rules/common.smk", "own/pandas.py",
    "workflow/Snakefile", "profiles/default/config.yaml", ".snakemake/metadata/a", ".env",
    "matplotlibrc", "ipython_config.py", "jupyter_config.json", "a.pth", "notebooks/claims.ipynb",
    "results/test/tables/claims.html", "results/test/tables/claims.csv", "results/test/report.html",
    "results/test/figures/fig1.png", "results/runs/a/run.json", "logs/a.log", "../outside.py",
    "/tmp/outside.py", "config/CONFIG.yaml", "config", "results/data/digits.json/a.json", "a\0b.py",
    "workflow/report/claims.rst", "results/test/metrics/other.parquet", "carried.json", "a" * 99,
)  # fmt: skip

HOSTILE = (
    None, True, 0, -1, 10**23, 1.5, "", "a\0b", "../..", "/etc/passwd", "own/evil.py", "{run}",
    "$(touch canary)", "<script>x()</script>", "ü" * 50, [], {}, ["a", "a"], [[]], {"a": {"b": []}},
    ["all", "--snakefile=https://example.org/Snakefile", "--allowed-rules", "all"], "\ud800",
    ["own/evil.py"], "--snakefile=own/evil.py", "x" * 5000, "__import__('os')", "!!python/name:os",
)  # fmt: skip


def kind(change: Callable[[Members, random.Random], bytes]) -> Callable:
    """Register a kind of change."""
    KINDS[change.__name__] = change
    return change


def mutated(members: Members, seed: int) -> tuple[str, bytes]:
    """The kind and the bytes of a changed archive, by its seed."""
    draw = random.Random(seed)
    name = draw.choice(sorted(KINDS))
    return name, KINDS[name](dict(members), draw)


def packed(members: Members, *, provenance: bool) -> bytes:
    """The archive of ``members`` with sums that fit, those in its ``provenance`` too."""
    if provenance and CRATE in members:
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            described = json.loads(members[CRATE])
            for entity in described["@graph"]:
                if entity["@id"] in members and "sha256" in entity:
                    entity["sha256"] = sha256(members[entity["@id"]])
            members = {**members, CRATE: json.dumps(described).encode()}
    return tar_of(members)


#: Python that leaves the canary.
CODE = f"open({CANARY!r}, 'w').close()\n".encode()


def flipped(content: bytes, draw: random.Random, times: int = 1) -> bytes:
    """``content`` with some bits flipped."""
    changed = bytearray(content)
    for _ in range(times if content else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def replaced(value: object, draw: random.Random) -> object:
    """JSON with one value, somewhere in it, replaced by a hostile one."""
    if isinstance(value, dict | list) and value and draw.random() < 0.8:
        changed = value.copy()
        key = draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
        if draw.random() < 0.1:
            del changed[key]
        else:
            changed[key] = replaced(value[key], draw)
        return changed
    return draw.choice(HOSTILE)


@kind
def bits(members: Members, draw: random.Random) -> bytes:
    """Bits of the file, without sums that fit."""
    return flipped(tar_of(members), draw, draw.randrange(1, 4))


@kind
def truncated(members: Members, draw: random.Random) -> bytes:
    """A part of the file, or the file with something behind it."""
    content = tar_of(members)
    return content[: draw.randrange(len(content))] + bytes(draw.choice((0, 0, 512, 10**5)))


@kind
def headers(members: Members, draw: random.Random) -> bytes:
    """Fields of tar headers: types, sizes and names, with checksums of the headers that fit."""
    file = io.BytesIO()
    chosen = draw.choice(sorted(members))
    with tarfile.open(fileobj=file, mode="w", format=draw.choice((0, 1, 2))) as archive:
        for name, content in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if name == chosen:
                entry.type = draw.choice(b"01234567LKSxgA\0").to_bytes()
                entry.linkname = draw.choice(("", "/etc/passwd", "../a", "config"))
                entry.pax_headers = draw.choice(
                    ({}, {"size": "9" * 23}, {"GNU.sparse.size": "8589934592"}, {"path": "/a"})
                )
                entry.name = draw.choice((name, f"{name}/", f"/{name}", "a" * 90, name.upper()))
            archive.addfile(entry, io.BytesIO(content))
    changed = bytearray(file.getvalue())
    if draw.random() < 0.5:
        block = 512 * draw.randrange(len(changed) // 512)
        size = draw.choice(
            (b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-1         \0")
        )
        changed[block + 124 : block + 136] = size
        total = sum(changed[block : block + 148]) + 256 + sum(changed[block + 156 : block + 512])
        changed[block + 148 : block + 156] = b"%06o\0 " % total
    return bytes(changed)


@kind
def added(members: Members, draw: random.Random) -> bytes:
    """One or two more members, of names that nothing in an archive should have."""
    for name in draw.sample(NAMES, draw.randrange(1, 3)):
        members[name] = draw.choice((CODE, b"", b"{}", b"<script>x()</script>"))
    return packed(members, provenance=draw.random() < 0.5)


@kind
def removed(members: Members, draw: random.Random) -> bytes:
    """Some members less."""
    for name in draw.sample(sorted(members), draw.randrange(1, 4)):
        del members[name]
    return packed(members, provenance=draw.random() < 0.5)


@kind
def many(members: Members, draw: random.Random) -> bytes:
    """Thousands of members."""
    more = {f"config/reference/{k}.csv": b"" for k in range(draw.choice((900, 1100, 3000)))}
    return packed({**members, **more}, provenance=False)


@kind
def described(members: Members, draw: random.Random) -> bytes:
    """Values of the description, of which the config is a part."""
    about = replaced(json.loads(members[ABOUT]), draw)
    members[ABOUT] = json.dumps(about).encode()
    return packed(members, provenance=draw.random() < 0.5)


@kind
def nested(members: Members, draw: random.Random) -> bytes:
    """JSON that is deep, long or no JSON."""
    name = draw.choice((ABOUT, CRATE, "results/data/digits.json"))
    members[name] = draw.choice(
        (b"[" * 10**5, b'{"a":' * 10**4, b"9" * 10**5, b"NaN", b"\xff", b"{}", b'{"@graph": [1]}')
    )
    return packed(members, provenance=draw.random() < 0.5)


@kind
def configured(members: Members, draw: random.Random) -> bytes:
    """Values of the config, the same in its file and in the description."""
    config = yaml.safe_load(members["config/config.yaml"])
    hostile = replaced(config, draw)
    if draw.random() < 0.4:
        named = draw.choice(("own/evil.py", "evil.py", "/tmp/evil.py", "./own/../evil.py"))
        hostile = {**config, "plugins": [named]}
        if draw.random() < 0.7:
            members[named] = CODE
    about = {**json.loads(members[ABOUT]), "config": hostile}
    if isinstance(hostile, dict):
        about["tier"] = hostile.get("tier", "test")
    members[ABOUT] = json.dumps(about).encode()
    with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError):
        members["config/config.yaml"] = yaml.safe_dump(hostile).encode()
    return packed(members, provenance=draw.random() < 0.5)


@kind
def recorded(members: Members, draw: random.Random) -> bytes:
    """Values of the records of runs."""
    lines = lzma.decompress(members[RECORDS]).decode().splitlines()
    k = draw.randrange(len(lines))
    lines[k] = json.dumps(replaced(json.loads(lines[k]), draw))
    members[RECORDS] = lzma.compress("\n".join([*lines, ""]).encode(), preset=0)
    return packed(members, provenance=draw.random() < 0.5)


@kind
def text(members: Members, draw: random.Random) -> bytes:
    """Bits of the members that are text, or of compressed ones."""
    name = draw.choice([*(n for n in sorted(members) if n.startswith(("own/", "config"))), RECORDS])
    members[name] = flipped(members[name], draw, draw.randrange(1, 5))
    return packed(members, provenance=draw.random() < 0.5)


@kind
def tables(members: Members, draw: random.Random) -> bytes:
    """Bits of the table of metrics."""
    members[METRICS] = flipped(members[METRICS], draw, draw.randrange(1, 4))
    return packed(members, provenance=draw.random() < 0.5)


@kind
def numbers(members: Members, draw: random.Random) -> bytes:
    """A number or a text in the table of metrics."""
    table = parquet.read_table(io.BytesIO(members[METRICS]))
    column = draw.choice(table.column_names)
    values = table[column].to_pylist()
    row = draw.randrange(len(values))
    other = draw.choice((None, -1, 0, 1e9)) if not isinstance(values[row], str) else None
    values[row] = other if other is not None else draw.choice((None, "<script>", "ngo", values[0]))
    with contextlib.suppress(pa.ArrowException, TypeError):
        changed = pa.array(values, table.schema.field(column).type, from_pandas=False)
        table = table.set_column(table.column_names.index(column), column, changed)
    file = io.BytesIO()
    parquet.write_table(table, file)
    members[METRICS] = file.getvalue()
    return packed(members, provenance=draw.random() < 0.5)


@kind
def bombs(members: Members, draw: random.Random) -> bytes:
    """A few bytes that become gigabytes when they are decoded."""
    name = draw.choice((METRICS, RECORDS))
    members[name] = _zeros_in_xz() if name == RECORDS else _zeros_in_parquet(draw.choice((12, 40)))
    return packed(members, provenance=False)


@cache
def _zeros_in_xz() -> bytes:
    """512 MiB in 80 kB."""
    packer = lzma.LZMACompressor(preset=0)
    return b"".join([*(packer.compress(bytes(2**24)) for _ in range(32)), packer.flush()])


@cache
def _zeros_in_parquet(columns: int) -> bytes:
    """80 MB in each column."""
    zeros, file = np.zeros(10**7, np.int64), io.BytesIO()
    parquet.write_table(pa.table({f"x{k}": zeros for k in range(columns)}), file)
    return file.getvalue()
