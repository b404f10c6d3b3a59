"""A user's loss and score: what is reported is their value for all samples of an evaluation."""

import warnings
from dataclasses import replace

import pytest
import torch
from own_modules import DATA, quick, told
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.engine.population import Population
from ngo.models.task import TASKS
from ngo.training import problem_checks
from ngo.training.learning_problem import make_problem
from ngo.training.problem_checks import check_problem

X, y = DATA
COLUMN = X.sum(1, keepdim=True)
SORTED = X.repeat(11, 1)[y.repeat(11).argsort()], y.repeat(11).sort()[0]  # of three chunks
WEIGHTS = torch.tensor([1.0, 9, 2, 1])


def macro_recall(outputs, targets):
    """A score that fails, as some do, where a class is absent; a NumPy number."""
    hits = [(outputs.argmax(1) == k)[targets == k].double().mean() for k in targets.unique()]
    if len(hits) < 4:
        raise ValueError("a class is absent")
    return torch.stack(hits).mean().numpy()[()]


def explained(outputs, targets):
    """R², NaN for one sample."""
    return 1 - (outputs - targets).square().sum() / (targets - targets.mean(0)).square().sum()


def squared(outputs, targets):
    return (outputs - targets) ** 2


def last(run):
    return run.metrics.iloc[-1]


def test_a_score_that_is_no_mean_is_that_of_all_samples():
    """Macro F1 was 0.33 for 0.96 on a sorted test set, R² NaN where a chunk had one sample."""
    run = quick(test=SORTED, score=macro_recall, holdout=0.5, batch_size=2, eval_images=300)
    for module, column in ((run.consensus, "consensus_accuracy"), (None, "workers_accuracy_min")):
        models = [module] if module else run.models
        own = min(macro_recall(model(SORTED[0]).detach(), SORTED[1]) for model in models)
        assert last(run)[column] == pytest.approx(float(own), rel=1e-12)
    assert run.metrics["holdout_accuracy"].between(0.0, 1.0).all()
    column = X.repeat(6, 1)[:251], COLUMN.repeat(6, 1)[:251]
    run = quick(nn.Linear(3, 1), column, score=explained, loss=nn.MSELoss())
    own = explained(run.consensus(column[0]).detach(), column[1])
    assert last(run)["consensus_accuracy"] == pytest.approx(float(own), rel=1e-12)


def test_models_that_are_evaluated_together_call_a_score_once():
    """As on a GPU."""
    task = replace(TASKS["classification"], score=lambda o, t: o.std().double(), at_once=True)
    population = Population("mnist_cnn", 2, 0, task=task, initialization="by_worker", threads=1)
    inputs, targets = torch.randn(9, 1, 28, 28).split(4), (torch.arange(9) % 10).split(4)
    consensus, *modules = population.models()
    together = population.batched_sums(consensus, [1], inputs, targets)
    alone = population.module_sums([consensus, modules[1]], inputs, targets)
    assert torch.allclose(torch.tensor(together), torch.tensor(alone))
    own = modules[1].eval()(torch.cat(inputs)).std().item()
    assert alone[1][1] / 9 == pytest.approx(own, rel=1e-5)


def test_beyond_the_bound_a_score_is_by_sample(monkeypatch):
    monkeypatch.setattr(problem_checks, "AT_ONCE", 1000)
    line = told(test=SORTED, score=macro_recall, loss=nn.CrossEntropyLoss())
    assert "score: it returned [] for 2" in line or "score: it failed on outputs [2" in line
    line = told(module=nn.Linear(3, 1), train=(SORTED[0], SORTED[0][:, :1]), score=explained)
    assert "it must be a float tensor: one for each, [250], since all outputs" in line
    run = quick(test=SORTED, score=lambda o, t: o.argmax(1) == t, loss=nn.CrossEntropyLoss())
    outputs = run.consensus(SORTED[0]).detach()
    assert last(run)["consensus_accuracy"] == (outputs.argmax(1) == SORTED[1]).double().mean()
    own = F.cross_entropy(outputs, SORTED[1]).item()
    assert last(run)["consensus_loss"] == pytest.approx(own, rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "targets", "part"),
    [
        (squared, COLUMN[:, 0], "loss: it returned [4, 4] for 4 samples, outputs [4, 1] and targ"),
        (lambda o, t: squared(o, t).mean(), COLUMN[:, 0], "loss: it compares each output with eve"),
        (nn.MSELoss(reduction="sum"), COLUMN, "loss: it is the sum over samples; it must be their"),
        (
            lambda o, t: squared(o, t).sum() / 4,
            COLUMN,
            "such as lambda outputs, targets: f(outputs",
        ),
        (squared, X, "loss: it returned [4, 3] for 4 samples"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_loss_that_broadcasts_or_sums_is_refused(loss, targets, part, size):
    with warnings.catch_warnings(action="ignore"):  # torch's own, of a broadcast
        line = told(module=nn.Linear(3, 1), train=(X, targets), loss=loss, batch_size=size)
    assert size < 4 or part in line
    assert line.startswith("loss: it ")


@pytest.mark.parametrize("bias", [-5.0, 0.0, 5.0])
def test_a_score_that_broadcasts_is_refused(bias):
    """Also where all outputs have one sign, so that the score is the same at first."""
    module = nn.Linear(3, 1)
    module.bias.data.fill_(bias)
    line = told(
        module=module,
        train=(X, COLUMN[:, 0]),
        loss=lambda o, t: squared(o[:, 0], t),
        score=lambda o, t: (o.sign() == t.sign()).float().mean(),
    )
    assert "score: it compares each output with every target, since their shapes differ" in line


@pytest.mark.parametrize(
    "loss", [nn.CrossEntropyLoss(weight=WEIGHTS), nn.CrossEntropyLoss(ignore_index=2)]
)
def test_a_loss_that_is_neither_mean_nor_sum_is_told_and_reported_as_it_is(loss):
    with pytest.warns(RuntimeWarning, match="loss: its value is not the mean of those of") as told:
        run = quick(test=SORTED, loss=loss)
    assert len(told) == 1
    own = loss(run.consensus(SORTED[0]).detach(), SORTED[1]).item()
    assert last(run)["consensus_loss"] == pytest.approx(own, rel=1e-6)


def test_numbers_of_samples_that_depend_on_others_are_told():
    with pytest.warns(RuntimeWarning, match="loss: .* shapes that broadcast"):
        quick(nn.Linear(3, 1), (X, COLUMN[:, 0]), loss=lambda o, t: squared(o, t).mean(1))


@pytest.mark.parametrize(
    "loss",
    [
        lambda o, t: squared(o, t).mean(),
        lambda o, t: squared(o, t),  # [b, 1]
        lambda o, t: squared(o.sum(-1), t.sum(-1)).mean(),
        lambda o, t: (o * 0).sum(),
        lambda o, t: squared(F.dropout(o), t).mean(),
    ],
)
@pytest.mark.parametrize("size", [1, 4])
def test_means_zeros_and_random_losses_are_taken_without_a_word(loss, size):
    with warnings.catch_warnings(action="error"):
        quick(nn.Linear(3, 1), (X, COLUMN), loss=loss, batch_size=size, epochs=0.1)


def test_a_tasks_score_of_one_number_is_called_once(digits):
    spec = digits_run()
    task = replace(TASKS["classification"], score=lambda o, t: float(o.std()))
    tried = check_problem(spec, make_problem(spec, digits, task=task)).task
    assert tried.at_once
    assert tried.loss is task.loss
    assert tried.score(torch.tensor([[1.0], [3.0]]), torch.zeros(2)) == torch.tensor([1.0, 3]).std()
