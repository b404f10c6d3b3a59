"""A module, a loss and data are tried on a few samples: mistakes and draws are found."""

import random
import warnings
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from cases import cases, refused
from own_modules import (
    CLASSES,
    DATA,
    PAIR,
    Checkpointed,
    Dropping,
    Replaced,
    X,
    line,
    numbers,
    prepared,
    quick,
    told,
)
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.common.registries import TASKS
from ngo.engine.population import Population
from ngo.models.model import Model, mnist_cnn
from ngo.training import learning_problem
from ngo.training.fit_inputs import dataset_of, template
from ngo.training.learning_problem import make_problem, try_problem
from ngo.training.stepper import Stepper

SPEC = digits_run(batch_size=4, workers=2)
WIDE = nn.Linear(3, 5)
INPUTS, y = DATA
COLUMN = INPUTS.sum(1, keepdim=True)
SORTED = INPUTS.repeat(11, 1)[y.repeat(11).argsort()], y.repeat(11).sort()[0]  # of three chunks
WEIGHTS = torch.tensor([1.0, 9, 2, 1])


def tried(module, pair=PAIR, loss=None):
    (model, data, task), parts = prepared(module, pair, loss), [np.arange(4), np.arange(4, 8)]
    problem = make_problem(SPEC, data, parts, model=model, task=task)
    return try_problem(SPEC, problem, by_name=False)


class InPlace(nn.Linear):
    def forward(self, x):
        return super().forward(x.div_(2))


@cases(
    "module, pair, loss, part",
    (nn.Linear(2, 4), PAIR, None, "it failed on inputs of float32 of shape [3]: addmm: mat1"),
    (nn.Linear(3, 3), PAIR, None, "outputs are [4, 3]; for 4 classes they must be logits"),
    (nn.Linear(3, 1), numbers(), None, "its outputs are [4, 1] for targets [4]"),
    (InPlace(3, 4), PAIR, None, "module: it changes its inputs in place"),
    (WIDE, PAIR, "mse", "loss: 'mse' is not a function (outputs, targets)"),
    (WIDE, PAIR, lambda out, y: 1.0, "loss: it returned a float for 4 samples, "),
    (WIDE, PAIR, lambda out, y: out.sum(0), "loss: it returned [5] for 4 samples"),
    (WIDE, PAIR, lambda out, y: out.detach().sum(1), "loss: it failed on outputs [4, 5]"),
)
def test_modules_and_losses_that_do_not_fit_the_data_are_refused(module, pair, loss, part):
    before = X.clone()
    with line("module: " if loss is None else "loss: ", part):
        tried(module, pair, loss)
    assert torch.equal(X, before)


@torch.jit.script
def noise() -> torch.Tensor:
    return torch.rand(3)


class Draws(nn.Linear):
    def __init__(self, draw, when=(True, False)):
        super().__init__(3, 4)
        self.draw, self.when = draw, when

    def forward(self, x):
        if self.training in self.when:
            self.draw()
        return super().forward(x)


@cases(
    "module, draws, functions, in_evaluation",
    (nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 4)), False, set(), False),
    (nn.Sequential(nn.AlphaDropout(0.5), nn.Linear(3, 4)), True, {F.alpha_dropout}, False),
    (Draws(lambda: F.dropout(X)), True, {F.dropout}, False),
    (Draws(lambda: X.clone().normal_(), (False,)), True, {torch.Tensor.normal_}, False),
    (Draws(lambda: noise()), True, None, False),
    (Checkpointed(), True, None, False),
    (Dropping(), False, set(), True),
)
def test_draws_from_torchs_stream_and_in_evaluation_are_detected(
    module, draws, functions, in_evaluation
):
    before = torch.get_rng_state()
    problem, others = tried(module)
    model = problem.model
    assert (model.draws, model.functions, others) == (draws, functions, False)
    assert model.draws_in_evaluation is in_evaluation
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("draw", [lambda: np.random.rand(), lambda: random.random()])
def test_draws_from_other_global_streams_are_detected(draw):
    module = Draws(draw)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    problem, others = tried(module)
    assert others
    assert not problem.model.draws
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


def test_mistakes_of_modules_that_draw_are_told_after_few_calls():
    calls = []

    class Wrong(nn.Linear):
        def forward(self, x):
            calls.append(len(x))
            x += torch.randn(3)
            return super().forward(x)

    assert told(module=Wrong(3, 4)) == "module: it changes its inputs in place; copy them first."
    assert len(calls) <= 14


def test_a_function_that_changes_its_targets_changes_no_others():
    """Later evaluations had wrong accuracies, and the caller's targets were changed."""
    X, y = (each.clone() for each in DATA)
    run = quick(train=(X, y), test=(X, y), score=lambda outputs, y: y.zero_().float())
    assert (run.metrics["consensus_accuracy"] == 0).all()
    assert torch.equal(y, DATA[1])
    text = told(train=(X, y), test=(X, y), loss=lambda out, y: out.sum(1) + y.zero_())
    assert text == "loss: it changes its targets in place; copy them first."


@cases(
    "train, parts",
    (X, ["train: Tensor is not a pair (inputs, targets)"]),
    ((X, torch.tensor(1)), ["train targets: Tensor is no array", "a row per sample"]),
    ((X, CLASSES[:7]), ["train: there are 8 inputs and 7 targets", "equal"]),
    ((X[:, :2], CLASSES), ["test inputs: each is float32 of shape [3]", "shape [2]"]),
    ((X, CLASSES.float()), ["test targets: each is int64 of shape []", "float32"]),
)
def test_wrong_data_is_refused_in_a_line(train, parts):
    with line(*parts):
        dataset_of(train, PAIR, "cpu", False)
    for targets, part in ((CLASSES - 1, "-1 is not a class"), (CLASSES.int(), "each is int32 of")):
        with line("targets: ", part):
            dataset_of((X, targets), (X, targets), "cpu", False)


def with_sparse():
    module = nn.Linear(3, 4)
    module.register_buffer("mask", torch.eye(4).to_sparse())
    return module


def not_copied():
    module = nn.Linear(3, 4)
    module.last = [module.weight * 2]  # deepcopy refuses tensors inside a graph
    return module


@cases(
    "module, part",
    ("net", "str is not allowed; it must be a torch.nn.Module or a function"),
    (lambda: None, "NoneType is not allowed"),
    (nn.Linear, "its function failed: Linear.__init__() missing 2 required"),
    (nn.Linear(3, 4).requires_grad_(False), "no parameters to train"),
    (nn.LazyLinear(4), "lazy parameters"),
    (with_sparse(), "it has a sparse tensor"),
    (nn.Linear(3, 4).double(), "are float64; they must be float32: module.float()"),
    (nn.Linear(3, 4, dtype=torch.cfloat), "they must be float32: torch.view_as_complex of pairs"),
    (not_copied, "it can't be copied"),
)
def test_modules_that_cannot_be_trained_are_refused_in_a_line(module, part):
    with line("module: ", part):
        template(module, 0)


def with_value(value, place, tensor):
    changed = tensor.clone().float()
    changed.view(-1)[place] = value
    return changed


@cases(
    "train, test, part",
    ((torch.full((8, 3), torch.nan), CLASSES), PAIR, "train inputs: 24 values are not finite"),
    (PAIR, (with_value(torch.nan, 5, X), CLASSES), "test inputs: 1 values are not finite"),
    ((X, with_value(torch.nan, 2, X)), (X, X), "train targets: 1 values are not finite"),
)
def test_values_that_are_not_finite_are_told_before_training(train, test, part):
    arguments = {"module": nn.Linear(3, 3 if train[1].dim() > 1 else 4), "train": train}
    assert part in told(**arguments, test=test, workers=2, batch_size=2)


def digits_problem(digits, **parts):
    spec = digits_run()
    model = Model(parts.pop("build", mnist_cnn), (1, 28, 28), "classification")
    task = replace(TASKS["classification"], **parts)
    try_problem(spec, make_problem(spec, digits, model=model, task=task))


def flat(*layers):
    return lambda generator: nn.Sequential(nn.Flatten(), *layers)


@cases(
    "build, part",
    (flat(nn.Linear(5, 10)), "it failed on inputs of float32 of shape [1, 28, 28]: addmm"),
    (flat(nn.Linear(784, 9)), "its outputs are [16, 9]; for 10 classes they must be logits of"),
    (flat(nn.Linear(784, 10).requires_grad_(False)), "it has no parameters to train."),
    (lambda generator: nn.Linear("a", 3), "it can't be built: "),
    (flat(nn.Linear(784, 3), Replaced(), nn.Linear(4, 10)), "its tensor '2.seen' is replaced"),
)
def test_a_registered_model_or_task_that_does_not_fit_is_named_in_a_line(build, part, digits):
    with line("model 'mnist_cnn': " + part):
        digits_problem(digits, build=build)
    with line("task 'classification', loss: it returned [] for 16 samples"):
        digits_problem(digits, loss=F.cross_entropy)


def test_a_run_that_cannot_fit_is_refused_before_it_allocates(digits, monkeypatch):
    monkeypatch.setattr(learning_problem, "memory_limit", lambda: 10**6)
    monkeypatch.setattr("ngo.training.stepper.Population", None)
    spec = digits_run(workers=4)
    line = "workers: 4 with model 'mnist_cnn' need 1 MB of memory or more, and this process may use"
    refused(line, Stepper, spec, make_problem(spec, digits))


# A user's loss and score: what is reported is their value for all samples of an evaluation.


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
    column = INPUTS.repeat(6, 1)[:251], COLUMN.repeat(6, 1)[:251]
    run = quick(nn.Linear(3, 1), column, score=explained, loss=nn.MSELoss())
    own = explained(run.consensus(column[0]).detach(), column[1])
    assert last(run)["consensus_accuracy"] == pytest.approx(float(own), rel=1e-12)


def test_models_that_are_evaluated_together_call_a_score_once(digits):
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
    spec = digits_run()
    task = replace(TASKS["classification"], score=lambda o, t: float(o.std()))
    tried = try_problem(spec, make_problem(spec, digits, task=task))[0].task
    assert tried.at_once
    assert tried.loss is task.loss
    assert tried.score(torch.tensor([[1.0], [3.0]]), torch.zeros(2)) == torch.tensor([1.0, 3]).std()


def test_beyond_the_bound_a_score_is_by_sample(monkeypatch):
    monkeypatch.setattr(learning_problem, "AT_ONCE", 1000)
    line = told(test=SORTED, score=macro_recall, loss=nn.CrossEntropyLoss())
    assert "score: it returned [] for 2" in line or "score: it failed on outputs [2" in line
    line = told(module=nn.Linear(3, 1), train=(SORTED[0], SORTED[0][:, :1]), score=explained)
    assert "it must be a float tensor: one for each, [250], since all outputs" in line
    run = quick(test=SORTED, score=lambda o, t: o.argmax(1) == t, loss=nn.CrossEntropyLoss())
    outputs = run.consensus(SORTED[0]).detach()
    assert last(run)["consensus_accuracy"] == (outputs.argmax(1) == SORTED[1]).double().mean()
    own = F.cross_entropy(outputs, SORTED[1]).item()
    assert last(run)["consensus_loss"] == pytest.approx(own, rel=1e-6)


@cases(
    "loss, targets, part",
    (squared, COLUMN[:, 0], "loss: it returned [4, 4] for 4 samples, outputs [4, 1] and targ"),
    (lambda o, t: squared(o, t).mean(), COLUMN[:, 0], "loss: it compares each output with eve"),
    (nn.MSELoss(reduction="sum"), COLUMN, "loss: it is the sum over samples; it must be their"),
    (lambda o, t: squared(o, t).sum() / 4, COLUMN, "such as lambda outputs, targets: f(outp"),
    (squared, INPUTS, "loss: it returned [4, 3] for 4 samples"),
)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_loss_that_broadcasts_or_sums_is_refused(loss, targets, part, size):
    torch.manual_seed(0)  # of 150 initial models, one has losses of the right size by chance
    with warnings.catch_warnings(action="ignore"):  # torch's own, of a broadcast
        line = told(module=nn.Linear(3, 1), train=(INPUTS, targets), loss=loss, batch_size=size)
    assert size < 4 or part in line
    assert line.startswith("loss: it ")


@pytest.mark.parametrize("bias", [-5.0, 0.0, 5.0])
def test_a_score_that_broadcasts_is_refused(bias):
    """Also where all outputs have one sign, so that the score is the same at first."""
    module = nn.Linear(3, 1)
    module.bias.data.fill_(bias)
    right = {"loss": lambda o, t: squared(o[:, 0], t)}
    wrong = {"score": lambda o, t: (o.sign() == t.sign()).float().mean()}
    line = told(module=module, train=(INPUTS, COLUMN[:, 0]), **right, **wrong)
    assert "score: it compares each output with every target, since their shapes differ" in line


@cases("loss", nn.CrossEntropyLoss(weight=WEIGHTS), nn.CrossEntropyLoss(ignore_index=2))
def test_a_loss_that_is_neither_mean_nor_sum_is_told_and_reported_as_it_is(loss):
    with pytest.warns(RuntimeWarning, match="loss: its value is not the mean of those of") as told:
        run = quick(test=SORTED, loss=loss)
    assert len(told) == 1
    own = loss(run.consensus(SORTED[0]).detach(), SORTED[1]).item()
    assert last(run)["consensus_loss"] == pytest.approx(own, rel=1e-6)


def test_numbers_of_samples_that_depend_on_others_are_told():
    with pytest.warns(RuntimeWarning, match="loss: .* shapes that broadcast"):
        quick(nn.Linear(3, 1), (INPUTS, COLUMN[:, 0]), loss=lambda o, t: squared(o, t).mean(1))


@cases(
    "loss",
    lambda o, t: squared(o, t).mean(),
    lambda o, t: squared(o, t),  # [b, 1]
    lambda o, t: squared(o.sum(-1), t.sum(-1)).mean(),
    lambda o, t: (o * 0).sum(),
    lambda o, t: squared(F.dropout(o), t).mean(),
)
@pytest.mark.parametrize("size", [1, 4])
def test_means_zeros_and_random_losses_are_taken_without_a_word(loss, size):
    with warnings.catch_warnings(action="error"):
        quick(nn.Linear(3, 1), (INPUTS, COLUMN), loss=loss, batch_size=size, epochs=0.1)


def test_a_layer_that_all_workers_have_in_common_is_refused(digits):
    """They trained one module, in an order that threads decided."""
    layer, whole = nn.Linear(784, 10), nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    for build in (flat(layer), lambda generator: whole):
        with line("its tensor '1.weight' is the same in each module that it builds; each worker"):
            digits_problem(digits, build=build)


def counted(function):
    """A function whose value depends on how often it was called."""
    calls = []

    def changed(outputs, targets):
        calls.append(0)
        return function(outputs, targets) * len(calls)

    return changed


LOSSES = partial(F.cross_entropy, reduction="none")


@cases(
    "part, function, told",
    ("loss", counted(LOSSES), "it gives other values when it is called again"),
    ("score", counted(lambda x, y: x.argmax(1) == y), "it gives other values when it is called"),
    ("score", lambda x, y: torch.rand(len(y)), "it gives other values when it is called again"),
    ("batch", lambda data, x, y: (data.normalised(x) + torch.rand(()), y), "it gives other values"),
    ("batch", lambda data, x, y: (data.normalised(x.add_(1)), y), "or changes the data"),
    (
        "batch",
        lambda data, x, y: (data.train_inputs.add_(1)[:0].sum() + x, y),
        "or changes the data",
    ),
)
def test_parts_of_a_task_that_are_others_each_time_are_refused(part, function, told, digits):
    """An interrupted run, or the second of a job, had other numbers."""
    with line(f"task 'classification', {part}: ", told):
        digits_problem(deepcopy(digits), **{part: function})
