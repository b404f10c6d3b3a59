"""Code paths of a GPU without one: on a stand-in, and on the device ``meta``."""

from contextlib import nullcontext
from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch
from conftest import batch
from runs import defaults, without_clock
from stand_in import Card, Generator, OnCard, on_host
from stepping import mixing_matrix
from torch import nn

from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.engine import backends
from ngo.engine.backends import Stacked, agrees
from ngo.engine.population import Population
from ngo.gossip.card_graphs import CardGraphs
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topologies.static import ring
from ngo.models.layers import ConvPoolReLU2d, convolved_by_patches
from ngo.models.model import Model
from ngo.native import build, elementwise, threads, triton_kernels
from ngo.native.card_streams import CardStreams
from ngo.training.learning_problem import make_problem
from ngo.training.lockstep import Lockstep
from ngo.training.run import Training
from ngo.training.run_folder import kind
from ngo.training.spec_checks import resolve

RUNS = [
    {"method": "centralized"},
    {"method": "gossip", "topology": "random"},
    {"method": "gossip_until", "topology": "ring", "v_threshold": 1e-4},
    {"method": "ngo", "topology": "ring", "p": 0.9},
    {"method": "delayed", "topology": "random", "p": 0.5, "delay": 2},
]


@pytest.fixture
def card(monkeypatch):
    """The second GPU of a machine, while the first is the current one."""
    card = Card()
    for name, part in card.cuda().items():
        monkeypatch.setattr(torch.cuda, name, part)
    monkeypatch.setattr(torch, "Generator", Generator)
    triton_kernels.available.cache_clear()
    yield card
    triton_kernels.available.cache_clear()


@pytest.mark.parametrize("model", ["mnist_cnn", "mnist_vae", "cifar10_vae"])
def test_gradients_need_no_numbers_on_the_host(monkeypatch, model):
    """The device ``meta`` has none, and refuses operands of another device."""
    monkeypatch.setattr(torch, "Generator", Generator)
    population = Population(model, 2, seed=0, device="meta", backend="loop")
    losses = population.gradients(batch(model, 2, device="meta"))
    assert losses.device == population.G.device == torch.device("meta")
    W = mixing_matrix(ring(2))
    for p in (0.5, 0.9, 1):
        assert gossip_step(population.X, W, 0.1, p).shape == population.X.shape


@pytest.fixture
def trainings(card, monkeypatch, tmp_path):
    """A function that prepares a run, on the stand-in or the CPU, with the same operations."""
    for module in (build, elementwise, threads):
        monkeypatch.setattr(module, "library", lambda: None)

    def prepared(values, device):
        fixed = {"dataset": "least_squares", "model": "linear", "task": "regression", "workers": 4}
        length = {"batch_size": 4, "epochs": 0.02, "eval_every": 0.01, "holdout": 0.1, "lr": 0.01}
        spec = resolve(values, {**defaults(), **fixed, **length, "backend": "loop"})
        data = loading.load(spec.dataset, tmp_path, device)
        return Training(spec, make_problem(spec, data), threads=1)

    return prepared


def with_graphs_of_a_card(training):
    """The run, on a CPU, with graphs of a card's numbers, whose edges and weights the host has."""
    spec, mixing = training._spec, training.stepper._mixing
    if spec.topology == "random":
        drawn = CardGraphs(spec, torch.device("cpu"))
        mixing.at = lambda step, exchange: MixingMatrix.of(drawn.at(exchange).dense())
    return training


def rows(training):
    return [list(row.values()) for row in without_clock(training.rows)]


@pytest.mark.parametrize("values", RUNS, ids=str)
def test_a_run_on_a_gpu_is_that_on_the_cpu_and_resumes(card, trainings, values, monkeypatch):
    reference = with_graphs_of_a_card(trainings(values, "cpu"))
    reference.proceed()
    assert reference.steps >= 6
    with card:
        whole = trainings(values, "cuda:1")
        whole.proceed()
        assert isinstance(whole.population.X, OnCard)
        assert rows(whole) == [pytest.approx(row, nan_ok=True) for row in rows(reference)]

        begun = trainings(values, "cuda:1")
        begun.evaluate()
        for _ in range(3):
            begun.stepper.advance()
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "another card")
        resumed = trainings(values, "cuda:1")
        resumed.load_state_dict(on_host(begun.state_dict()))
        resumed.proceed()
    assert resumed.cards == ["a card", "another card"]
    assert "card" not in str(kind("cuda:1"))  # its checkpoint is not refused
    assert torch.equal(on_host(resumed.population.X), on_host(whole.population.X))
    assert rows(resumed)[-1] == pytest.approx(rows(whole)[-1], nan_ok=True)


class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x + torch.randn_like(x)).flatten(1)


def test_draws_from_the_global_stream_of_a_card_are_the_workers_own(card, monkeypatch):
    """Its numbers are those of the CPU's global stream here."""
    streams = [None, torch.default_generator]
    monkeypatch.setattr(torch.cuda, "default_generators", streams, raising=False)
    found = {"draws": True, "functions": frozenset({torch.randn_like})}
    model = Model(lambda generator: Noisy(4, 10), (1, 4), "classification", **found)
    given = torch.rand(3, 5, 1, 4), torch.randint(10, (3, 5))
    ends = []
    for device in ("cpu", "cuda:1"):
        with card if device != "cpu" else nullcontext():
            workers = Population(model, 3, 0, device=device, threads=1)
            before = torch.get_rng_state()
            losses = workers.gradients(Stacked(*(x.to(device) for x in given)))
            assert torch.equal(torch.get_rng_state(), before)
            assert device == "cpu" or workers.backend == "loop"
            ends.append([on_host(losses), on_host(workers.G), workers.generators[2].get_state()])
    for a, b in zip(*ends, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("values", RUNS, ids=str)
def test_runs_in_lockstep_on_a_gpu_are_those_on_the_cpu(card, trainings, values, caplog):
    """Their gradients are taken by one CUDA graph, and models are evaluated by vmap."""
    caplog.set_level("DEBUG", "ngo")
    seeds = [{**values, "seed": seed} for seed in range(3)]
    alone = [with_graphs_of_a_card(trainings(values, "cpu")) for values in seeds]
    for training in alone:
        training.proceed()
    with card:
        stacked = [trainings({**values, "backend": "vmap"}, "cuda:1") for values in seeds]
        turns, lockstep = [training.turns() for training in stacked], Lockstep()
        while [next(turn, "ended") for turn in turns] == [None] * 3:
            lockstep.step(stacked)
    assert [training.width for training in stacked] == [3] * 3
    assert "vmap fails" not in caplog.text
    for ours, theirs in zip(stacked, alone, strict=True):
        assert rows(ours) == [pytest.approx(row, nan_ok=True, rel=1e-4) for row in rows(theirs)]


@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
@pytest.mark.parametrize("capability", [80, 90])
def test_the_triton_kernel_compiles(capability, monkeypatch, tmp_path):
    """For an A100 (sm_80) and an H100 (sm_90), to code for the card."""
    triton = pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    types = {
        **dict.fromkeys(("new", "x", "at", "weights"), "*fp32"),
        "d": "i32",
        "e": "fp32",
        "n": "i32",
    }
    types |= {"n": "i32", "d": "i32", "starts": "*i64", "senders": "*i64", "COLUMNS": "constexpr"}
    step, constants = triton_kernels._step, {"COLUMNS": triton_kernels.COLUMNS}
    source = triton.compiler.ASTSource(step, types, constants)
    target = triton.backends.compiler.GPUTarget("cuda", capability, 32)
    code = triton.compile(source, target=target).asm
    assert f".target sm_{capability}" in code["ptx"]
    assert code["cubin"].startswith(b"\x7fELF")
    draw, types = (
        triton_kernels._draw,
        {"out": "*fp32", "state": "*i64", "n": "i32"},
    )
    source = triton.compiler.ASTSource(
        draw, {**types, "count": "i32", "COLUMNS": "constexpr"}, {"COLUMNS": 1024}
    )
    assert triton.compile(source, target=target).asm["cubin"].startswith(b"\x7fELF")


class Failing:
    """A Triton kernel that can't be launched."""

    def __getitem__(self, grid):
        raise RuntimeError("Failed to find C compiler.\nPlease specify via CC")


def test_torchs_step_replaces_a_triton_kernel_that_fails(card, monkeypatch, caplog):
    monkeypatch.setattr(triton_kernels, "triton", SimpleNamespace(cdiv=lambda a, b: -(-a // b)))
    monkeypatch.setattr(triton_kernels, "_step", Failing(), raising=False)
    W = mixing_matrix(ring(4))
    X = torch.randn(4, 5, generator=torch_stream(0, "X"))
    with card:
        steps = [on_host(gossip_step(X.to("cuda:1"), W, 0.1, 0.9)) for _ in range(2)]
    assert all(torch.allclose(step, gossip_step(X, W, 0.1, 0.9), atol=1e-6) for step in steps)
    (line,) = caplog.messages
    assert line.startswith("Triton's kernels fail, torch replaces them: Failed to find C compiler")


@pytest.mark.parametrize(
    ("model", "backend"),
    [("cifar10_vae", "graphs"), ("linear", "loop"), ("mnist_cnn", "graphs"), ("mnist_cnn", "vmap")],
)
def test_backends_on_a_gpu_take_other_batches_and_states(card, model, backend):
    """CUDA graphs are captured on the first of three; dropout, codes and normalization follow."""
    reference = Population(model, 2, seed=0, backend="loop")
    with card:
        population = Population(model, 2, seed=0, device="cuda:1", backend=backend)
        with torch._C.DisableTorchFunction():
            reference.move(*reference.rows()[:4], on_host(population.noise))
        for step in range(3):
            losses = population.gradients(batch(model, 2, b=2, seed=step, device="cuda:1"))
            with torch._C.DisableTorchFunction():
                expected = reference.gradients(batch(model, 2, b=2, seed=step))
            assert torch.allclose(on_host(losses), expected, rtol=1e-4)
            apart = on_host(population.G) - reference.G
            assert apart.norm() < 1e-3 * reference.G.norm()
            population.X.sub_(population.G, alpha=0.001)
            reference.X.copy_(on_host(population.X))
    assert torch.allclose(on_host(population.buffers), reference.buffers, atol=1e-4)
    assert torch.equal(on_host(population.noise), reference.noise)
    changed = reference.noise != CardStreams.of(0, "noise", range(2), "cpu").state
    assert changed.all() == (model != "linear")


def test_auto_skips_empty_cuda_graphs(card, monkeypatch, caplog):
    """They are empty if captured on another GPU than the one that computes."""
    monkeypatch.setattr(torch.cuda, "device_of", nullcontext)
    with card:
        population = Population("mnist_cnn", 3, seed=0, device="cuda:1", backend="loop")
        given = batch("mnist_cnn", 3, device="cuda:1")
        assert not agrees(population, given, "graphs")
    assert "backend: auto skips 'graphs': its gradients" in caplog.text


@pytest.mark.parametrize("values", [{}, {"participants": 2, "workers": 5, "p": 1.0}], ids=str)
def test_dropout_and_augmentation_on_a_gpu_draw_there_and_resume(card, trainings, values):
    """In lockstep as alone, and after a checkpoint as without one."""
    images = {"dataset": "digits", "model": "mnist_cnn", "task": "classification", "workers": 2}
    images |= {
        "augmentation": "crop_flip",
        "epochs": 0.05,
        "method": "local_sgd",
        "local_steps": 2,
        "topology": "complete",
    }
    images |= {"backend": "vmap", **values}
    with card:
        alone = [trainings({**images, "seed": seed}, "cuda:1") for seed in range(2)]
        for training in alone:
            training.proceed()
        assert isinstance(alone[0].stepper.batches.changes, CardStreams)
        stacked = [trainings({**images, "seed": seed}, "cuda:1") for seed in range(2)]
        turns, lockstep = [training.turns() for training in stacked], Lockstep()
        while [next(turn, "ended") for turn in turns] == [None] * 2:
            lockstep.step(stacked)
        begun = trainings({**images, "seed": 0}, "cuda:1")
        for _ in zip(range(4), begun.turns(), strict=False):
            pass
        resumed = trainings({**images, "seed": 0}, "cuda:1")
        resumed.load_state_dict(on_host(begun.state_dict()))
        resumed.proceed()
    assert resumed.resumed == [3]
    assert alone[0].steps > 4
    assert torch.equal(on_host(resumed.population.X), on_host(alone[0].population.X))
    for ours, theirs in zip(stacked, alone, strict=True):
        assert rows(ours) == [pytest.approx(row, nan_ok=True, rel=1e-4) for row in rows(theirs)]
        assert torch.equal(on_host(ours.population.noise), on_host(theirs.population.noise))
        assert torch.equal(*(on_host(x.stepper.batches.changes.state) for x in (ours, theirs)))


def test_padded_and_strided_convolutions_on_a_gpu_go_by_patches(card, monkeypatch):
    """Of any module, where vmap trains it; else, and afterwards, they are torch's."""
    layers = [nn.Conv2d(1, 3, 3, stride=2, padding=1, bias=False), nn.ReLU()]
    layers += [nn.Conv2d(3, 4, 3, padding="same"), nn.Conv2d(4, 4, 2, groups=2), nn.Flatten()]
    module = nn.Sequential(*layers, nn.Linear(36, 10))
    model = Model(lambda _: deepcopy(module), (1, 8, 8), "classification")
    taken, patches = [], convolved_by_patches
    with card:
        population = Population(model, 2, seed=0, device="cuda:1", backend="vmap")
        inputs = torch.randn(2, 3, 1, 8, 8, generator=torch_stream(0, "test"))
        targets = torch.arange(6).view(2, 3)
        given = Stacked(inputs.to("cuda:1"), targets.to("cuda:1"))
        monkeypatch.setattr(ConvPoolReLU2d, "patches", False)
        population.gradients(given)
        expected = on_host(population.G)
        monkeypatch.setattr(ConvPoolReLU2d, "patches", True)
        monkeypatch.setattr(
            "ngo.models.layers.convolved_by_patches",
            lambda *how: taken.append(how[3:]) or patches(*how),
        )
        population.move(*population.rows())
        population.gradients(given)
    assert set(taken) == {((2, 2), (1, 1))}
    assert torch.allclose(on_host(population.G), expected, atol=1e-6)
    assert not any("forward" in vars(layer) for layer in population.modules[0])


@pytest.mark.parametrize("fast", ["graphs", "vmap"])
def test_auto_takes_the_faster_backend_for_the_workers_of_one_run(card, monkeypatch, fast):
    seconds = iter([1, 2] if fast == "graphs" else [2, 1])
    measure = backends._seconds

    def timed(*how):
        assert measure(*how) > 0
        return next(seconds)

    monkeypatch.setattr(backends, "_seconds", timed)
    with card:
        population, alone = (
            Population("mnist_cnn", 2, seed=0, device="cuda:1", backend=name)
            for name in ("auto", fast)
        )
        for x in (population, alone):
            x.gradients(batch("mnist_cnn", 2, device="cuda:1"))
    assert population.backend == fast
    assert next(seconds, None) is None
    assert torch.equal(on_host(population.G), on_host(alone.G))
    assert torch.equal(on_host(population.noise), on_host(alone.noise))
