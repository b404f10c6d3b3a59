"""Every artefact is one call that leaves its files."""

import json
from pathlib import Path

import made_up
import made_up_graphs
import pandas as pd
import pytest
from ngo.pipeline.artefacts import ARTEFACTS
from often_evaluated import often

from ngo.common.registry import UserError
from ngo.figures.scaling_panels import draw_scaling
from ngo.report.artefacts import delay, fig1, fig4, fig5, fig6, fig8, figS3, figS4, figS6

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

FIGURES = {
    "delay": (delay.draw, made_up_graphs.delays),
    "fig1": (fig1.draw, made_up.thresholds),
    "fig4": (fig4.draw, made_up.exponents),
    "fig5": (fig5.draw, made_up.random_graphs),
    "fig6": (fig6.draw, made_up.periods),
    "fig7": (draw_scaling, made_up.sizes),
    "fig8": (lambda runs: fig8.draw(runs, often()), made_up.rates),
    "figS3": (lambda runs: figS3.draw(runs, 0.3), made_up_graphs.graphs_of_sizes),
    "figS4": (figS4.draw, made_up.levels),
    "figS6": (lambda runs: figS6.draw(runs, made_up.sine_fits()), made_up.sines),
}


@pytest.mark.parametrize("name", ARTEFACTS)
def test_a_notebook_is_one_call_with_its_parameters(name):
    notebook = json.loads(Path(f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))
    title, given, call = notebook["cells"]
    assert title["cell_type"] == "markdown"
    names = [line.partition(" = ")[0] for line in given["source"] if line[0].isalpha()]
    arguments = ",".join(f"{name}={name}" for name in names)
    code = "".join(call["source"]).replace(",\n)", ")")  # a long call is wrapped
    assert "".join(code.split()) == (
        f"fromngo.report.artefactsimport{name}{name}.make({arguments})"
    )


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("lost", [lambda seed: seed == 1, lambda seed: True], ids=["one", "all"])
def test_every_figure_is_drawn_whatever_diverges(name, lost):
    draw, runs = FIGURES[name]
    figure, shown = draw(runs(lost))
    words = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "diverged" in words
    for axis in figure.axes:
        assert axis.get_title() or not axis.axison
        shared = axis.get_shared_y_axes().get_siblings(axis)
        assert any(one.get_ylabel() for one in shared) or not axis.axison
    figure.canvas.draw()
    assert len(shown)


ONE_SEED = {
    "fig8": (lambda runs: fig8.draw(runs, often().query("seed == 0")), made_up.rates),
}


@pytest.mark.parametrize("name", FIGURES)
def test_one_seed_makes_a_figure_without_intervals(name):
    draw, runs = ONE_SEED.get(name, FIGURES[name])
    figure, shown = draw(runs().query("seed == 0"))
    figure.canvas.draw()
    assert "low" not in shown or shown["low"].isna().all()


@pytest.mark.parametrize("name", FIGURES)
def test_runs_that_a_figure_cannot_tell_apart_are_no_seeds(name):
    draw, runs = FIGURES[name]
    once = runs().assign(lr=0.1)
    again = once.assign(lr=0.2, run=once["run"] + "-lr0.2")
    by = ", ".join(ARTEFACTS[name].apart)
    message = rf"apart here by {by} and seed alone, but there are (\S+), \1-lr0.2; give runs that"
    with pytest.raises(UserError, match=message):
        draw(pd.concat([once, again]))
