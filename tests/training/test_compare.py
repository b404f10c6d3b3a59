"""``compare``: the numbers of loops over ``fit``, what it chooses, and what is kept of it."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import torch
from cases import cases, refused
from own_modules import DATA, blobs, linear, metrics, quick
from torch import nn
from torch.utils.data import TensorDataset

import ngo
import verdicts

pytestmark = pytest.mark.filterwarnings("ignore:compare. .* end of its grid:RuntimeWarning")

SETTING = {"workers": 3, "batch_size": 4, "epochs": 1, "eval_every": 0.5, "lr": 0.2}
METHODS = ["gossip", "d2"]


def compared(**arguments):
    arguments = {"methods": METHODS, "progress": False, **SETTING, **arguments}
    return ngo.compare(linear, arguments.pop("train", DATA), blobs(60), **arguments)


def loop(method, seeds, train=DATA, test=None, **fields):
    """The metrics of ``fit`` for each seed."""
    test = blobs(60) if test is None else test
    runs = (quick(linear, train, test, method=method, seed=s, **SETTING | fields) for s in seeds)
    return [metrics(run) for run in runs]


@pytest.mark.parametrize("cores", [1, 2])
def test_the_numbers_are_those_of_two_loops_of_fit(cores):
    before = torch.get_num_threads()
    torch.randn(300, 300) @ torch.randn(300, 300)  # OpenMP has threads, which no fork has
    found = compared(cores=cores)
    assert torch.get_num_threads() == before
    assert found.tuning.empty
    for method in METHODS:
        rows = found.runs[found.runs["case"] == method].drop(columns=["case", "seconds"])
        for one, (_, other) in zip(loop(method, (1, 2, 3)), rows.groupby("seed"), strict=True):
            other = other.reset_index(drop=True)
            assert one.equals(other.reindex(columns=one.columns).astype(one.dtypes))
    last = found.runs[found.runs["step"] == found.runs["step"].max()]
    arrays = {x: last.loc[last["case"] == x, "workers_accuracy_mean"].to_numpy() for x in METHODS}
    ranked = verdicts.compare(arrays, metric="accuracy").frame
    assert found.frame.equals(ranked)
    assert "Within the noise of the best" in str(found)


def test_each_method_is_tuned_on_held_out_samples_and_judged_on_new_seeds():
    grid = {"gamma": [0.01, 0.2, 1], "lr": [0.001, 0.2]}
    with pytest.warns(RuntimeWarning, match="d2: .*; it is at an end of its grid; a better value"):
        found = compared(grid=grid, methods=[*METHODS, "centralized"], seeds=[7, 9], holdout=0.25)
    assert len(found.tuning) == 3 * (6 + 6 + 2)
    assert set(found.tuning["seed"]) == {0}
    assert set(found.runs["seed"]) == {7, 9}
    assert set(found.chosen["centralized"]) == {"lr"}
    order = ngo.training.compare.numpy_stream(0, "holdout").permutation(48)
    held, kept = np.sort(order[:12]), np.sort(order[12:])
    train, test = [tuple(x[k] for x in DATA) for k in (kept, held)]
    for method in METHODS:
        ends = {}
        for gamma in grid["gamma"]:
            for lr in grid["lr"]:
                how = {"gamma": gamma, "lr": lr}
                (run,) = loop(method, [0], train, test, **how)
                ends[gamma, lr] = run["workers_accuracy_mean"].iloc[-1]
        rows = found.tuning[(found.tuning["case"] == method) & (found.tuning["epoch"] >= 1)]
        assert rows["workers_accuracy_mean"].tolist() == [*ends.values()]
        best = dict(zip(grid, max(ends, key=ends.get), strict=True))
        assert found.chosen[method] == best
        runs = found.runs[found.runs["case"] == method]
        assert set(runs["gamma"]) == {best["gamma"]}
        (first, _) = loop(method, (7, 9), **best)
        assert first["V"].tolist() == runs.loc[runs["seed"] == 7, "V"].tolist()
    assert any(line.startswith("gossip: gamma = ") for line in found.told)
    assert found.frame.set_index("method")["lr"].to_dict() == {
        case: values["lr"] for case, values in found.chosen.items()
    }
    assert "–" in found.shown().set_index("method").loc["centralized", "gamma"]


def test_the_end_of_a_grid_is_told_where_there_is_something_beyond(recwarn):
    compared(methods={"a": {"method": "ngo"}, "b": {"method": "ngo"}}, grid={"p": [0.5, 1]})
    compared(grid={"gossip": {"local_rule": ["sgd", "adam"]}})
    assert [str(each.message) for each in recwarn] == []


def test_names_and_fields_of_methods_and_data_of_each_worker():
    train = [tuple(x[a : a + 16] for x in DATA) for a in (0, 16, 32)]
    with pytest.warns(RuntimeWarning, match="end of its grid"):
        found = compared(
            methods={"slow": {"method": "gossip", "gamma": 0.1}, "d2": "d2"},
            train=[TensorDataset(*pair) for pair in train],
            grid={"slow": {"lr": [0.001, 0.3]}},
            metric="consensus_loss",
            seeds=2,
        )
    assert found.best == "lowest"
    assert found.chosen == {"slow": {"lr": 0.3}, "d2": {}}
    assert set(found.runs.loc[found.runs["case"] == "slow", "gamma"]) == {0.1}
    assert [len(rows) for _, rows in found.runs.groupby("case")] == [6, 6]
    indices = [range(0, 16), range(16, 32), range(32, 48)]
    again = compared(
        methods={"slow": {"method": "gossip", "gamma": 0.1}, "d2": "d2"}, seeds=2,
        partition=indices, lr=0.3, metric="consensus_loss",
    )  # fmt: skip
    ours, theirs = (x.runs[x.runs["case"] == "slow"]["V"].tolist() for x in (found, again))
    assert ours == theirs
    pair = compared(grid={"lr": [0.1, 0.2, 3]}, partition=indices, holdout=blobs(20), seeds=1)
    assert len(pair.tuning) == 3 * 6


def test_regression_is_compared_by_the_loss_and_a_diverged_run_is_the_worst():
    data = DATA[0], DATA[0][:, :2]
    with pytest.warns(RuntimeWarning) as told:
        found = ngo.compare(
            lambda: nn.Linear(3, 2), data, data, methods=METHODS, grid={"lr": [0.01, 1e12]},
            progress=False, workers=3, batch_size=4, epochs=5,
        )  # fmt: skip
    assert (found.metric, found.best) == ("workers_loss_mean", "lowest")
    assert [point["lr"] for point in found.chosen.values()] == [0.01, 0.01]
    assert all("lr = 0.01" in str(each.message) for each in told)  # not of tuning runs


def test_the_default_picture_and_the_latex_table(tmp_path):
    found = compared(cores=1)
    figure = found.plot(tmp_path / "compared.png")
    assert len(figure.axes) == 2
    assert [line.get_label() for line in figure.axes[1].lines] == [*found.frame["method"]]
    assert found.to_latex().startswith(r"\begin{tabular}")
    assert "<table" in found._repr_html_()


def test_the_same_call_resumes_and_trains_no_finished_run_again(tmp_path):
    how = {"progress": False, "out": tmp_path, "grid": {"lr": [0.1, 0.2, 1]}, "methods": METHODS}
    how |= {x: value for x, value in SETTING.items() if x != "lr"}
    first = ngo.compare(linear, DATA, blobs(60), **how, cores=2)
    assert len(list(tmp_path.glob("*/checkpoint.pt"))) == 12
    assert (tmp_path / "tuning-gossip-lr=0.1-seed0").is_dir()
    again = ngo.compare(linear, DATA, blobs(60), **how, cores=1)
    assert again.runs.iloc[:-1]["seconds"].equals(first.runs.iloc[:-1]["seconds"])  # none is new
    assert again.runs.drop(columns="seconds").equals(first.runs.drop(columns="seconds"))


@pytest.mark.parametrize("cores", [1, 2])
def test_ctrl_c_keeps_what_is_finished(cores, tmp_path):
    def press():
        while len(list(tmp_path.glob("gossip-seed*/checkpoint.pt"))) < 3:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    before = signal.getsignal(signal.SIGINT)
    how = {"epochs": 100, "seeds": 4, "cores": cores, "out": tmp_path, "eval_every": 10}
    with pytest.raises(ngo.Interrupted, match=r"interrupted after \d of 8 runs") as caught:
        compared(**how)
    assert signal.getsignal(signal.SIGINT) is before
    found = caught.value.run
    kept = found.runs["seed"].nunique()
    assert kept > 0
    assert found.runs.groupby(["case", "seed"])["epoch"].max().min() == 100
    whole = compared(**how)
    assert len(whole.runs["run"].unique()) == 8
    assert whole.frame.equals(compared(**how | {"out": None}).frame)


def test_ctrl_c_in_a_fork_is_not_lost():
    press = [os.getpid()]  # a callback of a fork stays for the life of the process

    def callback():
        while press:
            os.kill(press.pop(), signal.SIGINT)

    os.register_at_fork(after_in_parent=callback)
    with pytest.raises(ngo.Interrupted, match=r"interrupted after 0 of 4 runs"):
        compared(seeds=2, cores=2)


def test_what_ends_a_process_and_errors_are_told():
    def kill(outputs, targets):
        if len(targets) == 5:  # a batch of gossip, and no other part of the samples
            os._exit(3)
        return nn.functional.cross_entropy(outputs, targets)

    methods = {"gossip": {"batch_size": 5}, "d2": {"batch_size": 3}}
    with pytest.raises(ngo.UserError, match="the system ended 'gossip-seed1'; try cores=1"):
        compared(methods=methods, loss=kill, cores=2, seeds=1)
    calls = []

    class Broken(nn.Linear):
        def forward(self, x):
            calls.append(1)
            return super().forward(x) / (len(calls) < 12 or 1 / 0)

    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        ngo.compare(Broken(3, 4), DATA, DATA, methods=METHODS, cores=2, progress=False, **SETTING)


@cases(
    "arguments, part",
    ({"methods": "gossip"}, "methods: 'gossip' is no list of two names or more"),
    ({"methods": ["gossip", "gossip"]}, "is no list of two names or more"),
    ({"methods": ["gossip", "fedavg"]}, "methods, fedavg: 'fedavg' is unknown; .*diloco with"),
    ({"methods": {"NGO": {"p": 0.9}, "d2": "d2"}}, "methods, NGO: 'NGO' is unknown; "),
    ({"methods": ["gossip", "d2"], "seed": 1}, "seed: it is no field that methods or a grid"),
    ({"grid": {"seed": [1, 2]}}, "seed: it is no field"),
    ({"grid": {"gama": [1, 2]}}, "grid: 'gama' is unknown. Did you mean 'gamma'"),
    ({"grid": {"gamma": 1}}, "grid, gamma: 1 is not allowed; it must be a list of numbers or"),
    ({"grid": {"gamma": [1, -1]}}, "grid, gamma: -1 is out of range"),
    ({"grid": {"delay": [1, 2]}}, "delay: 1 has no effect with method 'gossip'"),
    ({"grid": {"ngo": {"gamma": [1]}}}, "grid: 'ngo' is unknown; allowed: d2, gossip"),
    ({"workers": 2, "sharts": 3}, "compare: 'sharts' is not an argument. Did you mean 'shards'"),
    ({"threads": 2}, "compare: 'threads' is not an argument. Did you mean 'cores'"),
    ({"seeds": 0}, "seeds: 0 is out of range"),
    ({"seeds": []}, r"seeds: \[\] is not allowed; give one or more"),
    ({"seeds": [1, -1]}, "seed: -1 is out of range"),
    ({"metric": "samples"}, "best: whether a high or a low 'samples' is better is not known"),
    ({"metric": "own_accuracy_std"}, "best: whether a high or a low 'own_accuracy_std' is better"),
    ({"holdout": [1, 2]}, "holdout inputs: int is no array of numbers with a row per sample"),
    ({"metric": "acuracy", "best": "highest"}, "metric: 'acuracy' is unknown; allowed: "),
    ({"best": "max"}, "best: 'max' is unknown; allowed: highest, lowest"),
    ({"cores": 0}, "cores: 0 is out of range"),
    ({"grid": {"lr": [0.1, 1]}, "holdout": 0.001}, "holdout: 0.001 of the training samples are"),
    ({"grid": {"lr": [0.1, 1]}, "holdout": 1}, "holdout: 1 is out of range"),
)  # fmt: skip
def test_mistakes(arguments, part):
    refused(part, compared, **arguments)


@cases(
    "arguments, part",
    ({"seeds": 3}, r"seeds: fit trains one run; ngo.compare\(…, seeds=…\) compares several"),
    ({"seed": [1, 2]}, r"seed: fit trains one run; ngo.compare\(…, seeds=\[1, 2\]\)"),
    ({"gamma": [1, 2]}, r"gamma: fit trains one run, .*; .*grid={'gamma': \[1, 2\]}\) compares"),
    ({"methods": ["ngo"]}, r"methods: fit trains one run; ngo.compare\(…, methods=…\)"),
)
def test_fit_hints_at_it(arguments, part):
    refused(part, quick, **arguments)
