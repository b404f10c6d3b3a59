"""Options for fields, by section of the help, and the run or the measurement that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from ngo.cli.log import LOG
from ngo.cli.parameters import ROOT, FieldType
from ngo.common.fields import DECLARED, Field, wanted
from ngo.data import download
from ngo.data.dataset import DATASETS
from ngo.models.model import MODELS
from ngo.models.task import TASKS
from ngo.training.spec import DEFAULTS, FIELDS, RunSpec, flag
from ngo.training.validation import default_in_words, in_words, resolve

#: The section of options that are no fields of a run.
COMMAND = "Files, processes and devices"

#: The fields of a run in each section; an option that an entry declares follows its owner.
SECTIONS = {
    "Data and task": (
        *("dataset", "model", "task", "augmentation", "partition", "shards", "shards_per_worker"),
        *("samples_per_worker", "beta", "holdout"),
    ),
    "Workers and graph": ("workers", "topology", "u", "weights"),
    "Method and gossip": (
        *("method", "initialization", "order", "coupling", "p", "compression", "gamma"),
        *("gamma_decay", "local_steps", "delay", "v_threshold", "schedule"),
    ),
    "Local steps": (
        *("local_rule", "lr", "lr_schedule", "warmup", "weight_decay", "batch_size"),
        *("short_share", "epochs"),
    ),
    "Failures and liars": ("link_failure", "absence", "attack"),
    "Virtual time": ("clock",),
    "Evaluation": ("eval_every", "eval_images", "eval_workers"),
    "Computation": ("seed", "precision", "backend"),
}

_OF = {name: title for title, names in SECTIONS.items() for name in names}


def section_of(name: str) -> str:
    """The section of an option."""
    while name not in _OF and name in DECLARED:
        name = DECLARED[name].owners[0]
    return _OF.get(name, COMMAND)


class FieldOption(click.Option):
    """An option for a field. Its help lists the names that are allowed, plugins' included."""

    def __init__(self, *arguments: object, field: Field, default_text: str, **named: object):
        kind = FieldType(field)
        super().__init__(*arguments, type=kind, metavar=kind.name, **named)
        self.default_text = default_text

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """The option's lines in a command's help: what it is, what is allowed, the default."""
        field = self.type.field
        allowed = str(field.range or wanted(field))
        if field.names is not None:
            kind = field.names.kind
            again = kind in FIELDS and kind != self.name  # a second field for the same names
            allowed = f"as {flag(kind)}" if again else ", ".join(sorted(field.names))
        first = field.help[0].upper() if field.help[0].isascii() else field.help[0]
        self.help = f"{first}{field.help[1:]} ({allowed})  {self.default_text}"
        return super().get_help_record(context)


class RunCommand(click.Command):
    """A command with the options that registered entries declare.

    Plugins may declare options after the command was defined. With an ``owner``, the command has
    only those of this registry's entries.
    """

    def __init__(self, *arguments: object, owner: str | None = None, **named: object):
        super().__init__(*arguments, **named)
        self.owner = owner
        self._declared: dict[str, FieldOption] = {}

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """The parameters, with the declared options after the last field of a run."""
        params = super().get_params(context)
        last = max(k for k, each in enumerate(params) if isinstance(each, FieldOption))
        return [*params[: last + 1], *self._options(), *params[last + 1 :]]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in (*SECTIONS, COMMAND)}
        for option in self.get_params(context):
            if (record := option.get_help_record(context)) is not None:
                found[section_of(option.name)].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _options(self) -> list[click.Parameter]:
        for name, field in DECLARED.items():
            if name not in self._declared or self._declared[name].type.field is not field:
                text = default_text(field)
                option = FieldOption([flag(name), name], field=field, default_text=text)
                self._declared[name] = option
        fitting = (n for n, field in DECLARED.items() if self.owner in (None, *field.owners))
        return [self._declared[name] for name in fitting]


def default_text(field: Field) -> str:
    """What an option's help says of the default; the values of a list are separated by commas."""
    values = field.default if field.many else (field.default,)
    told = [f"default: {', '.join(map(str, values))}"] if values not in ((), (None,)) else []
    told += ["may be repeated"] if field.many else []
    return f"[{'; '.join(told)}]" if told else ""


def field_options(facts: Mapping[str, tuple[Field, str, Mapping[str, object]]]) -> Callable:
    """A decorator that gives a command options, in the order of ``facts``.

    ``facts`` maps a name to its field, the text about the default, and more arguments of the
    option.
    """

    def decorate(command: Callable) -> Callable:
        for name, (field, text, more) in reversed(facts.items()):
            command = click.option(
                flag(name), name, cls=FieldOption, field=field, default_text=text, **more
            )(command)
        return command

    return decorate


def run_fields(*names: str) -> Callable:
    """Options for fields of a run. The command gets None for a field that is not given."""
    told = {"model": "the first that fits the data set", "task": "the model's"}
    words = {name: told.get(name, default_in_words(name)) for name in names}
    return field_options({name: (FIELDS[name], f"[default: {words[name]}]", {}) for name in names})


data_root_option = click.option(
    "--data-root",
    type=ROOT,
    help=f"Folder of the data sets  [default: ${download.ROOT_VARIABLE}, "
    f"else {download.DEFAULT_ROOT}/]",
)


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
