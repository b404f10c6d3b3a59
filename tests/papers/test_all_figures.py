"""What holds of every file in papers/*/figures."""

import inspect

import made_up
import made_up_graphs
import pandas as pd
import pytest
from conftest import REPOSITORY
from figure_files import drawn, opened
from often_evaluated import often

from ngo.common.registry import UserError
from ngo.figures.declaration import read_declared

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

SOURCES = sorted(REPOSITORY.glob("papers/*/figures/*.py"))

# Runs, and the further inputs of the numbers, of figures of training.
FIGURES = {
    "delay": (made_up_graphs.delays, ()),
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


def test_names_are_unique_and_those_of_the_files():
    names = [read_declared(source).name for source in SOURCES]
    assert names == [source.stem for source in SOURCES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_file_has_a_text_and_the_functions_of_its_kind(source):
    facts = read_declared(source)
    paragraphs = facts.text.split("\n\n")
    assert len(paragraphs) >= 2  # what it shows; what the paper says, or the question
    assert all(paragraph.strip() for paragraph in paragraphs)
    module = opened(facts.name).module
    inputs = set(inspect.signature(module.numbers).parameters)
    assert inputs >= {*facts.reads, *facts.values}
    assert hasattr(module, "draw") == bool(facts.figures)
    for name in ("show", "caption"):
        assert hasattr(module, name) == bool(facts.tables)
    for name in ("note", "caption"):
        if hasattr(module, name):
            given = dict.fromkeys(inputs)
            inspect.signature(getattr(module, name)).bind(None, **given)  # takes all inputs


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
