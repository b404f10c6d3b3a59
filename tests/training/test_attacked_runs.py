"""Runs in which workers lie."""

import numpy as np
import pytest
import torch
from runs import CONVEX, digits_run, tiny, trained

from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.method import METHODS
from ngo.training.evaluation import evaluated_workers
from ngo.training.learning_problem import make_problem
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

ATTACKED = sorted(name for name, entry in METHODS.items() if "attack" in entry.fields)


@pytest.mark.parametrize("chosen", ["compiled", "loop"])
def test_evaluations_are_of_the_workers_that_do_not_lie(chosen, digits):
    spec = digits_run(
        attack="noise",
        lie_noise=0.3,
        liars=2,
        workers=5,
        eval_workers=2,
        epochs=0.3,
        backend=chosen,
    )
    rows, population = trained(spec, digits)
    last = rows[-1]
    honest = population.X[:3]
    assert torch.equal(population.honest, honest)
    assert float(synchronization_index(honest)) == last.V
    assert float(synchronization_index(population.X)) != last.V
    assert torch.equal(population.consensus_model(), honest.double().mean(0).float())
    problem = make_problem(spec, digits)
    scored = evaluated_workers(spec)
    assert len(scored) == 2
    assert set(scored) < {0, 1, 2}
    scores = population.evaluate(*problem.test, workers=scored)
    assert last.workers_loss_mean == pytest.approx(np.mean(scores.worker_losses))
    assert last.consensus_loss == pytest.approx(scores.consensus_loss)
    everyone = population.evaluate(*problem.test)
    assert len(everyone.worker_losses) == 3


@pytest.mark.parametrize("method", ATTACKED)
def test_a_lie_changes_a_run_of_each_method_that_reads_the_field(method, least_squares):
    entry = METHODS[method]
    values = {
        **CONVEX,
        "method": method,
        "workers": 5,
        "lr": 0.01,
        "epochs": 0.1,
        "eval_every": 0.1,
    }
    values |= {"topology": "ring"} if entry.graph != "tree" else {"topology": "star"}
    (rows, _), (others, _) = (
        trained(digits_run(**values, **more), least_squares) for more in ({}, {"attack": "noise"})
    )
    assert rows[-1].messages == others[-1].messages
    assert rows[-1].V != others[-1].V
    assert np.isfinite(others[1].V)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"attack": "sign"}, "attack: 'sign' is unknown; .*Did you mean 'sign_flip'"),
        ({"liars": 2}, "liars: 2 has no effect with attack 'none'; liars is read with attack alie"),
        ({"attack": "alie", "lie_noise": 2}, "lie_noise: 2.0 has no effect with attack 'alie'"),
        ({"attack": "alie", "liars": 9}, "liars: 9 of 10 workers leave fewer than two"),
        ({"attack": "alie", "liars": 0}, "liars: 0 is out of range; .*, 1 or more"),
        (
            {"attack": "alie", "method": "choco"},
            "attack: 'alie' has no effect with method 'choco'; attack is read with method .*ngo",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(given, wrong):
    with pytest.raises(UserError, match=wrong) as error:
        resolve(given)
    assert "\n" not in str(error.value)


def test_a_kept_consensus_model_is_that_of_the_workers_that_do_not_lie(least_squares):
    from ngo.training.snapshots import restored

    spec = tiny(attack="sign_flip", workers=4)
    _, population = trained(spec, least_squares)
    again = restored(spec, {"X": population.X, "buffers": population.buffers})
    assert torch.equal(again.consensus_model(), population.X[:3].double().mean(0).float())
