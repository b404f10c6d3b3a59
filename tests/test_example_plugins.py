"""What the example plugins compute."""

import networkx as nx
import numpy as np
import pytest
import torch
from conftest import REPOSITORY, batch, gaussian
from runs import keep_models
from stepping import Stepping, ring_matrix, states
from torch import nn

import ngo
from ngo.common import plugins
from ngo.common.registries import DATASETS, PARTITIONS, TOPOLOGIES
from ngo.engine.population import Population
from ngo.gossip.mixing_matrix import spectral_gap
from ngo.gossip.schedule import Mixing
from ngo.measures.measurement import MEASUREMENTS
from ngo.training.snapshots import module, save_snapshots
from ngo.training.spec_checks import resolve

EXAMPLES = REPOSITORY / "examples/plugins"


@pytest.fixture(autouse=True)
def examples(own_entries):
    plugins.load(sorted(EXAMPLES.glob("*.py")))


def matrix(name, n, t=0):
    return Mixing(name, n, None).at(t).dense()


def test_four_cliques_of_four_mix_faster_than_the_ring():
    for n in (2, 3, 7, 16, 20):
        graph = nx.Graph(TOPOLOGIES["cliques"].edges(n))
        assert nx.is_connected(graph)
        assert len(graph) == n
    W = matrix("cliques", 16)
    assert len(TOPOLOGIES["cliques"].edges(16)) == 4 * 6 + 4
    for first in range(0, 16, 4):
        assert (W[first : first + 4, first : first + 4] > 0).all()
        assert W[first + 3, (first + 4) % 16] == 1 / 5
    assert spectral_gap(W) > spectral_gap(matrix("ring", 16))


def test_rotating_partners_average_exactly_in_each_period():
    mixing = Mixing("rotating_partners", 8, None)
    W = [mixing.at(t).dense() for t in range(15)]
    distances = [int((each[0] > 0).nonzero().max()) for each in W]
    assert [8 - d for d in distances[:6]] == [1, 2, 4, 3, 6, 4]
    for t in range(0, 15, 3):
        mean = torch.full((8, 8), 1 / 8, dtype=torch.float64)
        assert torch.equal(W[t + 2] @ W[t + 1] @ W[t], mean)
    assert torch.equal(W[12], W[0])  # r = 1, 3, 5, 7, 1


def test_push_sum_finds_the_mean_on_de_bruijns_graph_where_mixing_does_not():
    X, W = 3 + gaussian(6, 3), matrix("de_bruijn", 6)
    plain, stepping = X.clone(), Stepping("push_sum", X, W)
    for _ in range(120):
        plain = W @ plain
        stepping.advance()
    assert torch.allclose(stepping.X, X.mean(0).expand_as(X), rtol=0, atol=1e-9)
    assert (plain - X.mean(0)).abs().max() > 0.1


def quadratics(n, d=3):
    """Worker i has the loss ½ Σ a_i (x − b_i)²: its gradient, and the optimum of the mean loss."""
    a, b = 0.5 + gaussian(n, d, seed=1).abs(), gaussian(n, d, seed=2)
    return lambda X: a * (X - b), (a * b).sum(0) / a.sum(0)


def test_push_diging_is_its_algorithm_and_reaches_the_optimum_at_which_push_sum_is_biased():
    n, lr = 6, 0.05
    W, (grad, best), X = matrix("de_bruijn", n), quadratics(n), gaussian(n, 3)
    u, v, x = X.clone(), torch.ones(n, 1, dtype=torch.float64), X.clone()
    y = grad(x)
    tracking, push_sum = (Stepping(name, X, W, lr=lr) for name in ("push_diging", "push_sum"))
    for t in range(600):
        tracking.advance(grad(tracking.X))
        push_sum.advance(grad(push_sum.X))
        if t < 50:
            u, v, last = W @ (u - lr * y), W @ v, x
            x = u / v
            y = W @ y + grad(x) - grad(last)
            assert torch.allclose(tracking.X, x, rtol=0, atol=1e-12)
    assert (tracking.X - best).abs().max() < 1e-6
    assert (push_sum.X - best).abs().max() > 0.01


@pytest.mark.parametrize(("slow_lr", "slow_momentum"), [(1.0, 0.0), (0.7, 0.6)])
def test_slowmo_is_its_algorithm(slow_lr, slow_momentum):
    """Without momentum, for α = 1, it is an exact average after every third step."""
    n, lr, W = 5, 0.05, ring_matrix()
    (grad, _), X = quadratics(n), gaussian(1, 3).repeat(n, 1)
    values = {"local_steps": 3, "slow_lr": slow_lr, "slow_momentum": slow_momentum}
    stepping = Stepping("slowmo", X, W, lr=lr, **values)
    x0, u = X[0], torch.zeros(3, dtype=torch.float64)
    for _ in range(10):
        x = x0.repeat(n, 1)
        for _ in range(3):
            x = W @ (x - lr * grad(x))
        u = slow_momentum * u + (x0 - x.mean(0)) / lr
        x0 = x0 - slow_lr * lr * u
        if slow_momentum == 0:
            assert torch.allclose(x0, x.mean(0))
        sent = [stepping.advance(grad(stepping.X)) for _ in range(3)]
        assert sent == [2 * n, 2 * n, 2 * n + 2 * n]
        assert torch.allclose(stepping.X, x0.repeat(n, 1), rtol=0, atol=1e-12)


def test_the_method_of_the_recipe_is_decentlam(own_entries, tmp_path):
    text = (REPOSITORY / "docs/how_to/method.md").read_text(encoding="utf-8")
    (block,) = (part.split("```")[0] for part in text.split("%%writefile decentlam.py\n")[1:])
    (tmp_path / "decentlam.py").write_text(block)
    plugins.load([tmp_path / "decentlam.py"])
    (grad, _), X, lr, beta = quadratics(5), gaussian(5, 3), 0.05, 0.9
    fields = {"lr": lr, "gamma": 1.0, "p": 1.0, "coupling": "power", "lam_momentum": beta}
    stepping = Stepping("decentlam", X, ring_matrix(5), **fields)
    W, x, m = ring_matrix(5), X.clone(), torch.zeros_like(X)
    for _ in range(50):
        stepping.advance(grad(stepping.X))
        m = beta * m + (x - W @ (x - lr * grad(x))) / lr
        x = x - lr * m
        assert torch.allclose(stepping.X, x, rtol=0, atol=1e-9)


def test_local_adam_on_one_worker_is_torchs_with_a_cosine_schedule():
    torch.manual_seed(0)
    module, inputs = nn.Linear(4, 3), torch.randn(16, 4)
    targets = torch.randint(0, 3, (16,))
    run = ngo.fit(
        module, (inputs, targets), (inputs, targets), method="centralized", workers=1,
        local_rule="adam_cosine", beta1=0.8, lr=0.05, batch_size=16, epochs=20, progress=False,
    )  # fmt: skip
    assert run.spec.steps(16) == 20
    adam = torch.optim.Adam(module.parameters(), lr=0.05, betas=(0.8, 0.999))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=20)
    start = module.weight.detach().clone()
    for _ in range(20):
        adam.zero_grad()
        nn.functional.cross_entropy(module(inputs), targets).backward()
        adam.step()
        schedule.step()
    for ours, theirs in zip(run.consensus.parameters(), module.parameters(), strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-6)
    assert (module.weight - start).abs().max() > 0.1


def test_a_worker_that_is_too_far_off_counts_for_nobody():
    X, _ = states()
    X[0] += 1000
    near, far = (
        Stepping("ngo", X, ring_matrix(), coupling="bounded_confidence", confidence=confidence)
        for confidence in (100.0, 1e9)
    )
    linear = Stepping("gossip", X, ring_matrix(), p=1.0)
    for each in (near, far, linear):
        each.advance()
    assert torch.allclose(far.X, linear.X)
    assert torch.equal(near.X[0], X[0])
    assert (near.X - X).abs().max() < 10
    assert torch.allclose(near.X[1:].mean(0), X[1:].mean(0))


def test_the_csv_file_and_its_blocks(tmp_path):
    arrays = DATASETS["flowers"].read(tmp_path)
    assert arrays.train_inputs.shape == (DATASETS["flowers"].train_samples, 4)
    assert arrays.test_inputs.shape == (30, 4)
    assert arrays.train_inputs[0].tolist() == pytest.approx([5.8, 2.8, 5.1, 2.4])
    assert set(arrays.train_targets) == set(arrays.test_targets) == {0, 1, 2}
    parts = PARTITIONS["blocks"].assign(arrays.train_targets, 7, generator=None)
    assert np.concatenate(parts).tolist() == list(range(120))
    assert {len(part) for part in parts} == {17, 18}


@pytest.mark.parametrize(("norm", "expected"), [(2.0, 5.0), (1.0, 7.0)])
def test_the_disagreement_of_kept_models(tmp_path, norm, expected):
    kept = {3: {"X": torch.tensor([[3.0, 4.0], [-3.0, -4.0]]), "buffers": torch.empty(2, 0)}}
    spec = resolve({"workers": 2})
    save_snapshots(tmp_path / "models.pt", spec, kept)
    entry = MEASUREMENTS["disagreement"]
    table = entry.measure(entry.options(norm=norm), [tmp_path / "models.pt"], tmp_path)
    assert table["distance"].tolist() == [expected, expected]
    assert table["worker"].tolist() == [0, 1]
    assert set(table["run"]) == {spec.id}


def test_lora_starts_from_the_mean_model_of_an_earlier_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").mkdir()
    text = {"dataset": "markov_text", "model": "gpt_char_small"}
    spec, snapshots = keep_models(tmp_path / "base/models.pt", **text)
    population = Population("pretrained_lora", 2, seed=7)
    assert population.d == Population("gpt_char_lora", 1, seed=0).d
    characters = batch("gpt_char_small", 1).inputs[0]
    with torch.no_grad():
        expected = module(spec, snapshots[3])(characters)
        assert torch.allclose(population.modules[1](characters), expected, atol=1e-5)
