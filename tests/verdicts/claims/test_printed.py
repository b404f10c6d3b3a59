"""Numbers that are printed elsewhere, read from CSV files."""

import pytest

from verdicts.claims.resolved import PrintedNumbers
from verdicts.registry import UserError

TABLE = "data,graph,accuracy,note\nmnist,,97.5,\nmnist,ring,96.4,0.95\nmnist,grid,about 90,\n"


@pytest.fixture
def printed(tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "empty.csv").write_text("data\n")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe,\n\xff,1\n")
    (tmp_path / "dots.csv").write_text("accuracy\n1.2.3\n")
    (tmp_path / "wide.csv").write_text("accuracy\n1,2\n")
    return PrintedNumbers(tmp_path)


def entry(file="table.csv", column="accuracy", **where):
    return {"file": file, "column": column, "where": where}


def test_a_number_is_that_of_its_row(printed, tmp_path):
    assert printed.number("k", entry(graph="ring")) == 96.4
    assert printed.number("k", entry(data="mnist", graph=None)) == 97.5  # an empty cell
    assert printed.number("k", entry(note=0.95)) == 96.4
    assert list(printed.files) == [tmp_path / "table.csv"]


def test_claims_and_cells_get_their_numbers(printed):
    claim = {"paper": entry(graph="ring"), "cells": {"a": {"p": 1, "paper": entry(graph=None)}}}
    found = printed.numbers("claims.a", claim)
    assert found == {"paper": 96.4, "cells": {"a": {"p": 1, "paper": 97.5}}}
    assert printed.numbers("claims.a", {"paper": 3}) == {"paper": 3}
    assert printed.numbers("claims.a", 3) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"file": "table.csv"},
            "k: {'file': 'table.csv'} is not allowed; give a number, or file, c",
        ),
        (entry("../table.csv"), "k.file: '../table.csv' is not allowed; name a .csv file"),
        (entry("tabel.csv"), "tabel.csv' does not exist"),
        (entry("empty.csv"), "k.file: 'empty.csv' has no rows"),
        (entry("bytes.csv"), "k.file: 'bytes.csv' can't be read: "),
        (entry(column="acuracy"), "k: 'acuracy' is unknown; allowed: accuracy, data, graph, note."),
        (entry(data="mnist"), "k: 3 rows of 'table.csv' have {'data': 'mnist'}; one must"),
        (entry(graph="grid"), "k: 'about 90' in 'table.csv' is not a number"),
        (entry("wide.csv"), "k.file: 'wide.csv' has a row with more values than columns"),
    ],
)
def test_mistakes_are_named_in_one_line(printed, wrong, said):
    with pytest.raises(UserError) as error:
        printed.number("k", wrong)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
