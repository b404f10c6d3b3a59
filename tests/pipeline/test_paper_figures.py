"""A paper is a folder, with its figures, each a notebook that is executed."""

import nbformat
import pytest
import yaml
from cases import refused
from conftest import REPOSITORY
from figure_files import write_book
from runs import run_in
from shipped_plans import plan_of

from ngo.common import plugins
from ngo.pipeline.config import read_config
from ngo.pipeline.notebooks import execute
from ngo.pipeline.paths import NGO
from ngo.training.tidy import aggregate, write_tidy
from verdicts.registry import UserError

PAPER = {"name": "own", "title": "Own", "authors": "A", "address": "", "claim": "All holds."}
SHORT = {"dataset": "digits", "partition": "iid", "workers": 4, "epochs": 0.2, "batch_size": 8}
NAMES = ["first", "second"]
ONE = {"settings": ["short"], "compare": [{"method": "ngo", "topology": "ring"}]}
TABLE = {"section": "1", "reads": "first", "figure": False, "tables": ["shown"]}
OVERLAY = {"paper": PAPER, "tier": "own", "claims": "papers/own/claims.yaml", "seeds": [0]}
OVERLAY |= {"only": NAMES, "settings": {"short": SHORT}, "training": dict.fromkeys(NAMES, ONE)}
OVERLAY["figures"] = {"shown": {**TABLE, "values": {"least": [0, 1]}}}
OVERLAY["artefacts"] = {"shown": {"least": 0.5}}
CLAIMS = {
    "a": {"place": "1", "says": "It learns", "kind": "order", "from": "first", "shows": "shown",
          "quantity": "level", "above": 0},
}  # fmt: skip
CELLS = (
    "from ngo import plots\n"
    "metrics = plots.tidy(metrics)\n"
    "numbers = metrics[['epoch', 'consensus_accuracy']].assign(least=least)",
    "caption, printed = 'Accuracy by epoch.', numbers.round(2).astype(str)\n"
    "made = {'printed': printed, 'caption': caption, 'runs': metrics}\n"
    "plots.save('shown', numbers, **made, out=out)",
)
MYEXP = {"settings": ["small"], "compare": [{"method": ["dsgd", "ngo"]}]}
MINE = {"tier": "mine", "only": ["myexp"], "settings": {"small": SHORT}}
MINE["training"] = {"myexp": MYEXP}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A paper in a folder of the user's, who works in another folder than the repository."""
    folder = tmp_path / "papers/own"
    given = "metrics = 'first.parquet'\nleast = 0.1\nout = 'results/own'"
    text = "# A table\n\nWhether it learns."
    write_book(folder / "notebooks/shown.ipynb", *CELLS, parameters=given, text=text)
    (folder / "config.yaml").write_text(yaml.safe_dump(OVERLAY))
    (folder / "claims.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    monkeypatch.chdir(tmp_path)
    return folder


def configs(folder):
    return [REPOSITORY / "config/config.yaml", folder / "config.yaml"]


def test_a_new_paper_is_a_new_folder(own, tmp_path):
    """It is planned, and its figures are made; no file of the package is for it."""
    planned = plan_of(read_config(configs(own)))
    assert list(planned.artefacts) == ["shown", "second", "claims"]
    assert planned.artefacts["second"].of_experiment
    assert planned.artefacts["shown"].notebook.as_posix() == "papers/own/notebooks/shown.ipynb"
    assert [claim.shows for claim in planned.ledger.claims.values()] == ["shown"]
    for name in NAMES:
        for spec in planned.training[name]:
            run_in(spec, tmp_path / "results/runs" / spec.id, overwrite=True)
        (tmp_path / "results/own/metrics").mkdir(exist_ok=True, parents=True)
        runs = [f"results/runs/{spec.id}/metrics.parquet" for spec in planned.training[name]]
        write_tidy(aggregate(runs), f"results/own/metrics/{name}.parquet")
    for name, entry in planned.artefacts.items():
        execute(entry.notebook, tmp_path / f"{name}.ipynb", planned.notebook_flags(name)[1::2])
        for path in entry.outputs():
            assert (tmp_path / "results/own" / path).stat().st_size > 0
    shown = (tmp_path / "results/own/tables/shown.md").read_text()
    assert "Accuracy by epoch. Tier own; data: digits" in shown


def test_a_name_without_a_folder_and_a_figure_without_a_notebook_are_one_line(own):
    config = read_config(configs(own))
    config["paper"] = {**PAPER, "name": "ow"}
    names = ", ".join(sorted(["ngo", "own", *(path.name for path in REPOSITORY.glob("papers/*"))]))
    message = rf"^paper.name: 'ow' is unknown; allowed: {names}. Did you mean 'own'\?$"
    refused(message, plan_of, config)
    (own / "notebooks/shown.ipynb").unlink()
    message = r"^figures.shown: there is no .*; examples/figure.ipynb is"
    with pytest.raises(UserError, match=message):
        plan_of(read_config(configs(own))).artefacts  # noqa: B018


def test_a_config_without_the_section_has_the_figures_of_its_paper(own):
    """As archives have it that were packed before configs had one."""
    config = read_config([REPOSITORY / "config/config.yaml"])
    del config["figures"]
    assert "fig4" in plan_of(config).artefacts


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The plan of a study of a user's own, in a clone of the repository."""
    monkeypatch.chdir(REPOSITORY)

    def planned(**more):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({**MINE, **more}))
        return plan_of(read_config(["config/config.yaml", path]))

    return planned


def test_a_users_own_study_has_nothing_of_the_ngo_paper_unless_it_makes_its_tables(mine):
    paper = mine().paper
    assert (paper["name"], paper["title"]) == ("", "mine")
    assert not paper["authors"] + paper["address"] + paper["claim"]
    paper = mine(paper={"title": "Rings of mine", "authors": "Me"}).paper
    assert (paper["title"], paper["authors"], paper["address"]) == ("Rings of mine", "Me", "")
    planned = mine()
    assert planned.findings is None
    assert planned.ledger.claims == {}
    stated = mine(claims="mine-claims.yaml")
    assert (stated.claims, stated.findings) == ("mine-claims.yaml", None)
    both = mine(claims="mine-claims.yaml", only=["myexp", "tableS1"])
    assert both.paper["name"] == NGO  # it makes a table of the paper
    assert both.findings is None
    planned = mine(only=["myexp", "tableS1"])
    assert planned.paper["title"].startswith("Finite-Time Consensus Learning")
    assert planned.claims == "config/reference/claims.yaml"
    assert planned.findings == "config/reference/findings.yaml"


PLUGIN = """
import ngo

@ngo.topology("own_graph")
def own_graph(n):
    return [(0, 1)]
"""


def printed(folder, *cells):
    """What the last cell of an executed notebook prints."""
    execute(write_book(folder / "a.ipynb", *cells), folder / "out.ipynb", [])
    return nbformat.read(folder / "out.ipynb", 4).cells[-1].outputs[0].text


@pytest.mark.usefixtures("own_entries")
def test_the_kernel_has_the_plugins_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "own_graph_plugin.py").write_text(PLUGIN)
    plugins.load([tmp_path / "own_graph_plugin.py"])
    cell = "from ngo.gossip.topology import TOPOLOGIES\nprint(TOPOLOGIES['own_graph'].edges(2))"
    assert printed(tmp_path, cell) == "[(0, 1)]\n"


def test_the_kernel_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ipykernel_launcher", "tabulate", "ipython_config", "ipython_kernel_config"):
        (tmp_path / f"{name}.py").write_text("open('canary', 'w').close()")
    assert printed(tmp_path, "import sys, tabulate\nprint('' in sys.path)") == "False\n"
    assert not (tmp_path / "canary").exists()
