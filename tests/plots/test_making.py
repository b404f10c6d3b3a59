"""A figure is made from its file: imported, its numbers computed, drawn, printed and saved."""

import pandas as pd
import pytest

from ngo.common.registry import UserError
from ngo.plots.making import Opened

FILE = '''"""The text."""

from ngo import plots
from ngo.plots.declaration import figure


@figure("own", section="1", title="Own", tables=("more",))
def numbers(metrics):
    return {"own": metrics, "more": metrics.head(1)}


def note(numbers, metrics):
    return f"{len(metrics)} rows."


def draw(numbers):
    made = plots.new_figure(2)
    made.subplots().plot(numbers["own"]["x"])
    return made


def show(numbers):
    return numbers["more"].astype(str)


def caption(numbers, **inputs):
    return "First."
'''


@pytest.fixture
def opened(tmp_path):
    (tmp_path / "own.py").write_text(FILE)
    return Opened(tmp_path / "own.py")


def test_each_output_has_its_own_numbers_with_the_tier(opened, tmp_path):
    pd.DataFrame({"x": [1, 2]}).to_parquet(tmp_path / "m.parquet")
    numbers = opened.numbers(metrics=tmp_path / "m.parquet")
    made = opened.save(numbers, "test", tmp_path)
    assert made.picture == tmp_path / "figures/own.png"
    assert pd.read_csv(tmp_path / "figures/own.csv").to_dict("list") == {
        "x": [1, 2],
        "tier": ["test"] * 2,
    }
    assert pd.read_csv(tmp_path / "tables/more.csv").to_dict("list") == {"x": [1], "tier": ["test"]}
    assert (tmp_path / "tables/more.md").read_text().startswith("First. Tier test; no data set.\n")
    assert (tmp_path / "captions/own.rst").read_text() == "The text.\n\nTier test.\n"


@pytest.mark.parametrize(
    ("asked", "raised", "line"),
    [
        ('metrics["V"]', UserError, "own: the runs that it reads have no column 'V'."),
        ('metrics.groupby("x")["V"]', UserError, "own: the runs that it reads have no column 'V'."),
        ('metrics["a_mistake"]', KeyError, "'a_mistake'"),
    ],
)
def test_a_column_of_evaluations_that_runs_lack_is_one_line(tmp_path, asked, raised, line):
    (tmp_path / "own.py").write_text(FILE.replace('"own": metrics,', f'"own": {asked},'))
    pd.DataFrame({"x": [1, 2]}).to_parquet(tmp_path / "m.parquet")
    with pytest.raises(raised) as caught:
        Opened(tmp_path / "own.py").numbers(metrics=tmp_path / "m.parquet")
    assert str(caught.value) == line
