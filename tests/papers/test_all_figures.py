"""What holds of every file in papers/*/figures."""

import made_up
import made_up_graphs
import pandas as pd
import pytest
from conftest import REPOSITORY
from figure_files import check, drawn, made, opened
from often_evaluated import often

from ngo.common.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

SOURCES = sorted(REPOSITORY.glob("papers/*/figures/*.py"))

TABLE = '''"""What {paper} shows.

*Look at* the end.
"""

from ngo.figures.declaration import table


@table("fig1", section="1", title="Table of {paper}")
def numbers(metrics):
    return metrics[["{column}"]]


def show(numbers):
    return numbers.astype(str)


def caption(numbers, metrics):
    return "All values."
'''

# Runs, and the further inputs of the numbers, of the NGO paper's figures of training.
FIGURES = {
    "delay": (made_up_graphs.delays, (made_up_graphs.tuned_delays(),)),
    "fig1": (made_up.thresholds, ()),
    "fig4": (made_up.exponents, ()),
    "fig5": (made_up.random_graphs, ()),
    "fig6": (made_up.periods, ()),
    "fig7": (made_up.sizes, ()),
    "fig8": (made_up.rates, (often(),)),
    "figS3": (made_up_graphs.graphs_of_sizes, (0.3,)),
    "figS4": (made_up.levels, ()),
    "figS6": (made_up.sines, (made_up.sine_fits(),)),
}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_file_has_its_name_a_text_and_the_functions_of_its_kind(source):
    check(source)


def test_two_papers_may_have_figures_of_one_name(tmp_path, monkeypatch):
    """A name belongs to a paper: each file is opened, and made, as its own paper's."""
    monkeypatch.chdir(tmp_path)
    runs = made_up.exponents()
    for paper, column in (("ngo", "V"), ("own", "consensus_loss")):
        folder = tmp_path / "papers" / paper / "figures"
        folder.mkdir(parents=True)
        (folder / "fig1.py").write_text(TABLE.format(paper=paper, column=column))
        check(folder / "fig1.py")
    made("fig1", tmp_path / "1", metrics=runs)
    made("own/fig1", tmp_path / "2", metrics=runs)
    assert opened("fig1").facts.title == "Table of ngo"
    assert opened("own/fig1").facts.title == "Table of own"
    assert list(pd.read_csv(tmp_path / "1/tables/fig1.csv")) == ["V", "tier"]
    assert list(pd.read_csv(tmp_path / "2/tables/fig1.csv")) == ["consensus_loss", "tier"]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("lost", [lambda seed: seed == 1, lambda seed: True], ids=["one", "all"])
def test_every_figure_is_drawn_whatever_diverges(name, lost):
    runs, more = FIGURES[name]
    figure, shown = drawn(name, runs(lost), *more)
    words = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "diverged" in words
    for axis in figure.axes:
        assert axis.get_title() or not axis.axison
        shared = axis.get_shared_y_axes().get_siblings(axis)
        assert any(one.get_ylabel() for one in shared) or not axis.axison
    figure.canvas.draw()
    assert len(shown)


@pytest.mark.parametrize("name", FIGURES)
def test_one_seed_makes_a_figure_without_intervals(name):
    runs, more = FIGURES[name]
    more = [each.query("seed == 0") if isinstance(each, pd.DataFrame) else each for each in more]
    figure, shown = drawn(name, runs().query("seed == 0"), *more)
    figure.canvas.draw()
    assert "low" not in shown or shown["low"].isna().all()


@pytest.mark.parametrize("name", FIGURES)
def test_runs_that_a_figure_cannot_tell_apart_are_no_seeds(name):
    runs, more = FIGURES[name]
    once = runs().assign(lr=0.1)
    again = once.assign(lr=0.2, run=once["run"] + "-lr0.2")
    by = ", ".join(opened(name).facts.apart)
    message = (
        rf"distinguished here by {by} and seed alone, but there are (\S+), \1-lr0.2; put runs that"
    )
    with pytest.raises(UserError, match=message):
        drawn(name, pd.concat([once, again]), *more)
