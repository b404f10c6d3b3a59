"""The Python interface: train a module on tensors with n workers."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

import ngo
from ngo.common.devices import deterministic, torch_device
from ngo.common.fields import Field, at_least, checked, meant
from ngo.common.files import check_writable, file_lock, writable_folder
from ngo.common.seeding import stream_seed
from ngo.engine.population import Modules, copies, tensors
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.training.checkpoint import Checkpoints, Signals, Stopped
from ngo.training.evaluation import Evaluation, as_columns, check_column
from ngo.training.fit_inputs import Make, Pair, inputs_of, like
from ngo.training.global_state import isolated, restored_streams
from ngo.training.learning_problem import Loss, enough_memory, try_problem
from ngo.training.object_digest import digests
from ngo.training.results_version import unnumbered_entries
from ngo.training.run import Training, at_checkpoint, named_in_errors
from ngo.training.run_folder import CHECKPOINT, About, identity_of
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.spec_checks import check_field
from verdicts.registry import UserError, check, shown
from verdicts.report import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COUNT = Field(int, "a count", at_least(1))


class ReadOnly(dict[str, Any]):
    """A copy of a row, which refuses a write: it would reach no table."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise UserError("state.metrics: it is a copy; state.record(name=value) adds a column.")

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse


@dataclass(frozen=True)
class RunState:
    """A run between two steps. Its models can be had until the callback returns."""

    #: The number of steps taken.
    step: int
    #: The number of steps of the whole run.
    steps: int
    #: The passes over all workers' samples.
    epoch: float
    #: The evaluation at this step: a copy of a row of ``Fit.metrics``, without the fields of the
    #: run. None in ``on_step``.
    metrics: Mapping[str, Any] | None
    _training: Training = field(repr=False)
    _module: nn.Module = field(repr=False)

    @property
    def train_loss(self) -> float:
        """The workers' mean loss on their batches in the last step; NaN before the first."""
        return float(self._current().last.double().mean())

    @property
    def V(self) -> float:
        """The synchronization index: the sum of squared distances of workers from their mean."""
        population = self._current().population
        return float(synchronization_index(population.honest, population.shares))

    def record(self, **values: float) -> None:
        """Add columns to ``Fit.metrics``: a number by name, in the row of this step.

        In ``on_step``, the row is that of the next evaluation, which has the last number. Rows
        without one have NaN. Raises a UserError for a name that another column has.
        """
        for name, value in values.items():
            check_column("record", name, name)
            try:
                values[name] = float(value)
            except (TypeError, ValueError):
                raise UserError(f"record: {name}={shown(value)} is not a number.") from None
        self._current().record(values)

    def consensus(self) -> nn.Module:
        """A copy of the module with the mean of the workers' parameters, in eval mode."""
        return like(self._module, copies(tensors(self._current().population.consensus())))

    @property
    def workers(self) -> Sequence[int]:
        """The workers whose models there are: all, or the ``participants`` of the last step."""
        return self._current().stepper.workers

    def worker(self, i: int) -> nn.Module:
        """A copy of the module of worker ``i``, one of ``workers``, in eval mode."""
        there = self.workers
        words = f"{', '.join(map(str, there))} in this round"
        words = f"0 to {len(there) - 1}" if isinstance(there, range) else words
        check(i in there, "worker", i, f"the workers are {words}")
        modules = self._current().population.modules
        return like(self._module, copies(tensors(modules[there.index(i)])))

    def _current(self) -> Training:
        if self._training.step != self.step:
            raise UserError(
                f"the run has gone on from step {self.step} to {self._training.step}; ask for "
                f"models within the callback."
            )
        return self._training


#: A function that ``fit`` calls. What it returns is ignored; ``raise StopIteration`` ends the run.
Callback = Callable[[RunState], object]


class Ended(Exception):
    """A callback has ended the run."""


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """The result of ``fit``: ``print`` of it says how it ended, ``plot()`` draws it."""

    #: The fields of the run and their values, defaults included.
    spec: RunSpec
    #: A row for each evaluation, with the fields of the run: the columns of ``metrics.parquet``,
    #: and the ``seconds`` since the start. Accuracies are shares of 1; NaN without classes, or if
    #: the outputs are not logits. The column ``module`` is a digest of the module and its initial
    #: values, which is part of the id in the column ``run``. Runs that differ only in the loss or
    #: the data have the same id.
    metrics: pd.DataFrame
    #: The module of each worker: of the user's class, in eval mode, made at its first use. Modules
    #: share no tensors. They are pickled as a list. With ``participants``, those of the last round,
    #: before their exchange; ``consensus`` is the server's model then.
    models: Sequence[nn.Module]
    #: The module with the mean of the workers' parameters and float buffers; int64 buffers, such as
    #: batch normalization's number of batches, are the workers' maximum.
    consensus: nn.Module
    #: The callback that ended the run early: ``on_evaluation`` or ``on_step``; None if none did.
    stopped: str | None = None

    @property
    def summary(self) -> pd.DataFrame:
        """``metrics`` without the columns that repeat the fields, and those without a number."""
        return self.metrics.drop(columns=["run", *self.spec.values()]).dropna(axis=1, how="all")

    #: The same, which ``to_latex`` and ``to_markdown`` print.
    frame = summary

    def __repr__(self) -> str:
        last = self.metrics.iloc[-1]
        of = f"step {last['step']}, consensus loss {last['consensus_loss']:.4g}"
        if self.metrics["consensus_accuracy"].notna().any():
            names = ["consensus_accuracy", *(f"workers_accuracy_{x}" for x in ("mean", "min"))]
            mean_model, mean, worst = last[names]
            how = ".1%" if 0 <= worst <= mean <= 1 >= mean_model >= 0 else ".4g"  # a user's score
            of += f", accuracy {mean_model:{how}} (workers {mean:{how}}, the worst {worst:{how}})"
        of += f", V {last['V']:.3g}, {last['bytes_sent'] / 1e6:,.4g} MB sent"
        of += ", diverged" * bool(last["diverged"])
        return f"Fit({self.spec.id}: {self.spec.workers} workers, {of})"

    def draw(self, figure: Figure) -> None:
        """As ``ngo.plot`` of ``metrics``: the end, and accuracy (or loss) and V in training."""
        ngo.plot(self.metrics, figure=figure)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended ``fit`` or ``compare``; ``run`` is the result so far."""

    def __init__(self, run: Any, told: str) -> None:
        super().__init__(told)
        self.run = run


def fit(
    module: nn.Module | Make,
    train: Pair | Sequence[Pair],
    test: Pair | Sequence[Pair],
    *,
    method: str = "ngo",
    loss: Loss | None = None,
    score: Loss | Mapping[str, Loss] | None = None,
    on_evaluation: Callback | None = None,
    on_step: Callback | None = None,
    out: str | Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
    progress: bool = True,
    **fields: Any,
) -> Fit:
    """Train ``module`` with n workers, each on its own part of the training data.

    ``module``
        A ``torch.nn.Module`` with float32 parameters: all workers start from a copy of it. Or a
        function that returns one, which is called under the run's seed. Frozen parameters
        (``requires_grad=False``) are neither trained nor exchanged. What else it keeps from call to
        call must be float32 or int64 buffers, which change in training alone. What torch draws, in
        the module or the loss, comes from a random stream of each worker, if it does so from the
        start. A module that draws from a global stream of NumPy or Python, or again in its backward
        pass (checkpoints of activations with dropout), is trained one worker after another.
    ``train``, ``test``
        Pairs (inputs, targets) of tensors or NumPy arrays with one row per sample, or data sets of
        torch with such samples, of which each is read once and kept: float32 inputs, or what else
        the module takes; whole-number classes from 0 as int64 ``[m]``, or float32 targets
        ``[m, …]``; with a ``loss``, any targets, which it gets as they are. float64 becomes
        float32. ``train`` may be a list with the data of each worker. Workers count equally in
        every average, also where their shares are of different sizes, unless ``objective`` says
        otherwise. ``test`` may be such a list, too: columns are about all of it, and
        ``own_accuracy_mean``, ``_min``, ``_p10`` (the 10th percentile), ``_std`` and ``own_loss_…``
        about each worker's model on its own samples.
    ``method``
        The name of the method: ``ngo``, ``dsgd``, ``gossip``, ``centralized``, …
    ``loss``
        A function ``(outputs, targets)`` that returns the mean loss of the b samples, or a loss
        for each, ``[b]`` or ``[b, 1]``; not a sum, whose gradient would grow with the batch. It is
        tried on some samples before training. One that is neither mean nor sum, such as with class
        weights, is taken with a RuntimeWarning. By default, the cross entropy of logits
        ``[b, classes]``, or the squared error of outputs that have the shape of the targets.
    ``score``
        A function ``(outputs, targets)`` that returns one number, for the columns of accuracy, or
        a number for each sample, for their mean. By default it is the accuracy of logits. Or
        functions by name, ``{"f1": f}``, for columns beside those of accuracy: ``consensus_f1``,
        ``workers_f1_mean``, ``_min``, ``_max``, ``_std``. Objects of torchmetrics are functions.

        An evaluation calls a loss or a score of yours once, on all its outputs and targets, where
        these take at most 1 GB and have a row for each sample; else on chunks of them, where a
        score must return a number for each sample, and a loss counts by its mean over chunks.
    ``on_evaluation``, ``on_step``
        Functions that are called with a ``RunState`` after each evaluation (that of step 0 too)
        and after each step. ``raise StopIteration`` in one ends the run, and ``fit`` returns the
        result so far; what they return is ignored.
    ``out``
        A folder for checkpoints, at most a minute apart: the same call resumes there, with equal
        results, if the run was interrupted or stopped. A finished run is not trained again.
        Another run in the folder is a UserError: one with other fields (more epochs too), data,
        module, ``loss`` or ``score``. Functions are compared by their code and the values that they
        hold and read, but not what they import inside, or read through ``getattr`` or from
        ``os.environ`` or files; callbacks are not. What a module counts in training is in a
        checkpoint if it is a buffer; other values of functions are those of the start.
    ``device``
        ``cpu``, ``cuda`` or ``auto``.
    ``threads``
        The number of threads on a CPU, by default one for each core. It does not affect the result.
    ``progress``
        Whether to show a progress bar on standard error.
    ``fields``
        The other fields of a run: ``workers``, ``topology``, ``partition``, ``p``, ``gamma``,
        ``lr``, ``batch_size``, ``epochs``, ``eval_every``, ``seed``, … with the defaults of
        ``ngo train``, whose ``--help`` explains each. ``topology`` may also be a mixing matrix, a
        list of edges (i, j) or a networkx graph, whose nodes in order are the workers, and
        ``partition`` a list with the indices of each worker's samples. ``objective`` is what each
        worker counts for: ``workers``, all the same; ``samples``, as many as it has; or a list with
        a number for each. With ``participants``, a server draws so many workers for each round of
        ``local_steps`` steps. The others cost nothing, and have no ``models``.

    A run that diverges ends at its next evaluation, with a RuntimeWarning. Ctrl-C ends the run
    after the current step, with a checkpoint in ``out``: Interrupted is raised, a KeyboardInterrupt
    that has the result so far as ``run``; also where the last step was taken already. A second
    Ctrl-C, more than a second later, is a KeyboardInterrupt at once. SIGTERM goes on to its handler
    after the checkpoint, which ends the process.

    Equal arguments give equal results on the same kind of CPU. The module, the data and the global
    state of torch, NumPy and Python (random streams, default dtype, number of threads) are left
    unchanged. Calls in several threads run one after another; other threads should not draw from
    the global random streams meanwhile.

    Raises a UserError with a message of one line for an argument that is not allowed.
    """
    out = None if out is None else check_writable(out, folder=True)  # before any code of the user's
    fields = _plain({**fields, "method": method})
    callbacks = {"on_evaluation": on_evaluation, "on_step": on_step}
    for name, callback in callbacks.items():
        check(callback is None or callable(callback), name, callback, "it must be a function")
    seed = check_field("seed", fields.get("seed", FIELDS["seed"].default))
    if threads is not None:
        threads = checked("threads", threads, COUNT)
    device = torch_device(device)
    with isolated(stream_seed(seed, "module")), ExitStack() as stack:
        if device == "cuda":
            deterministic()
        fields["seed"] = seed
        spec, problem, copied = inputs_of(module, train, test, loss, score, fields, device, stack)
        problem, draws = try_problem(spec, problem, by_name=False)
        how: dict[str, Any] = {"threads": threads, "draws": draws}
        if draws:  # whose order must not depend on threads
            told = "a module that draws from a global random stream of Python, NumPy or another "
            told += "device needs auto or loop"
            check(spec.backend in ("auto", "loop"), "backend", spec.backend, told)
            how |= {"threads": 1, "backend": "loop"}
        own = {"module": copied, "loss": loss, "score": score}
        signals = Signals(signal.default_int_handler)
        checkpoints = None
        if out:
            about = identity_of(spec, problem, device) | digests(own | unnumbered_entries(spec))
            checkpoints = _checkpoints(out, about, stack, signals)
        with signals, named_in_errors(spec), enough_memory(spec):
            training = at_checkpoint(partial(Training, spec, problem, **how), checkpoints)
            stopped = _proceed(training, checkpoints, signals, callbacks, copied, progress)
            training.evaluate()
            consensus = like(copied, copies(tensors(training.population.consensus())))
            states = training.population.states()
            models = Modules(lambda i: like(copied, states.pop(i)), len(states))
            import pandas as pd

            metrics = pd.DataFrame({"run": spec.id, **spec.values(), **as_columns(training.rows)})
            metrics = metrics.join(pd.DataFrame(training.more))
    if training.rows[-1].diverged:
        warnings.warn(_divergence(spec, training.rows), RuntimeWarning, stacklevel=2)
    run = Fit(spec, metrics, models, consensus, stopped)
    if number := signals.asked:
        if number != signal.SIGINT:
            signal.raise_signal(number)  # as it would have ended the process
        told = f"fit: interrupted at step {training.step} of {training.steps}"
        raise Interrupted(run, f"{told}; .run has the result so far")
    return run


def check_fit(module: Any, train: Any, test: Any, loss: Any, score: Any, **fields: Any) -> None:
    """Raise a UserError for fields or data that ``fit`` would refuse before it trains."""
    fields = {"seed": FIELDS["seed"].default, **_plain(fields)}
    with isolated(stream_seed(fields["seed"], "module")), ExitStack() as stack:
        inputs_of(module, train, test, loss, score, fields, "cpu", stack)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with NumPy's numbers as Python's; a UserError for another keyword."""
    allowed = allowed_in(fit)
    for name, value in fields.items():
        many = hasattr(value, "__len__") and not isinstance(value, str)
        many = many and name in FIELDS and FIELDS[name].kind in (int, float)
        if many or name in ("seeds", "methods", "grid"):
            how = f"grid={{{name!r}: {shown(value)}}}" if many else f"{name}=…"
            how = f"seeds={shown(value)}" if name == "seed" else how
            alike = ", whose workers have equal values" * (many and name != "seed")
            several = f"ngo.compare(…, {how}) compares several"
            raise UserError(f"{name}: fit trains one run{alike}; {several}.")
        if name not in allowed:
            raise no_argument(fit, name)
        if callable(value) and name in ngo.__all__:  # a decorator
            how = f"register a function with @ngo.{name}('name') and give the name"
            raise UserError(f"{name}: {shown(value)} is not a name; {how}.")
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in fields.items()}


def allowed_in(function: Callable[..., Any]) -> dict[str, bool]:
    """The arguments of ``fit``, or of a function around it, and whether each is its own."""
    own = [x for x in function.__annotations__ if x not in ("fields", "setting", "return")]
    made = ("dataset", "model", "task")  # from the other arguments
    return {name: name in own for name in [*own, *FIELDS] if name in own or name not in made}


def no_argument(function: Callable[..., Any], name: str) -> UserError:
    """The error for an argument that such a function does not have."""
    known, at = allowed_in(function), function.__name__
    own = ", ".join(x for x, is_own in known.items() if is_own)
    return UserError(
        f"{at}: {name!r} is not an argument.{meant(name, known)} {at} takes {own}, and the fields "
        f"that `ngo fields` lists."
    )


def _checkpoints(out: Path, about: About, stack: ExitStack, signals: Signals) -> Checkpoints:
    """The checkpoints of a run in the folder ``out``, locked until ``stack`` ends."""

    def tell(line: str) -> None:
        warnings.warn(f"fit: {line}", RuntimeWarning, stacklevel=5)

    wait = partial(tell, f"waiting for another run in {str(out)!r}")
    try:
        stack.enter_context(file_lock(writable_folder(out) / ".lock", wait))
    except RuntimeError:  # a callback called fit: the wait would have no end
        raise UserError(f"out: {str(out)!r} is in use by this thread; give another.") from None
    how: dict[str, Any] = {"tell": tell, "overwrite": False, "signals": signals}
    how["instead"] = "choose another folder, or delete this one."
    return Checkpoints(out / CHECKPOINT, about, **how)


def _proceed(
    training: Training,
    checkpoints: Checkpoints | None,
    signals: Signals,
    callbacks: Mapping[str, Callback | None],
    module: nn.Module,
    progress: bool,
) -> str | None:
    """Train to the end, or until a callback or a signal stops; the callback that did."""
    from tqdm import tqdm

    def call(name: str) -> None:
        if (callback := callbacks[name]) is None:
            return
        row = None
        if name == "on_evaluation":
            row = ReadOnly(asdict(training.rows[-1]) | training.more[-1])
        state = RunState(training.step, training.steps, training.epoch, row, training, module)
        with restored_streams() if training.draws else nullcontext():
            try:
                callback(state)
            except StopIteration:
                raise Ended(name) from None

    def on_row(row: Evaluation) -> None:
        bar.set_postfix_str(f"loss {row.consensus_loss:.4g}, V {row.V:.3g}")
        call("on_evaluation")

    def on_step(step: int) -> None:
        bar.update(step - bar.n)
        call("on_step")

    stopped = None
    bar = tqdm(total=training.steps, unit=" steps", leave=False, disable=not progress)
    with bar, suppress(Stopped):  # which comes after a checkpoint
        try:
            how: Any = {"report": on_row, "progress": on_step}
            training.proceed(checkpoints=checkpoints, signals=signals, **how)
        except Ended as ended:
            stopped = str(ended)
        if checkpoints is not None:
            checkpoints.write(training.state_dict)
    return stopped


def _divergence(spec: RunSpec, rows: list[Evaluation]) -> str:
    """The warning after a run that diverged, in one line."""
    since = f"between steps {rows[-2].step} and" if len(rows) > 1 else "by step"
    smaller, gamma = "lr", ""
    if spec.gamma is not None:
        smaller, gamma = "lr or gamma", f", gamma is {spec.gamma:g}"
    return (
        f"fit: the run diverged {since} {rows[-1].step}: a loss or a parameter is no longer "
        f"finite, and it ended there; try a smaller {smaller} (lr is {spec.lr:g}{gamma})."
    )
