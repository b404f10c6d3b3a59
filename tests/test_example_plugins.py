"""What the example plugins compute."""

import numpy as np
import pytest
import torch
from conftest import REPOSITORY, gaussian
from stepping import Stepping, ring_matrix, states
from torch import nn

import ngo
from ngo.common import plugins
from ngo.data.dataset import DATASETS
from ngo.data.partition import PARTITIONS
from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topology import TOPOLOGIES, Mixing
from ngo.measures.measurement import MEASUREMENTS
from ngo.models.task import TASKS
from ngo.training.resolve import resolve
from ngo.training.snapshots import save_snapshots

EXAMPLES = REPOSITORY / "examples/plugins"


@pytest.fixture(autouse=True)
def examples(own_entries):
    plugins.load(sorted(EXAMPLES.glob("*.py")))


def matrix(name, n, t=0):
    return Mixing(name, n, None).at(t)


def test_each_has_30_lines_at_most():
    lines = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert len(lines) == 10
    assert max(lines.values()) <= 30


def test_the_exponential_graph_mixes_ten_times_faster_than_the_ring():
    """On 16 workers: neighbours at 1, 2, 4 and 8 places, thus 7 of them, and λ₂ = 4/8."""
    W = matrix("exponential", 16)
    assert ((W > 0).sum(1) == 8).all()
    assert spectral_gap(W) == pytest.approx(0.5)
    assert spectral_gap(matrix("ring", 16)) == pytest.approx(2 / 3 * (1 - np.cos(np.pi / 8)))
    assert len(TOPOLOGIES["exponential"].edges(16)) == 16 * 7 / 2


def test_the_one_peer_graph_averages_exactly_in_log2_n_steps():
    mixing = Mixing("one_peer", 8, None)
    first, second, third, fourth = (mixing.at(t) for t in range(4))
    assert all(((W > 0).sum(1) == 2).all() for W in (first, second, third))
    assert torch.equal(third @ second @ first, torch.full((8, 8), 1 / 8, dtype=torch.float64))
    assert torch.equal(fourth, first)
    assert not torch.equal(first, second)


def test_push_sum_finds_the_mean_on_a_directed_graph_where_mixing_does_not(own_entries):
    @ngo.topology("uneven", directed=True)
    def uneven(n):
        return [*((i, (i + 1) % n) for i in range(n)), (0, 2), (0, 3)]

    X, W = gaussian(6, 3), matrix("uneven", 6)
    plain, stepping = X.clone(), Stepping("push_sum", X, W)
    for _ in range(120):
        plain = W @ plain
        stepping.advance()
    assert torch.allclose(stepping.X, X.mean(0).expand_as(X), rtol=0, atol=1e-9)
    assert (plain - X.mean(0)).abs().max() > 0.1


def test_gradient_tracking_reaches_the_optimum_at_which_gossip_is_biased():
    """Least squares, full batches: worker i has its own slope, and inputs of its own scale."""
    n, m = 4, 8
    x = torch.linspace(-1, 1, m).repeat(n, 1) * torch.tensor([[0.5], [1.0], [2.0], [3.0]])
    y = x * torch.tensor([[4.0], [-2.0], [1.0], [0.0]])
    data = (x.reshape(-1, 1), y.reshape(-1, 1))
    best = float((x * y).sum() / x.square().sum())
    off = {}
    for method in ("gradient_tracking", "gossip"):
        how = {"gamma": 1.0} if method == "gossip" else {}
        common = {"workers": n, "topology": "ring", "partition": "blocks", "batch_size": m}
        times = {"lr": 0.02, "epochs": 600, "eval_every": 600}
        module = nn.Linear(1, 1, bias=False)
        run = ngo.fit(module, data, data, method=method, progress=False, **common, **times, **how)
        off[method] = max(abs(worker.weight.item() - best) for worker in run.models)
    assert off["gradient_tracking"] < 1e-5
    assert off["gossip"] > 0.02


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


def test_a_clipped_pull_is_bounded_and_conserves_the_mean():
    X, _ = states()
    X[0] += 1000
    near, far = (
        Stepping("ngo", X, ring_matrix(), coupling="clipped", p=1.0, clip=clip)
        for clip in (0.5, 1e9)
    )
    linear = Stepping("gossip", X, ring_matrix(), p=1.0)
    for each in (near, far, linear):
        each.advance()
    assert torch.allclose(far.X, linear.X)
    assert (near.X - X).abs().max() <= 0.2 * 2 / 3 * 0.5 + 1e-9
    assert torch.allclose(near.X.mean(0), X.mean(0))


def test_the_hinge_loss_is_torchs():
    outputs, targets = gaussian(5, 3), torch.tensor([0, 1, 2, 1, 0])
    theirs = nn.functional.multi_margin_loss(outputs, targets, reduction="none")
    assert torch.allclose(TASKS["hinge"].loss(outputs, targets), 3 * theirs)
    assert TASKS["hinge"].score(outputs, outputs.argmax(1)).all()


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
    table = entry.measure(entry.settings(norm=norm), [tmp_path / "models.pt"], tmp_path)
    assert table["distance"].tolist() == [expected, expected]
    assert table["worker"].tolist() == [0, 1]
    assert set(table["run"]) == {spec.id}
