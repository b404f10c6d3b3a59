"""Records and costs of runs, as tests make them up."""

import json

from ngo.training.code import run_fingerprint

from ngo.bench.kinds import kind_of
from ngo.bench.run_costs import Cost, Costs
from ngo.pipeline.work import Recorded


def made_up(seconds=10.0, evaluating=2.0, *, steps=10**9, code="", test_samples=359):
    return Recorded(seconds, evaluating, steps, code, test_samples)


def write(results, spec, *, seconds, evaluating, steps, code=None, test_samples=359):
    """The files of a finished run of which only the times are there."""
    folder = results / "runs" / spec.id
    folder.mkdir(parents=True)
    record = {
        "evaluation_seconds": [seconds / 2, seconds],
        "seconds_evaluating": evaluating,
        "final": {"step": steps},
        "about": {"code": code or run_fingerprint(spec), "test_samples": test_samples},
    }
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "metrics.parquet").touch()
    return folder


SAMPLE, IMAGE, SETUP, COLD, WARM = 1e-3, 1e-4, 0.5, 3.0, 0.25


def made_up_costs(specs, root, *, slowdown=1.0, sizes=(1437, 359), **how):
    """Costs that are the same for each kind of run, on digits."""
    made_up_costs.how = how
    cost = Cost(SAMPLE, IMAGE, SETUP, slowdown)
    kinds = dict.fromkeys(map(kind_of, specs), cost)
    return Costs(
        kinds=kinds,
        sizes={name: sizes for name in {spec.dataset for spec in specs}},
        start=WARM if how["warm"] else COLD,
        tried=tuple(kinds),
    )
