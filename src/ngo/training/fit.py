"""The Python interface: train a module on tensors with n workers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from ngo.common.devices import chosen, usable
from ngo.common.fields import Field, at_least, checked
from ngo.common.former import renamed
from ngo.common.registry import UserError
from ngo.common.seeding import stream_seed
from ngo.engine.initialization import SAME
from ngo.training.evaluation import Evaluation, as_columns
from ngo.training.global_state import isolated
from ngo.training.loop import Training
from ngo.training.module_digest import module_digest
from ngo.training.own import (
    NAME,
    Loss,
    Make,
    Pair,
    like,
    own_dataset,
    own_model,
    own_task,
    template,
)
from ngo.training.problem import make_problem
from ngo.training.resolve import check_field, resolve
from ngo.training.spec import DEFAULTS, RunSpec
from ngo.training.trial import refuse_sum, try_out

if TYPE_CHECKING:
    import pandas as pd

_THREADS = Field(int, "threads", at_least(1))


@dataclass(frozen=True, repr=False)
class Fit:
    """The result of ``fit``."""

    #: The fields of the run and their values, defaults included.
    spec: RunSpec
    #: A row for each evaluation, with the fields of the run: the columns of ``metrics.parquet``,
    #: and the ``seconds`` since the start. Accuracies are shares of 1; NaN without classes, or if
    #: the outputs are not logits. The column ``module`` is a digest of the module and its initial
    #: values, which is part of the id in the column ``run``. Runs that differ only in the loss or
    #: the data have the same id.
    metrics: pd.DataFrame
    #: The module of each worker: of the user's class, in eval mode. Modules share no tensors.
    models: list[nn.Module]
    #: The module with the mean of the workers' parameters and buffers.
    consensus: nn.Module

    def __repr__(self) -> str:
        last = self.metrics.iloc[-1]
        of = f"step {last['step']}, consensus loss {last['consensus_loss']:.4g}"
        return f"Fit({self.spec.id}: {len(self.models)} workers, {of})"


def fit(
    module: nn.Module | Make,
    train: Pair,
    test: Pair,
    *,
    method: str = "ngo",
    loss: Loss | None = None,
    device: str = "cpu",
    threads: int | None = None,
    progress: bool = True,
    **fields: Any,
) -> Fit:
    """Train ``module`` with n workers, each on its own part of the training data.

    ``module``
        A ``torch.nn.Module`` with float32 parameters: all workers start from a copy of it. Or a
        function that returns one, which is called under the run's seed. Frozen parameters
        (``requires_grad=False``) are neither trained nor exchanged. ``nn.Dropout`` and
        ``nn.Dropout2d`` draw from a random stream of each worker. A module that draws from a global
        random stream is trained one worker after another.
    ``train``, ``test``
        Pairs (inputs, targets) of tensors or NumPy arrays with one row per sample. Targets are
        classes (int64 ``[m]``, from 0) or float32 numbers ``[m, …]``; with a ``loss``, any tensor.
    ``method``
        The name of the method: ``ngo``, ``dsgd``, ``gossip``, ``centralized``, …
    ``loss``
        A function ``(outputs, targets)`` that returns the mean loss of the samples, or a loss for
        each (``reduction="mean"`` or ``"none"``); a sum, whose gradient would grow with the batch,
        is refused. By default, the cross entropy of logits ``[b, classes]``, or the squared error
        of outputs that have the shape of the targets.
    ``device``
        ``cpu``, ``cuda`` or ``auto``.
    ``threads``
        The number of threads on a CPU, by default one for each core. It does not affect the result.
    ``progress``
        Whether to show a progress bar on standard error.
    ``fields``
        The other fields of a run: ``workers``, ``topology``, ``partition``, ``p``, ``gamma``,
        ``lr``, ``batch_size``, ``epochs``, ``eval_every``, ``seed``, … with the defaults of
        ``ngo train``, whose ``--help`` explains each.

    A run that diverges ends at its next evaluation, with a RuntimeWarning.

    Equal arguments give equal results on the same kind of CPU. The module, the data and the global
    state of torch, NumPy and Python (random streams, default dtype, number of threads) are left
    unchanged.

    Raises a UserError with a message of one line for an argument that is not allowed.
    """
    fields = renamed(fields, "fit")
    for name in ("dataset", "model", "task"):
        if name in fields:
            raise UserError(f"{name}: not an argument of fit; it takes module, train and method.")
    fields = {k: v.item() if isinstance(v, np.generic) else v for k, v in fields.items()}
    seed = check_field("seed", fields.get("seed", DEFAULTS["seed"]))
    if threads is not None:
        threads = checked("threads", threads, _THREADS)
    device = _torch_device(device)
    with isolated(stream_seed(seed, "module")):
        data, source = own_dataset(train, test, device, any_targets=loss is not None)
        task_name, task = own_task(data, loss)
        own = template(module, seed)
        model = own_model(own, data, task_name)
        named = {"dataset": NAME, "model": type(own).__name__, "task": task_name}
        spec = resolve({**named, "method": method, **fields}, source=source, model=model)
        if spec.initialization not in (None, SAME):
            raise UserError(
                f"initialization: {spec.initialization!r} is not possible with fit, whose workers "
                f"start from copies of the module; it must be {SAME}."
            )
        spec = replace(spec, own=(*spec.own, ("module", module_digest(own))))
        task, draws = try_out(model, data, task, spec.batch_size)
        if loss is not None:
            refuse_sum(loss, model, data, spec.batch_size)
        if draws:
            _check_backend(spec)
            threads = 1  # the order of draws must not depend on threads
        problem = make_problem(spec, data, model=model, task=task)
        training = Training(spec, problem, backend="loop" if draws else None, threads=threads)
        with _progress_bar(training, shown=progress) as callbacks:
            training.proceed(**callbacks)
        consensus, *workers = (like(own, each) for each in training.population.models())
    if training.rows[-1].diverged:
        warnings.warn(_divergence(spec, training.rows), RuntimeWarning, stacklevel=2)
    import pandas as pd

    metrics = pd.DataFrame({"run": spec.id, **spec.values(), **as_columns(training.rows)})
    return Fit(spec, metrics, workers, consensus)


def _torch_device(device: object) -> str:
    """``cpu`` or ``cuda``; a UserError if torch has no such device."""
    wanted = str(device)
    name = "cpu" if wanted == "cpu" else chosen(wanted)
    return name if name == "cpu" or usable(wanted, name) else "cpu"


def _check_backend(spec: RunSpec) -> None:
    if spec.backend not in ("auto", "loop"):
        raise UserError(
            f"backend: {spec.backend!r} is not allowed for a module that draws from a global "
            f"random stream; it must be auto or loop (nn.Dropout draws from the worker's own)."
        )


@contextmanager
def _progress_bar(training: Training, *, shown: bool) -> Iterator[dict[str, Any]]:
    """The callbacks of a progress bar on standard error, which disappears at the end."""
    if not shown:
        yield {}
        return
    from tqdm import tqdm

    with tqdm(total=training.steps, unit=" steps", leave=False) as bar:

        def report(row: Evaluation) -> None:
            bar.set_postfix_str(f"loss {row.consensus_loss:.4g}, V {row.V:.3g}")

        yield {"report": report, "progress": lambda step: bar.update(step - bar.n)}


def _divergence(spec: RunSpec, rows: list[Evaluation]) -> str:
    """The warning after a run that diverged, in one line."""
    since = f"between steps {rows[-2].step} and" if len(rows) > 1 else "by step"
    smaller = "lr or gamma" if spec.gamma is not None else "lr"
    return (
        f"fit: the run diverged {since} {rows[-1].step}: a loss or a parameter is no longer "
        f"finite, and it ended there; try a smaller {smaller} (lr is {spec.lr:g})."
    )
