"""Cohorts: ``participants`` of the workers take part in each round, and the others cost nothing."""

from __future__ import annotations

import copy
import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ngo import UserError, fit
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.distributed.process_run import check
from ngo.training.cohort_stepper import CohortStepper
from ngo.training.lockstep import together
from ngo.training.run import Training, stepper_of
from ngo.training.spec_checks import check_snapshots, resolve
from ngo.training.stepper import Stepper

DILOCO = {"method": "diloco", "outer_lr": 1, "outer_momentum": 0, "local_steps": 2}
SERVERS = (
    DILOCO,
    {"method": "diloco", "local_steps": 2, "local_rule": "adam", "weight_decay": 0.1},
    {"method": "local_sgd", "topology": "complete", "local_steps": 2, "local_rule": "momentum"},
    {"method": "centralized", "local_rule": "momentum"},
)
ROUNDS, H, B = 20, 2, 4
QUIET = {"progress": False, "batch_size": B, "lr": 0.1, "eval_every": 10**6}


def clients(n: int = 10, m: int = 8) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Client i has m samples, of two of three classes."""
    X = torch.randn(n, m, 5, generator=torch_stream(0, "test"))
    return [(X[i] + i / n, (torch.arange(m) % 2 + i) % 3) for i in range(n)]


def linear() -> torch.nn.Module:
    return torch.nn.Linear(5, 3)


def network() -> torch.nn.Module:
    """With all that is a worker's own: dropout, running means, and a number of batches."""
    layers = torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Dropout()
    return torch.nn.Sequential(*layers, torch.nn.Linear(6, 3))


def fitted(make: Any = linear, rounds: int = ROUNDS, data: Any = None, **fields: Any) -> Any:
    """A run of so many rounds of H steps."""
    data = data or clients()
    together = fields.get("participants") or len(data)
    steps = rounds * H
    epochs = steps * together * B / sum(len(y) for _, y in data)
    return fit(make, data, data[0], epochs=epochs, **{**QUIET, **fields})


def states(run: Any) -> list[torch.Tensor]:
    return [x for model in (run.consensus, *run.models) for x in model.state_dict().values()]


def equal(one: Any, other: Any) -> bool:
    return all(torch.equal(*pair) for pair in zip(states(one), states(other), strict=True))


@pytest.mark.parametrize("line", SERVERS)
@pytest.mark.parametrize("make", [linear, network])
def test_all_workers_as_participants_are_a_run_without_the_field(line: dict, make: Any) -> None:
    without, with_all = (
        fitted(make, 5, **line, eval_every=0.5, **more) for more in ({}, {"participants": 10})
    )
    assert equal(without, with_all)
    columns = ["run", "participants", "seconds"]
    tables = [run.metrics.drop(columns=columns) for run in (without, with_all)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert without.spec.participants == 0
    assert without.spec.id != with_all.spec.id
    assert replace(with_all.spec, participants=0).id == without.spec.id


def problem_of(line: dict, make: Any = network, **fields: Any) -> tuple[Any, Any]:
    """The run and the problem of a call of ``fit``."""
    kept: list[Training] = []

    def keep(state: Any) -> None:
        kept.append(state._training)
        raise StopIteration

    fitted(make, 6, on_evaluation=keep, **line, **fields)
    return kept[0]._spec, kept[0]._problem


@pytest.mark.parametrize("line", [SERVERS[0], SERVERS[3]])
def test_a_cohort_of_all_takes_the_steps_of_all(line: dict) -> None:
    """By the class itself, which a run of all workers does not use."""
    spec, problem = problem_of(line, linear)
    plain, cohort = Stepper(spec, problem), CohortStepper(replace(spec, participants=10), problem)
    for t in range(1, 13):
        assert torch.equal(plain.advance(), cohort.advance())
        rows = cohort.population.X
        if t % (spec.local_steps or 1) == 0:
            server = cohort.population.consensus().parameters()
            rows = torch.nn.utils.parameters_to_vector(server).expand_as(rows)
        assert torch.equal(plain.population.X, rows)


OPTIMIZERS: dict[str, Any] = {
    "sgd": torch.optim.SGD,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "adam": torch.optim.Adam,
}


def fedavg_by_hand(server: torch.nn.Module, rule: str, n: int, m: int) -> None:
    """Federated averaging (McMahan et al. 2017): m of n clients pass once over their samples."""
    data, orders = clients(n), [torch_stream(0, "batches", i) for i in range(n)]
    for k in range(ROUNDS):
        models = []
        for i in sorted(numpy_stream(0, "participants", k).choice(n, m, replace=False)):
            (X, y), model = data[i], copy.deepcopy(server)
            optimizer = OPTIMIZERS[rule](model.parameters(), lr=0.1)
            for batch in torch.randperm(len(X), generator=orders[i]).split(B):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(X[batch]), y[batch]).backward()
                optimizer.step()
            models.append(model)
        with torch.no_grad():
            for mean, *each in zip(*(x.parameters() for x in (server, *models)), strict=True):
                mean.copy_(torch.stack(each).mean(0))


@pytest.mark.parametrize("line", [DILOCO, SERVERS[2]])
@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_federated_averaging_is_that_by_hand(line: dict, rule: str) -> None:
    server = linear()
    ours = fitted(copy.deepcopy(server), participants=3, **{**line, "local_rule": rule})
    fedavg_by_hand(server, rule, 10, 3)
    for a, b in zip(ours.consensus.parameters(), server.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    row = ours.metrics.iloc[-1]
    assert row["step"] == ROUNDS * H
    assert row["samples"] == ROUNDS * H * 3 * B
    assert row["messages"] == ROUNDS * 6
    assert row["bytes_sent"] == ROUNDS * 6 * 18 * 4


def test_the_server_keeps_its_momentum_and_takes_the_mean_by_objective() -> None:
    """Of two numbers a client: FedAvgM with one step a round, from the rows before the exchange."""
    line = {**DILOCO, "outer_lr": 0.7, "outer_momentum": 0.5, "outer_rule": "momentum"}
    weights, seen = [*range(1, 11)], list[tuple]()

    def see(state: Any) -> None:
        if state.step % H == 0:
            rows = [state.worker(i).weight.detach().double() for i in state.workers]
            w = torch.tensor([float(weights[i]) for i in state.workers], dtype=torch.float64)
            w /= w.sum()
            mean = sum(x * share for x, share in zip(rows, w, strict=True))
            V = 3 * sum(s * float((x - mean).square().sum()) for x, s in zip(rows, w, strict=True))
            seen.append((mean, state.consensus().weight.detach().double(), float(V), state.V))

    module = torch.nn.Linear(5, 3, bias=False)
    fitted(module, 6, participants=3, objective=weights, on_step=see, **line)
    server, momentum = module.weight.detach().double(), torch.zeros(3, 5, dtype=torch.float64)
    assert len(seen) == 6
    for mean, ours, V, our_V in seen:
        momentum = 0.5 * momentum + mean - server
        server = server + 0.7 * momentum
        torch.testing.assert_close(ours, server, rtol=1e-5, atol=1e-6)
        assert our_V == pytest.approx(V, rel=1e-4)
        assert V > 0


def test_participants_start_from_the_server_s_model_and_mean_buffers() -> None:
    """Parameters, running means and the number of batches; between exchanges the server waits."""
    servers, before = [], []

    def see(state: Any) -> None:
        servers.append(state.consensus().state_dict())
        before.append([state.worker(i).state_dict() for i in state.workers])

    run = fitted(network, 4, participants=3, on_step=see, **DILOCO)
    for t in range(1, 8, 2):  # after an exchange
        for name, mean in servers[t].items():
            each = torch.stack([worker[name] for worker in before[t]])
            wanted = each.double().mean(0).float() if mean.is_floating_point() else each.amax(0)
            torch.testing.assert_close(mean, wanted, rtol=1e-6, atol=1e-7)
        assert int(servers[t]["1.num_batches_tracked"]) == t + 1
        assert any(not torch.equal(a["0.weight"], before[t][0]["0.weight"]) for a in before[t])
    for t in range(2, 8, 2):
        for name, x in servers[t].items():
            assert torch.equal(x, servers[t - 1][name])
        counts = [int(worker["1.num_batches_tracked"]) for worker in before[t]]
        assert counts == [t + 1] * 3
    ends = run.consensus.state_dict(), [model.state_dict() for model in run.models]
    assert all(torch.equal(x, servers[-1][name]) for name, x in ends[0].items())
    assert len(run.models) == 3
    assert all(
        torch.equal(a["0.weight"], b["0.weight"]) for a, b in zip(ends[1], before[-1], strict=True)
    )


def test_columns_are_those_of_the_server_and_of_participants_before_their_exchange() -> None:
    data, rows = clients(), []

    def loss(model: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
        with torch.no_grad():
            return float(torch.nn.functional.cross_entropy(model(X), y))

    def see(state: Any) -> None:
        each = {i: state.worker(i) for i in state.workers}
        everything = [torch.cat(x) for x in zip(*data, strict=True)]
        workers = [loss(model, *everything) for model in each.values()]
        own = [loss(model, *data[i]) for i, model in each.items()]
        found = {"consensus_loss": loss(state.consensus(), *everything)}
        found |= {"workers_loss_mean": np.mean(workers), "workers_loss_min": min(workers)}
        rows.append((found | {"own_loss_mean": np.mean(own)}, state.metrics))

    steps = 6 * H * 3 * B / 80
    how = {**QUIET, **DILOCO, "eval_every": 3 * B / 80, "epochs": steps, "participants": 3}
    fit(linear(), data, data, on_evaluation=see, **how)
    assert len(rows) == 6 * H + 1
    for wanted, metrics in rows:
        assert {name: metrics[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    assert rows[H][1]["V"] > 0


def test_one_participant_is_not_the_server() -> None:
    """Its row agrees with all rows, which are itself; the columns still tell the two apart."""
    run = fitted(linear(), 3, participants=1, **{**DILOCO, "outer_lr": 0.5})
    row = run.metrics.iloc[-1]
    assert abs(row["consensus_loss"] - row["workers_loss_mean"]) > 1e-4


def cohorts(rounds: int = 6, **fields: Any) -> list[tuple[int, ...]]:
    drawn: list[tuple[int, ...]] = []
    fitted(
        linear, rounds, participants=3, on_step=lambda s: drawn.append(tuple(s.workers)), **fields
    )
    return drawn


def test_cohorts_are_those_of_the_seed_and_the_round() -> None:
    by_two = cohorts(**DILOCO)
    assert by_two[::2] == by_two[1::2]
    assert len(set(by_two)) > 1
    assert by_two == cohorts(**SERVERS[2])
    assert by_two[::2] == cohorts(3, **SERVERS[3])
    assert by_two != cohorts(**DILOCO, seed=1)
    assert all(list(drawn) == sorted(set(drawn)) for drawn in by_two)
    counts = np.bincount(np.concatenate(cohorts(60, method="centralized")), minlength=10)
    assert counts.sum() == 360
    assert abs(counts - 36).max() < 5 * np.sqrt(120 * 0.3 * 0.7)


def image_problem() -> tuple[Any, Any]:
    """Of the data set of digits, whose images may be changed."""
    from ngo.training.learning_problem import load_problem

    given = {"dataset": "digits", "model": "mnist_fc", "augmentation": "crop_flip", "workers": 8}
    given |= {"method": "diloco", "local_steps": 2, "participants": 3, "partition": "iid"}
    spec = resolve({**given, "batch_size": 4, "epochs": 0.1, "eval_every": 1})
    return spec, load_problem(spec, Path("data"), "cpu")


@pytest.mark.parametrize("line", [*SERVERS, None])
def test_a_run_resumed_at_any_step_goes_on_with_equal_bytes(line: dict | None) -> None:
    spec, problem = problem_of(line, participants=3) if line else image_problem()

    def taken(state: bytes | None) -> list[bytes]:
        """The states before and after each step, from a state on."""
        kept: list[bytes] = []
        held = state and torch.load(io.BytesIO(state), weights_only=True)
        stepper = stepper_of(spec, problem, (), backend=held and held["backend"])
        if held:
            stepper.load_state_dict(held)
        while True:
            torch.save(stepper.state_dict(), file := io.BytesIO())
            kept.append(file.getvalue())
            if stepper.t == 5:
                return kept
            stepper.advance()

    whole = taken(None)
    assert len(set(whole)) == 6
    for t, state in enumerate(whole):
        for ours, wanted in zip(taken(state), whole[t:], strict=True):
            same(*(torch.load(io.BytesIO(x), weights_only=True) for x in (ours, wanted)))


def same(one: Any, other: Any) -> None:
    """Whether two states are equal, to the last bit."""
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict | list):
        pairs = one.items() if isinstance(one, dict) else enumerate(one)
        assert len(one) == len(other)
        for key, value in pairs:
            same(value, other[key])
    else:
        assert one == other


def test_a_call_of_fit_resumes_in_its_folder(tmp_path: Path) -> None:
    module = network()

    def stop(state: Any) -> None:
        if state.step == 5:
            raise StopIteration

    whole = fitted(copy.deepcopy(module), 6, participants=3, **DILOCO)
    part = fitted(module, 6, participants=3, out=tmp_path, on_step=stop, **DILOCO)
    assert part.metrics["step"].iloc[-1] == 5
    assert equal(whole, fitted(module, 6, participants=3, out=tmp_path, **DILOCO))


class Sizes(TorchDispatchMode):
    """Keeps the number of entries of the largest tensor that an operation of torch returns."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        numbers = [x.numel() for x in tree_leaves(made) if isinstance(x, torch.Tensor)]
        self.largest = max(self.largest, *numbers, 0)
        return made


@pytest.mark.parametrize("line", SERVERS)
def test_no_tensor_has_the_population_s_size_times_d(line: dict) -> None:
    n, d = 500, 6 * 40 + 41 * 3
    X = torch.randn(2 * n, 5)
    parts = np.arange(2 * n).reshape(n, 2)
    module = torch.nn.Sequential(torch.nn.Linear(5, 40), torch.nn.Dropout(), torch.nn.Linear(40, 3))
    how = {
        **QUIET,
        **line,
        "partition": parts,
        "batch_size": 2,
        "epochs": 0.1,
        "participants": 5,
        "lr": 0.01,
    }
    with Sizes() as sizes:
        run = fit(
            module,
            (X, X[:, :1]),
            (X[:50], X[:50, :1]),
            loss=lambda o, y: (o - y).square().mean(1),
            **how,
        )
    assert run.metrics["step"].iloc[-1] == 10
    assert 2 * n * 5 <= sizes.largest < n * d / 4


def test_a_run_of_cohorts_trains_by_itself_among_others() -> None:
    spec, problem = image_problem()
    spec = replace(spec, augmentation="none")
    seeds = [replace(spec, seed=seed) for seed in (0, 1)]
    others = [replace(each, participants=0) for each in seeds]

    def ends(specs: list[Any]) -> dict[Any, Training]:
        ended: dict[Any, Training] = {}

        def start(each: Any, signals: Any) -> Any:
            training = Training(each, problem, threads=1)
            for _ in training.turns():
                yield training
            ended[each] = training

        together(
            {each: partial(start, each) for each in specs},
            10,
            lambda *failed: pytest.fail(str(failed)),
        )
        return ended

    joined = ends([*seeds, *others])
    assert {joined[each].width for each in others} == {2}
    for each in seeds:
        assert joined[each].width == 1
        alone = ends([each])[each]
        assert torch.equal(alone.population.X, joined[each].population.X)


REFUSED = (
    ({"method": "ngo"}, "participants: 3 is not possible with method 'ngo', whose .* absence is"),
    ({"method": "dsgd", "participants": 10}, "participants: 10 is not possible with method 'dsgd'"),
    ({"participants": 11}, "participants: 11 is more than the 10 workers; at most 10"),
    ({"topology": "ring"}, "not possible with topology 'ring', .* topology must be 'complete'"),
    ({"gamma": 0.5}, "not possible with gamma 0.5, .* gamma must be 1"),
    ({"coupling": "clipped"}, "not possible with coupling 'clipped', .* must be 'power'"),
    ({"absence": 0.1}, "not possible with absence 0.1, .* absence must be 0"),
    ({"clock": "waiting"}, "not possible with clock 'waiting', .* clock must be 'steps'"),
    ({"attack": "noise", "liars": 1}, "not possible with attack 'noise', .* must be 'none'"),
    ({"initialization": "by_worker"}, "not possible with initialization 'by_worker'"),
)


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_what_cohorts_do_not_go_with_is_refused_by_name(fields: dict, message: str) -> None:
    given = {"method": "local_sgd", "topology": "complete", "participants": 3, **fields}
    with pytest.raises(UserError, match=message) as error:
        resolve(given)
    assert "\n" not in str(error.value)


def test_snapshots_distributed_runs_and_absent_workers_are_refused() -> None:
    spec = resolve({"method": "diloco", "participants": 3})
    with pytest.raises(UserError, match="participants: 3 is not allowed; snapshots"):
        check_snapshots(spec, [1], 10)
    with pytest.raises(UserError, match="participants: 3 is .* of a distributed run"):
        check(spec, Path("elsewhere"), 2)
    seen = []

    def see(state: Any) -> None:
        (absent, *_) = {*range(10)}.difference(state.workers)
        with pytest.raises(UserError, match=rf"worker: {absent} is .* the workers are .* round"):
            state.worker(absent)
        seen.append(absent)

    fitted(linear, 2, participants=3, on_step=see, **DILOCO)
    assert len(seen) == 4
