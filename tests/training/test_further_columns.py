"""Columns beside the package's own: named scores, own test samples, and what callbacks record."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from cases import cases, refused
from own_modules import DATA, blobs, linear, metrics, quick, stop_at
from sklearn.metrics import f1_score
from torch import nn

import ngo

TESTS = [blobs(48), blobs(12), tuple(x[:5] for x in blobs(20))]


def macro_f1(outputs, targets):
    return f1_score(targets, outputs.argmax(1), average="macro")


def margin(outputs, targets):
    """One number for each sample."""
    return outputs.gather(1, targets[:, None])[:, 0] - outputs.mean(1)


@pytest.mark.parametrize("backend", ["auto", "loop", "vmap"])
def test_named_scores_are_those_of_all_outputs(backend):
    test = blobs(300)  # two chunks
    run = quick(test=test, score={"f1": macro_f1, "margin": margin}, lr=0.5, backend=backend)
    last, plain = run.metrics.iloc[-1], quick(test=test, lr=0.5, backend=backend)
    with torch.no_grad():
        outputs = [model(test[0]) for model in (run.consensus, *run.models)]
    for name, of in (("f1", macro_f1), ("margin", lambda *x: float(margin(*x).mean()))):
        mean_model, *workers = (of(each, test[1]) for each in outputs)
        assert last[f"consensus_{name}"] == pytest.approx(mean_model, abs=1e-6)
        expected = [np.mean(workers), np.min(workers), np.max(workers), np.std(workers)]
        columns = [f"workers_{name}_{how}" for how in ("mean", "min", "max", "std")]
        assert last[columns].tolist() == pytest.approx(expected, abs=1e-6)
    assert metrics(run)[metrics(plain).columns].equals(metrics(plain))  # nothing else changes
    assert run.spec.id == plain.spec.id
    assert "consensus_f1" in run.summary


class Gathering:
    """As an object of torchmetrics: a call gives the value of its batch, and gathers."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.right, self.count = 0, 0

    def update(self, outputs, targets):
        self.right += int((outputs.argmax(1) == targets).sum())
        self.count += len(targets)

    def compute(self):
        return torch.tensor(self.right / self.count)

    def __call__(self, outputs, targets):
        self.update(outputs, targets)
        return self.compute()


def test_an_object_that_gathers_forgets_before_each_call(tmp_path):
    run = quick(score={"acc": Gathering()}, threads=1, out=tmp_path)
    assert run.metrics["consensus_acc"].tolist() == pytest.approx(run.metrics["consensus_accuracy"])
    alone = quick(score=Gathering())
    for table, column in ((alone, "workers_accuracy_min"), (run, "workers_acc_min")):
        assert table.metrics[column].tolist() == pytest.approx(run.metrics["workers_accuracy_min"])


@cases("lists", {}, {"backend": "vmap"}, {"backend": "loop"})
def test_each_worker_has_its_own_test_samples(lists):
    run = quick(test=TESTS, lr=0.5, **lists)
    union = tuple(torch.cat(x) for x in zip(*TESTS, strict=True))
    plain = quick(test=union, lr=0.5, **lists)
    assert metrics(run)[metrics(plain).columns].equals(metrics(plain))
    with torch.no_grad():
        outputs = [m(X) for m, (X, _) in zip(run.models, TESTS, strict=True)]
    right = [
        float((out.argmax(1) == y).float().mean())
        for out, (_, y) in zip(outputs, TESTS, strict=True)
    ]
    pairs = zip(outputs, [y for _, y in TESTS], strict=True)
    losses = [float(nn.functional.cross_entropy(*pair)) for pair in pairs]
    for name, values in (("accuracy", right), ("loss", losses)):
        columns = [f"own_{name}_{how}" for how in ("mean", "min", "p10", "std")]
        expected = [np.mean(values), np.min(values), np.quantile(values, 0.1), np.std(values)]
        assert run.metrics[columns].iloc[-1].tolist() == pytest.approx(expected, abs=1e-6)
    some = quick(test=TESTS, eval_workers=1).metrics
    assert (some["own_accuracy_std"] == 0).all()
    targets = [(X, X[:, :4]) for X, _ in TESTS]
    regression = quick(nn.Linear(3, 3), (DATA[0], DATA[0]), targets)
    assert "own_accuracy_mean" not in regression.metrics
    assert regression.metrics["own_loss_mean"].notna().all()


def test_callbacks_record_columns_which_checkpoints_keep(tmp_path):
    def on_evaluation(state):
        state.record(twice=2 * state.step)
        if state.step:
            state.record(late=torch.tensor(0.5))

    def on_step(state):
        state.record(seen=state.step)

    calls = {"on_evaluation": on_evaluation, "on_step": on_step}
    run = quick(**calls)
    table = run.metrics
    assert table["twice"].tolist() == [0, 4, 8]
    assert table["late"].isna().tolist() == [True, False, False]
    assert table["seen"].tolist()[1:] == [2, 4]
    assert {"twice", "seen"} <= {*run.summary}

    def stop(state):
        on_step(state)
        stop_at(3)(state)

    first = quick(**calls | {"on_step": stop}, out=tmp_path)
    assert first.metrics["seen"].tolist()[1:] == [2, 3]
    again = quick(**calls, out=tmp_path)
    assert again.metrics["twice"].tolist()[:2] == [0, 4]


def test_a_write_to_metrics_is_refused_and_a_copy_is_not():
    seen = []

    def write(state):
        for change in (
            lambda: state.metrics.__setitem__("mine", 1),
            lambda: state.metrics.update(mine=1),
            lambda: state.metrics.pop("V"),
        ):
            refused(r"it is a copy; state.record\(name=value\) adds a column", change)
        seen.append({**state.metrics})
        for other in (copy.deepcopy(state.metrics), pickle.loads(pickle.dumps(state.metrics))):
            assert (type(other), [*other]) == (dict, [*state.metrics])

    quick(on_evaluation=write)
    assert len(pd.DataFrame(seen)) == 3


def recorded(**values):
    quick(on_evaluation=lambda state: state.record(**values))


@cases(
    "call, arguments, part",
    (recorded, {"V": 1}, "record: 'V' is not allowed; a column needs a name of letters"),
    (recorded, {"lr": 1}, "record: 'lr' is not allowed"),
    (recorded, {"mine": "fast"}, "record: mine='fast' is not a number"),
    (quick, {"score": {"loss": macro_f1}}, "score: 'loss' is not allowed; a column needs"),
    (quick, {"score": {"f 1": macro_f1}}, "score: 'f 1' is not allowed"),
    (quick, {"score": {"f1": "macro"}}, "score, f1: 'macro' is not a function"),
    (quick, {"score": {"f1": lambda out, y: out}}, r"f1 score: it returned \[48, 4\] for 48 sa"),
    (quick, {"test": TESTS[:2]}, "test: there are test sets for 2 of 3 workers"),
    (
        quick,
        {"test": [TESTS[0], (TESTS[1][0][:, :2], TESTS[1][1])] * 2},
        "test, worker 1: inputs: ",
    ),
)
def test_mistakes(call, arguments, part):
    refused(part, call, **arguments)


def test_comparisons_by_a_named_score_and_by_own_test_samples():
    train = [tuple(x[a : a + 16] for x in DATA) for a in (0, 16, 32)]
    how = {"methods": ["gossip", "d2"], "grid": {"lr": [0.001, 0.2, 1]}, "progress": False}
    how |= {"workers": 3, "batch_size": 4, "epochs": 1, "holdout": 0.25, "cores": 1}
    with pytest.warns(RuntimeWarning):
        found = ngo.compare(linear, train, TESTS, **how, metric="own_accuracy_mean")
    assert found.best == "highest"
    assert found.tuning["own_accuracy_mean"].notna().all()
    given = {**how, "metric": "own_accuracy_min", "holdout": TESTS}
    with pytest.warns(RuntimeWarning):
        found = ngo.compare(linear, DATA, TESTS, **given)
    assert found.best == "highest"
    assert found.tuning["own_accuracy_min"].notna().all()
    alone = (
        r"metric: 'own_accuracy_min' is of workers' own samples, and those held out have no owner"
    )
    refused(alone, ngo.compare, linear, DATA, TESTS, **given | {"holdout": 0.1})
    how |= {"score": {"f1": macro_f1}, "metric": "consensus_f1"}
    with pytest.warns(RuntimeWarning):
        named = ngo.compare(linear, DATA, DATA, **how)
    assert named.frame["mean"].notna().all()
