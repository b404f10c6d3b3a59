"""What each worker counts for: ``objective`` workers, samples or numbers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from ngo import UserError, fit
from ngo.common.registries import COUPLINGS, METHODS, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.distributed.process_run import check
from ngo.gossip.exchange import Failures, Network
from ngo.gossip.gossip_step import Coupling
from ngo.gossip.method import method
from ngo.gossip.mixing_matrix import by_shares
from ngo.gossip.step import Step
from ngo.training.spec_checks import check_snapshots, resolve

QUIET = {"progress": False, "eval_every": 10**6}


def linear() -> torch.nn.Module:
    return torch.nn.Linear(1, 1, bias=False)


def data(*sizes: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Worker i has targets i: its loss is least at the parameter i."""
    return [(torch.ones(m, 1), torch.full((m, 1), float(i))) for i, m in enumerate(sizes)]


def shares(*numbers: float) -> torch.Tensor:
    w = torch.tensor(numbers, dtype=torch.float64)
    return w / w.sum()


LINES = (
    {"method": "centralized"},
    {"method": "diloco", "outer_lr": 1, "outer_momentum": 0},
    {"method": "local_sgd", "topology": "complete"},
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("objective", "minimum"),
    [("samples", 1000 / 1010), ("workers", 1 / 2), ([3, 1], 1 / 4)],
)
def test_workers_of_10_and_1000_samples_end_at_the_minimum_of_their_objective(
    line: dict, objective: object, minimum: float
) -> None:
    unequal = data(10, 1000)
    how = {**QUIET, **line, "batch_size": 10, "lr": 0.1, "epochs": 2, "objective": objective}
    run = fit(linear, unequal, unequal[0], **how)
    weight = run.consensus.weight.item()
    assert weight == pytest.approx(minimum, abs=1e-5)
    assert run.models[0].weight.item() == pytest.approx(weight, abs=1e-6)


UNDIRECTED = sorted(
    name
    for name, graph in TOPOLOGIES.items()
    if not graph.directed and not graph.fields and not graph.varies and name != "hypercube"
)


@pytest.mark.parametrize("name", [*UNDIRECTED, "hypercube"])
@pytest.mark.parametrize("rule", ["metropolis", "uniform"])
def test_the_mixing_matrix_keeps_the_weighed_mean(name: str, rule: str) -> None:
    n = 16
    w = shares(*range(1, n + 1))
    W = TOPOLOGIES[name].matrix(n, weights=rule)
    S = by_shares(W, w).dense()
    ours = S / (n * w)[:, None]
    assert torch.equal(S, S.T)
    torch.testing.assert_close(w @ ours, w)
    torch.testing.assert_close(ours.sum(1), torch.ones(n, dtype=torch.float64))
    assert (ours >= 0).all()
    assert ((ours > 0) | torch.eye(n, dtype=torch.bool)).equal(
        (W.dense() > 0) | torch.eye(n, dtype=torch.bool)
    )
    if name == "complete":
        torch.testing.assert_close(ours, w.expand(n, n))
    equal = by_shares(W, torch.full_like(w, 1 / n)).dense()
    torch.testing.assert_close(equal, W.dense())


WEIGHING = sorted(name for name, coupling in COUPLINGS.items() if coupling.weighs)


@pytest.mark.parametrize("name", WEIGHING)
@pytest.mark.parametrize("p", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("topology", ["star", "ring", "complete"])
def test_a_pull_is_that_of_the_definition_and_keeps_the_weighed_mean(
    name: str, p: float, topology: str
) -> None:
    """x_i + Σ_j W'_ij φ(x_j − x_i), with compiled code and without."""
    n, d, coupling = 6, 50, COUPLINGS[name]
    w = shares(10, 1000, 3, 4, 50, 6)
    run = resolve(
        {"method": "ngo", "coupling": name, **({"p": p} if "p" in coupling.fields else {})}
    )
    X = torch.randn(n, d, generator=torch_stream(0, "test"))
    S = by_shares(TOPOLOGIES[topology].matrix(n), w)
    W = (S.dense() / (n * w)[:, None]).fill_diagonal_(0).float()
    wanted = X.clone()
    for i in range(n):
        for j in range(n):
            if W[i, j]:
                z = (X[j] - X[i])[None]
                wanted[i] += coupling.pull(z.clone(), W[i, j].view(1, 1), 0.7, run)[0]
    slow = Coupling(coupling.fields, coupling.pull)
    for each in (coupling, slow):
        network, ours = Network(), X.clone()
        network.worker_shares = w
        network.set_matrix(S)
        network.pull(ours, partial(each.step, gamma=0.7, run=run))
        torch.testing.assert_close(ours, wanted, rtol=2e-5, atol=2e-5)
        torch.testing.assert_close(w @ ours.double(), w @ X.double(), rtol=0, atol=1e-6)
        assert network.messages == S.edges


def test_gossip_goes_to_the_weighed_mean_and_V_to_zero() -> None:
    unequal = data(10, 1000, 100)
    rows = []
    run = fit(
        linear,
        unequal,
        unequal[0],
        method="ngo",
        p=0.9,
        topology="chain",
        objective="samples",
        batch_size=10,
        lr=0.02,
        link_failure=0.2,
        epochs=20,
        on_step=lambda state: rows.append(state.V),
        **QUIET,
    )
    w = shares(10, 1000, 100)
    x = torch.tensor([model.weight.item() for model in run.models], dtype=torch.float64)
    mean = float(w @ x)
    assert mean == pytest.approx(run.consensus.weight.item(), abs=1e-6)
    assert mean == pytest.approx(1200 / 1110, abs=1e-3)
    V = float(3 * (w @ (x - mean).square()))
    assert rows[-1] == pytest.approx(V) == run.metrics["V"].iloc[-1]


def test_equal_numbers_give_the_run_of_workers() -> None:
    equal = data(20, 20, 20)
    how = {**QUIET, "batch_size": 5, "epochs": 5, "topology": "complete", "p": 0.9, "method": "ngo"}
    one = fit(linear, equal, equal[0], **how)
    other = fit(linear, equal, equal[0], objective="samples", **how)
    for a, b in zip(one.models, other.models, strict=True):
        assert a.weight.item() == pytest.approx(b.weight.item(), abs=1e-5)
    assert one.spec.id == fit(linear, equal, equal[0], objective="workers", **how).spec.id
    assert one.spec.id != other.spec.id


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"method": "gradient_tracking", "objective": "samples"}, "method 'gradient_tracking'"),
        ({"method": "ngo", "objective": "samples", "coupling": "median"}, "coupling 'median'"),
        ({"method": "ngo", "objective": "samples", "attack": "noise"}, "attack 'noise'"),
        ({"method": "ngo", "objective": "samples", "clock": "waiting"}, "clock 'waiting'"),
        ({"objective": [1, 2, 3]}, "3 numbers for 2 workers"),
        ({"objective": [1, 0]}, "a number above 0"),
        ({"objective": [[1, 1]]}, "a number above 0"),
        ({"objective": ["a", "b"]}, "a number above 0"),
        ({"objective": "sample"}, "Did you mean 'samples'"),
    ],
)
def test_what_is_refused(fields: dict, told: str) -> None:
    equal = data(4, 4)
    if fields.get("attack"):
        equal = data(4, 4, 4)
    with pytest.raises(UserError, match=told) as error:
        fit(linear, equal, equal[0], batch_size=2, **fields, **QUIET)
    assert str(error.value).startswith("objective:")
    assert "\n" not in str(error.value)


def test_distributed_runs_and_snapshots_count_workers_equally(tmp_path: Path) -> None:
    run = resolve({"objective": "samples"})
    for refuse in (lambda: check(run, tmp_path, 2), lambda: check_snapshots(run, ["final"], 10)):
        with pytest.raises(UserError, match="objective: 'samples' is not allowed"):
            refuse()


def test_workers_away_and_failed_links_keep_the_weighed_mean() -> None:
    n, w = 8, shares(*range(1, 9))
    S = by_shares(TOPOLOGIES["complete"].matrix(n), w)
    failures = Failures(n, 3, link_failure=0.5, absence=0.0)
    X = torch.randn(n, 20, generator=torch_stream(0, "test"))
    network, before = Network(), w @ X.double()
    pull = partial(COUPLINGS["power"].step, gamma=1.0, run=resolve({"method": "ngo", "p": 0.8}))
    network.worker_shares = w
    for _ in range(5):
        network.set_matrix(failures.matrix(S, [2]))
        network.pull(X, pull)
        torch.testing.assert_close(w @ X.double(), before, rtol=0, atol=1e-6)
    network.set_matrix(S)
    assert network.mean(X).sub(before).abs().max() < 1e-6


def test_a_method_of_ones_own_that_mixes_is_refused() -> None:
    @method("mixes_by_itself", fields=("topology", "objective"))
    def mixes_by_itself(step: Step) -> None:
        assert step.shares is not None
        step.network.mix(step.X)

    equal = data(4, 8)
    try:
        with pytest.raises(
            UserError, match="objective: method 'mixes_by_itself' exchanges by more"
        ):
            fit(
                linear,
                equal,
                equal[0],
                method="mixes_by_itself",
                batch_size=2,
                objective="samples",
                **QUIET,
            )
    finally:
        METHODS.pop("mixes_by_itself", None)
