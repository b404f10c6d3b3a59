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

from ngo.plots.declaration import table


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


LOST = {"one": lambda seed: seed == 1, "all": lambda seed: True}


@pytest.mark.parametrize("lost", [pytest.param("one", marks=pytest.mark.slow), "all"])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_whatever_diverges(name, lost):
    runs, more = FIGURES[name]
    figure, shown = drawn(name, runs(LOST[lost]), *more)
    words = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "diverged" in words
    for axis in figure.axes:
        assert axis.get_title() or not axis.axison
        shared = axis.get_shared_y_axes().get_siblings(axis)
        assert any(one.get_ylabel() for one in shared) or not axis.axison
    figure.canvas.draw()
    assert len(shown)


@pytest.mark.parametrize("name", ["fig4", "fig8", "figS3"])
def test_one_seed_makes_a_figure_without_intervals(name):
    runs, more = FIGURES[name]
    more = [each.query("seed == 0") if isinstance(each, pd.DataFrame) else each for each in more]
    figure, shown = drawn(name, runs().query("seed == 0"), *more)
    figure.canvas.draw()
    assert "low" not in shown or shown["low"].isna().all()


def test_a_figure_is_made_from_files_in_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        output = made(
            "figS6", tmp_path / name, metrics=made_up.sines(), samples=made_up.sine_fits()
        )
        assert output.picture == tmp_path / name / "figures/figS6.png"
    for kind in ("csv", "pdf", "png"):
        first, second = (tmp_path / name / f"figures/figS6.{kind}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
    assert set(pd.read_csv(tmp_path / "a/figures/figS6.csv")["tier"]) == {"test"}


@pytest.mark.parametrize(
    ("name", "reference", "last"),
    [
        ("table1", made_up.TABLE1, "data: mnist; 3 seeds."),
        ("tableA2", made_up.TABLE_A2, "mnist, in place of the paper's cifar10; 3 seeds."),
    ],
)
def test_a_table_is_saved_in_four_forms(name, reference, last, tmp_path):
    rows = made_up.cell("ring", "gossip", [0.3, 0.4, 0.5])
    rows += made_up.cell("ring", "ngo", [0.5, 0.6, 0.71])
    (printed,) = made(name, tmp_path, metrics=pd.DataFrame(rows), reference=reference).tables
    assert list(printed["Method"].unique()) == ["gossip", "ngo"]
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    assert files == {f"{name}.{kind}" for kind in ("csv", "md", "tex", "html")}
    assert (tmp_path / f"tables/{name}.md").read_text().partition("\n")[0].endswith(last)


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
