"""What holds of the notebooks of figures and tables."""

import json
from pathlib import Path

import made_up
import pandas as pd
import pytest
from cases import cases, refused
from conftest import REPOSITORY
from figure_files import drawn, made
from shipped_plans import tiers

from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

BOOKS = sorted(REPOSITORY.glob("notebooks/*.ipynb"))
BOOKS += sorted(REPOSITORY.glob("papers/*/notebooks/*.ipynb"))

# Runs, and the further inputs of the numbers, of the NGO paper's figures of training.
FIGURES = {
    "delay": (made_up.delays, (made_up.tuned_delays(),)),
    "fig1": (made_up.thresholds, ()),
    "fig4": (made_up.exponents, ()),
    "fig5": (made_up.random_graphs, ()),
    "fig6": (made_up.periods, ()),
    "fig7": (made_up.sizes, ()),
    "fig8": (made_up.rates, (made_up.often(),)),
    "gamma_or_p": (made_up.pulls, ()),
    "figS3": (made_up.graphs_of_sizes, (0.3,)),
    "figS4": (made_up.levels, ()),
    "figS6": (made_up.sines, (made_up.sine_fits(),)),
}


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_a_text_parameters_no_outputs_and_saves_at_its_end(path):
    book = json.loads(path.read_text())
    text, parameters, *_, last = book["cells"]
    paragraphs = "".join(text["source"]).split("\n\n")
    assert paragraphs[0].startswith("# ")
    assert len(paragraphs) >= 3  # what it shows; what the paper says, or the question
    assert parameters["metadata"]["tags"] == ["parameters"]
    assert "plots.save(" in "".join(last["source"])
    assert not any(cell.get("outputs") for cell in book["cells"])


def test_every_notebook_is_a_figure_of_a_config_and_takes_what_that_gives():
    """But for those that all papers share."""
    used = {REPOSITORY / "notebooks/experiment.ipynb"}
    for configs in tiers():
        folder = Path(configs[-1]).parent
        if folder.name != "config" and not (REPOSITORY / folder / "notebooks").is_dir():
            continue
        planned = plan(read_config(configs))
        for name, entry in planned.artefacts.items():
            book = json.loads(entry.notebook.read_text())
            actual: dict = {}
            exec("".join(book["cells"][1]["source"]), actual)
            actual.pop("__builtins__")
            assert set(actual) == set(planned.parameters(name)), name
            used.add(entry.notebook.resolve())
    assert used == set(BOOKS)


LOST = {"one": lambda seed: seed == 1, "all": lambda seed: True}


@pytest.mark.parametrize("lost", [pytest.param("one", marks=pytest.mark.slow), "all"])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_whatever_diverges(name, lost):
    runs, more = FIGURES[name]
    figure, shown = drawn(name, runs(LOST[lost]), *more)
    assert "×" in " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    for axis in figure.axes:
        assert axis.get_title() or not axis.axison
        shared = axis.get_shared_y_axes().get_siblings(axis)
        assert any(one.get_ylabel() for one in shared) or not axis.axison
    figure.canvas.draw()
    assert len(shown)


@pytest.mark.parametrize("name", ["fig4", "fig8", "figS3"])
def test_one_seed_makes_a_figure_without_intervals(name):
    runs, more = FIGURES[name]
    more = [x.query("seed == 0") if isinstance(x, pd.DataFrame) else x for x in more]
    figure, shown = drawn(name, runs().query("seed == 0"), *more)
    figure.canvas.draw()
    assert "low" not in shown or shown["low"].isna().all()


def test_a_figure_is_made_from_files_in_the_same_bytes_each_time(tmp_path):
    inputs, content = {"metrics": made_up.sines(), "samples": made_up.sine_fits()}, []
    for _ in range(2):
        output = made("figS6", tmp_path / "own", **inputs)
        assert output.picture == tmp_path / "own/figures/figS6.png"
        files = [tmp_path / f"own/figures/figS6.{kind}" for kind in ("csv", "pdf", "png")]
        content.append([file.read_bytes() for file in files])
    assert content[0] == content[1]
    assert set(pd.read_csv(tmp_path / "own/figures/figS6.csv")["tier"]) == {"own"}


@cases(
    "name, reference, last",
    ("table1", made_up.TABLE1, "data: MNIST; 3 seeds."),
    ("tableA2", made_up.TABLE_A2, "MNIST, in place of the paper's CIFAR-10; 3 seeds."),
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
    apart = read_config([REPOSITORY / "config/config.yaml"])["figures"][name]["apart"]
    once = runs().assign(lr=0.1)
    both = pd.concat([once, once.assign(lr=0.2, run=once["run"] + "-lr0.2")])
    known = f"distinguished here by {', '.join(apart)} and seed alone"
    refused(rf"{known}, but there are (\S+), \1-lr0.2; put runs that", drawn, name, both, *more)
