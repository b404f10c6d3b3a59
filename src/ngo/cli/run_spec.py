"""The specification of a run, from command-line options or from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

from ngo.cli.log import LOG
from ngo.common.former import renamed
from ngo.common.registry import UserError, unknown_field
from ngo.data.dataset import DATASETS
from ngo.models.model import MODELS
from ngo.models.task import TASKS
from ngo.training.resolve import in_words, resolve
from ngo.training.spec import DEFAULTS, FIELDS, RunSpec


def spec_of_options(given: dict[str, object], **needed: object) -> RunSpec:
    """The run of the ``given`` options. An option with no effect on it is logged.

    By default the model fits the data set: of the first of TASKS for which there is one, and with
    the data set's name if there is one. The default task is the model's.
    """
    values = {name: value for name, value in given.items() if value is not None}
    dataset = values.get("dataset", DEFAULTS["dataset"])
    shape = DATASETS[dataset].input_shape
    tasks = [values["task"]] if "task" in values else list(TASKS)
    fitting = [n for n, m in MODELS.items() if m.input_shape == shape and m.task in tasks]
    fitting.sort(
        key=lambda name: (tasks.index(MODELS[name].task), not name.startswith(f"{dataset}_"))
    )
    model = values.get("model", next(iter(fitting), DEFAULTS["model"]))
    implied = {"model": model, "task": MODELS[model].task}
    spec = resolve({}, {**implied, **needed, **values})
    for name, value in values.items():
        used = getattr(spec, name)
        if used != value:
            instead = "it is not used" if used is None else f"it is {in_words(used)}"
            LOG.warning("note: %s %s has no effect here: %s", name, value, instead)
    return spec


def read_spec_values(path: Path) -> dict[str, object]:
    """The values in a JSON file: a bare specification, or a run.json with one in it."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"spec: {str(path)!r} is not a JSON object: {error}") from None
    values = values.get("spec", values) if isinstance(values, dict) else values
    if not isinstance(values, dict):
        raise UserError(f"spec: {str(path)!r} is not a JSON object.")
    values = renamed(values, f"spec, {str(path)!r}")
    for name in values:
        if name not in FIELDS:
            raise unknown_field("spec", name, FIELDS)
    return {name: value for name, value in values.items() if value is not None}
