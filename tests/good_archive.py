"""A small archive with each kind of member, whose runs are made up."""

from pathlib import Path

import yaml
from finished_runs import campaign, made_up_run
from runs import run_in

from ngo.data.description import manifest_text
from ngo.data.loading import train_labels
from ngo.pipeline.archives.archive import collect, write_archive
from ngo.pipeline.archives.finished_runs import write_run
from ngo.pipeline.paths import RUNS
from ngo.training.spec_checks import draw

CLAIM = {"place": "Figure 1", "kind": "order", "from": "own", "quantity": "log_ratio", "below": 0}
SIDES = {"of": {"method": "ngo"}, "to": {"method": "gossip"}, "value": "V"}
CLAIMS = {
    "own-1": {**CLAIM, "says": "NGO agrees better", "where": {"topology": "ring"}, "with": SIDES},
    "own-2": {**CLAIM, "says": "NGO agrees worse", "where": {"topology": "ring"}, "with":
              {**SIDES, "of": SIDES["to"], "to": SIDES["of"]}},
}  # fmt: skip
ASKED = [{"asks": "Does NGO agree better?", "claims": {"own-1": "on the ring"}}]
FINDINGS = {"title": "Own", "questions": ASKED, "figure": "none", "topics": [
    {"title": "Agreement", "about": "Who agrees.", "claims": ["own-1", "own-2"]}]}  # fmt: skip
CASES = [
    {"method": ["gossip", "ngo"], "topology": "ring"},
    {"method": "gossip", "topology": "graph_file", "graph": "own/graph.edgelist"},
]


def good_archive(folder: Path, *, trained: bool = False, **config: object) -> Path:
    """The archive of a campaign of nine runs, made in ``folder``, the working directory.

    With ``trained`` its runs are not made up. ``config`` replaces values of the config.
    """
    (folder / "own").mkdir()
    (folder / "own/graph.edgelist").write_text("0 1\n1 2\n")
    (folder / "own/claims.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    (folder / "own/findings.yaml").write_text(yaml.safe_dump(FINDINGS))
    named = {"claims": "own/claims.yaml", "findings": "own/findings.yaml", "seeds": [0, 1, 2]}
    training = {"own": {"settings": ["tiny"], "compare": CASES}}
    configs, planned = campaign(folder, training=training, **{**named, **config})
    labels = train_labels("digits", folder)
    for spec in planned.runs.values():
        if trained:
            run_in(spec, folder / RUNS / spec.id)
        else:
            write_run(RUNS / spec.id, _made_up(spec, draw(spec, labels)))
    (folder / "results/data").mkdir()
    (folder / "results/data/digits.json").write_text(manifest_text("digits", len(labels)))
    write_archive(folder / "good.tar", collect(configs))
    return folder / "good.tar"


def _made_up(spec, parts):
    """A made-up run in which NGO agrees better than gossip."""
    run = made_up_run(spec, parts)
    if spec.method == "ngo":
        run.columns["V"][:] *= 0.01 * (1 + 0.1 * spec.seed)
        run.record["final"]["V"] = float(run.columns["V"][-1])
    return run
