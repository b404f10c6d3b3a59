"""What a table takes when it is decoded, and tables that are refused before that."""

import io
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ngo.pipeline.archives.limits import MIB
from ngo.pipeline.archives.parquet_check import _struct, decoded_bytes


def written(table, **options):
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


def test_attributes_that_pandas_can_not_read_are_refused():
    table = pa.table({"x": [1.0]})
    assert decoded_bytes(written(table.replace_schema_metadata({"PANDAS_ATTRS": '{"a": 1}'})))
    for wrong in ("{", "3", "[1]", "[" * 10**5, b"\xff"):
        with pytest.raises(ValueError, match="."):
            decoded_bytes(written(table.replace_schema_metadata({"PANDAS_ATTRS": wrong})))


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
@pytest.mark.parametrize("pages", ["1.0", "2.0"])
def test_plain_tables_pass_with_their_size(compression, pages):
    frame = pd.DataFrame({"x": np.arange(1000.0), "n": range(1000), "name": ["ring", None] * 500})
    options = {"compression": compression, "data_page_version": pages, "data_page_size": 500}
    content = written(pa.Table.from_pandas(frame), row_group_size=300, **options)
    assert decoded_bytes(content) == 1000 * 3 * 8 + 500 * len("ring")


def test_shipped_kinds_of_pages_pass():
    table = pa.table({"x": np.random.default_rng(0).random(1000)})
    content = written(table, use_dictionary=False, use_byte_stream_split=["x"])
    assert decoded_bytes(content) == 8000


def test_an_unknown_codec_is_refused_and_does_not_end_the_process():
    content = written(pa.table({"x": [1.0, 2.0]}), compression="zstd")
    zstd, unknown = bytes([0x15, 12]), bytes([0x15, 66])  # field 4: codecs 6 and 33
    assert content.count(zstd) == 1
    with pytest.raises(ValueError, match="its columns are compressed in another way"):
        decoded_bytes(content.replace(zstd, unknown))


def test_every_changed_bit_of_a_footer_is_read_or_refused_and_does_not_end_the_process():
    """For some, as a histogram of other levels than the column has, pyarrow's metadata would."""
    table = pa.table({"x": pa.array([0.5, None, 2.5]), "run": ["a", "a", "b"]})
    options = {"compression": "zstd", "use_dictionary": ["run"], "use_byte_stream_split": ["x"]}
    content = written(table, **options)
    size = int.from_bytes(content[-8:-4], "little")
    refused = 0
    for place in range(len(content) - size - 8, len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            try:
                assert decoded_bytes(bytes(changed), MIB) <= MIB
            except ValueError:
                refused += 1
    assert refused > size


def field(number, kind, value):
    """A field of a compact Thrift struct, with its number written out."""
    return bytes([kind]) + integer(number) + integer(value)


def integer(value):
    """A zigzag varint."""
    value, found = 2 * value, []
    while value > 127:
        found.append(128 | value & 127)
        value >>= 7
    return bytes([*found, value])


def test_a_field_that_readers_could_take_for_another_is_refused():
    offset, i64, i32 = 9, 6, 5
    assert _struct(field(offset, i64, 4) + b"\0", 0)[0] == {(offset, i64): 4}
    for other in (field(offset, i64, 8), field(2**16 + offset, i64, 8), field(2**15, i64, 8)):
        with pytest.raises(ValueError, match="a field twice, or one that no reader knows"):
            _struct(field(offset, i64, 4) + other + b"\0", 0)
    assert (offset, i64) not in _struct(field(offset, i32, 4) + b"\0", 0)[0]


def test_a_footer_that_is_too_large_is_refused():
    content = written(pa.table({"x": np.zeros(15_000)}), row_group_size=1)
    with pytest.raises(ValueError, match="its footer is too large"):
        decoded_bytes(content)


def test_few_bytes_that_become_many_are_refused():
    rows = 8_000_000
    runs = written(pa.table({"x": pa.array(np.zeros(rows))}))  # one run length
    assert len(runs) < 0.01 * rows
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**5, np.int32)), ["a" * 10**5])
    texts = written(pa.table({"x": text}).cast(pa.schema({"x": pa.dictionary("int32", "string")})))
    zeros = written(pa.table({"x": np.zeros(5 * 10**6)}), use_dictionary=False, compression="zstd")
    for content in (runs, zeros):
        with pytest.raises(ValueError, match="too large when it is decoded"):
            decoded_bytes(content, 32 * MIB)
    with pytest.raises(ValueError, match=r"too large|is of the type"):
        decoded_bytes(texts, 32 * MIB)
    plain = written(pa.table({"x": pa.array(["a" * 10**5] * 2000)}))
    assert len(plain) < MIB
    with pytest.raises(ValueError, match="too large when it is decoded"):
        decoded_bytes(plain, 32 * MIB)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": pa.array([[1.0]])}),
        pa.table({"x": pa.array([{"a": 1}])}),
        pa.table({"x": pa.array([b"a"])}),
        pa.table({"x": pa.array([0], pa.timestamp("s"))}),
        pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]),
        pa.table({f"x{k}": [1] for k in range(1001)}),
    ],
)
def test_other_columns_are_refused(table):
    with pytest.raises(ValueError, match="column"):
        decoded_bytes(written(table))


def test_other_encodings_and_codecs_are_refused():
    table = pa.table({"x": ["a" * k for k in range(100)]})
    content = written(table, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})
    with pytest.raises(ValueError, match="another encoding"):
        decoded_bytes(content)
    with pytest.raises(ValueError, match="compressed in another way"):
        decoded_bytes(written(table, compression="gzip"))


def test_pandas_own_description_can_not_fool_pandas():
    table = pa.table({"x": [1]}).replace_schema_metadata({"pandas": '{"index_columns": [["x"]]}'})
    with pytest.raises(ValueError, match=r"."):
        decoded_bytes(written(table))


def test_a_changed_byte_is_read_or_refused_and_nothing_else():
    frame = pd.DataFrame({"x": np.arange(50.0), "name": ["ring", "star"] * 25})
    content = written(pa.Table.from_pandas(frame))
    draw = random.Random(0)
    refused = 0
    for _ in range(300):
        changed = bytearray(content)
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        try:
            assert decoded_bytes(bytes(changed), MIB) <= MIB
        except ValueError:
            refused += 1
    assert refused > 30
