"""Runs in lockstep equal the same runs alone, and leave each other alone."""

import gc
import json
import time
import weakref
from functools import partial

import numpy as np
import psutil
import pytest
import running
import torch
from runs import CONVEX, defaults, short_run, tiny, without_clock

import ngo
from ngo.common.registries import METHODS, MODELS
from ngo.data.dataset import Dataset
from ngo.engine.population import Stack
from ngo.gossip.gossip_step import linear_step
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_of
from ngo.gossip.topologies.static import complete, ring
from ngo.native.threads import in_order, one_intra_op_thread
from ngo.training import lockstep
from ngo.training.learning_problem import make_problem
from ngo.training.lockstep import shared, together
from ngo.training.run import Training, turns
from ngo.training.spec_checks import resolve

#: Runs of one shape. The rest of a run is its own: method, coupling, graph, rates, n, length.
RUNS = [
    {"method": "ngo", "p": 0.8, "topology": "random", "gamma": 0.3},
    {"method": "ngo", "p": 0.5, "coupling": "capped", "topology": "complete", "workers": 5},
    {"method": "gossip", "coupling": "implicit", "topology": "alternating_matching", "workers": 4},
    {"method": "delayed", "delay": 2, "topology": "random", "local_rule": "momentum"},
    {"method": "push_sum", "topology": "one_peer_exponential", "workers": 4, "link_failure": 0.2},
    {"method": "choco", "compression": "random_k", "topology": "ring", "epochs": 0.1},
    {"method": "choco", "compression": "top_k", "lr_schedule": "cosine"},
    {"method": "gossip", "attack": "noise", "liars": 1, "workers": 5, "coupling": "clipped"},
    {"method": "gossip", "attack": "sign_flip", "liars": 1, "coupling": "median", "workers": 5},
    {"method": "gradient_tracking", "absence": 0.3, "link_failure": 0.2, "local_rule": "nesterov"},
    {"method": "relay_sum", "topology": "chain", "eval_workers": 2},
    {"method": "diloco", "local_steps": 3},
    {"method": "gossip_until", "v_threshold": 1e-4},
    {"method": "centralized", "holdout": 0.1},
    {"method": "gossip", "schedule": "phases", "second_topology": "empty"},
    {"method": "ngo", "p": 0.9, "local_rule": "adamw", "link_failure": 0.1},
    {"method": "ngo", "lr_schedule": "cosine"},
    {"method": "ngo", "lr_schedule": "cosine", "partition": "equal", "samples_per_worker": 1000},
    {"method": "ngo", "coupling": "fixed_time", "initialization": "by_worker"},
]
named = {values["method"] for values in RUNS}
RUNS += [{"method": name} for name in METHODS if METHODS[name].joint and name not in named]
NETWORKS = [
    {"model": "mnist_cnn", "absence": 0.3},
    {"model": "mnist_cnn", "backend": "threads"},
    {"model": "mnist_cnn", "augmentation": "crop_flip"},
    {"model": "mnist_vae", "task": "vae", "lr": 0.003},
    {"method": "gt_saga", "batch_size": 1, "eval_every": 0.1, **CONVEX},
    {"clock": "waiting", "latency": 0.1, **CONVEX},
    {"clock": "asynchronous", "speed": "log_normal", **CONVEX},
]
SEEDS = range(3)
STEPS, EARLY, BOUND = 2000, 200, 100 * 2**20
CASES = {
    "digits": {"dataset": "digits", "model": "mnist_fc"},
    "mnist": {"dataset": "mnist", "model": "mnist_cnn"},
    "cifar10": {"dataset": "cifar10", "model": "cifar10_cnn", "augmentation": "crop_flip"},
}


@one_intra_op_thread()
def trained(specs, data, width=1000):
    """The trainings at their ends, by run."""
    ends, failed = {}, {}

    def start(spec, signals):
        training = Training(spec, make_problem(spec, data), threads=1)
        for _ in training.turns():
            yield training
        ends[spec] = training

    together({spec: partial(start, spec) for spec in specs}, width, failed.__setitem__)
    assert not failed
    return ends


def assert_equal_alone(specs, data):
    assert len(set(map(shared, specs))) == 1
    stacked = trained(specs, data)
    for spec, alone in trained(specs, data, width=1).items():
        ours = stacked[spec]
        assert repr(without_clock(ours.rows)) == repr(without_clock(alone.rows)), spec.id
        assert torch.equal(ours.population.X, alone.population.X), spec.id
        assert ours.population.backend == alone.population.backend
        assert alone.width == 1
    return stacked


def test_runs_in_lockstep_are_those_alone_also_where_one_diverges(least_squares):
    """One stack has all of them, of which some end early."""
    specs = [tiny(**{"epochs": 0.15, **run}, seed=seed) for run in RUNS for seed in SEEDS]
    stacked = assert_equal_alone(specs, least_squares).values()
    assert {training.population.backend for training in stacked} == {"compiled"}
    assert {training.width for training in stacked} == {len(specs)}
    specs = [tiny(seed=seed, lr=1e6 if seed == 1 else 0.02) for seed in SEEDS]
    stacked = assert_equal_alone(specs, least_squares)
    assert [stacked[spec].rows[-1].diverged for spec in specs] == [False, True, False]
    assert stacked[specs[1]].step < stacked[specs[0]].step


@pytest.mark.parametrize("values", NETWORKS, ids=lambda values: "-".join(map(str, values.values())))
def test_draws_of_layers_images_and_clocks_are_those_alone(values, digits, least_squares):
    specs = [short_run(**{"epochs": 0.1, **values}, seed=seed) for seed in SEEDS]
    convex = values.get("model", "linear") == "linear"
    assert_equal_alone(specs, least_squares if convex else digits)


def test_a_width_is_halved_to_what_fits_and_a_stack_is_freed(least_squares, monkeypatch):
    """Memory has place for stacks of 8 runs together; nothing waits for the collector."""
    stacks = []

    def made(stack, populations, make=Stack.__init__):
        stacks.append(weakref.ref(stack))
        make(stack, populations)

    def gradients(stack, batches, take=Stack.gradients):
        if sum(each.runs for ref in stacks if (each := ref()) is not None) > 8:
            raise torch.OutOfMemoryError("too many")
        return take(stack, batches)

    monkeypatch.setattr(Stack, "__init__", made)
    monkeypatch.setattr(Stack, "gradients", gradients)
    monkeypatch.setattr(lockstep.gc, "collect", lambda: None)
    lengths = [0.05, 0.1]  # where one ends, the others are stacked anew
    specs = [tiny(seed=seed, epochs=lengths[seed % 2]) for seed in range(16)]
    gc.disable()
    try:
        ends = trained(specs, least_squares)
    finally:
        gc.enable()
    assert {training.width for training in ends.values()} == {8}
    assert len(stacks) == 5  # 16 runs, and twice 8, then 4


def test_by_vmap_the_first_20_steps_agree(digits):
    """To 1e-5 of the largest parameter, and of each row of the metrics to 1e-3."""
    values = {"backend": "vmap", "workers": 3, "epochs": 20 * 48 / 1437, "eval_every": 0.1}
    specs = [short_run(**values, method="ngo", p=0.9, seed=seed) for seed in SEEDS]
    stacked = trained(specs, digits)
    for spec, alone in trained(specs, digits, width=1).items():
        assert alone.step == 20
        ours, theirs = stacked[spec].population.X, alone.population.X
        assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
        for one, other in zip(*map(without_clock, (stacked[spec].rows, alone.rows)), strict=True):
            assert one == pytest.approx(other, rel=1e-3, nan_ok=True)


def test_runs_that_differ_in_seed_partition_and_graph_are_alike(digits):
    steppers = []  # an id counts as long as its object is there

    def alike(**values):
        spec = short_run(**values)
        steppers.append(Training(spec, make_problem(spec, digits), threads=1).stepper)
        return steppers[-1].alike()

    same, partition = alike(), {"partition": "equal", "samples_per_worker": 479}
    assert same == alike(seed=1) == alike(topology="random", u=0.3) == alike(**partition)
    others = [{"p": 0.8}, {"gamma": 0.5}, {"lr": 0.1}, {"workers": 4}, {"method": "dsgd"}]
    others.append({"partition": "equal", "samples_per_worker": 300})
    alone = [{"absence": 0.1}, {"method": "relay_sum", "topology": "chain"}, {"clock": "waiting"}]
    values = {same, *(alike(**fields) for fields in (*others, *alone, *alone))}
    assert len(values) == 1 + len(others) + 2 * len(alone)


@pytest.mark.parametrize(("graph", "n"), [(complete, 40), (ring, 40), (ring, 300)])
def test_joined_matrices_mix_each_block_alone(graph, n):
    """By a dense product of each block, or along edges."""
    matrices = [MixingMatrix.of(mixing_of(n, np.array([*graph(n).edges]))) for _ in range(3)]
    joined, X = MixingMatrix.joined(*matrices), torch.randn(3 * n, 5, dtype=torch.float64)
    ours = linear_step(X, joined, 0.7, at=X, out=torch.empty_like(X), spread=in_order)
    dense = torch.block_diag(*(W.dense() for W in matrices))
    assert torch.allclose(ours, X + 0.7 * (dense @ X - X))
    assert torch.equal(torch.block_diag(*joined.dense()), dense)


# The memory of a run stays what it is, however many steps it takes between two evaluations.


def noise(name, model, m=4000):
    """Images of the shape of a data set's."""
    images = torch.randint(256, (m, *MODELS[model].input_shape), dtype=torch.uint8)
    classes = torch.arange(m) % 10
    mean, std = torch.full((2, images.shape[1], 1, 1), 0.5)
    return Dataset(name, 10, images, classes, images[:500], classes[:500], mean, std)


def measured(case, way, path):
    """Take the steps; write the resident bytes after EARLY and after STEPS into ``path``."""
    resident = []
    end = time.monotonic() + running.LIMIT

    def progress(step):
        if step in (EARLY, STEPS):
            resident.append(psutil.Process().memory_info().rss)
        assert time.monotonic() < end, step

    data = noise(CASES[case]["dataset"], CASES[case]["model"])
    n, b = 10, 16
    epochs = STEPS * n * b / len(data.train_inputs)
    how = {"workers": n, "batch_size": b, "epochs": epochs, "eval_every": epochs}
    how["method"] = "gossip"
    if way == "fit":
        train = data.train_inputs / 255, data.train_targets
        test = data.test_inputs / 255, data.test_targets
        module = MODELS[CASES[case]["model"]].build(torch.Generator())
        how |= {"progress": False, "on_step": lambda state: progress(state.step)}
        ngo.fit(module, train, test, **how)
    else:
        specs = [resolve({}, {**defaults(), **CASES[case], **how, "seed": seed}) for seed in (0, 1)]
        root, told = path.parent, {"data": data, "progress": progress}
        runs = {spec: partial(turns, spec, root / spec.id, root, **told) for spec in specs}
        together(runs, 2 if way == "lockstep" else 1, pytest.fail)
    path.write_text(json.dumps(resident))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "way"),
    [("digits", "fit"), ("mnist", "lockstep"), ("cifar10", "fit"), ("cifar10", "job")],
)
def test_many_steps_between_two_evaluations_take_no_memory(case, way, forked, tmp_path):
    process = forked(target=measured, args=(case, way, tmp_path / "bytes"))
    process.start()
    assert running.exit_code(process) == 0
    early, *_, late = json.loads((tmp_path / "bytes").read_text())
    assert late - early < BOUND
