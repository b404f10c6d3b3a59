"""Options and arguments of commands, checked before any work, with the messages of configs.

Options for the fields of a run or a measurement have a section in the help.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ngo.cli import LOG
from ngo.common.devices import DEVICES
from ngo.common.fields import Field, Names, checked, fields_of, number_in, wanted, within
from ngo.common.files import check_path, check_readable, check_writable
from ngo.common.registries import DATASETS, DECLARED, MODELS, TASKS
from ngo.data import download
from ngo.training.spec import FIELDS, RunSpec, flag
from ngo.training.spec_checks import default_in_words, in_words, resolve
from verdicts.registry import UserError


class FieldType(click.ParamType):
    """A value that ``fields.checked`` allows for ``field``."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.name = {int: "INT", float: "FLOAT", str: "NAME", Path: "FILE"}[field.kind]

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> object:
        """The value, as the field's type. A UserError names the option."""
        value = number_in(value, self.field.kind) if self.field.range else value
        return checked(_key(param).replace("-", "_"), value, self.field)

    def shell_complete(
        self, context: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The allowed names that begin so, or any file for a path."""
        if self.field.kind is Path:
            return [CompletionItem(incomplete, type="file")]
        names = sorted(self.field.names or ())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class PathType(click.Path):
    """A path that ``check(path, key)`` allows; with ``endings``, its name has one of them."""

    def __init__(self, check: Callable[[str, str], Path], *endings: str) -> None:
        super().__init__()
        self.check, self.endings = check, endings

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> Path:
        """The path. A UserError names the option."""
        path = value if isinstance(value, Path) else self.check(value, _key(param))
        if self.endings and path.resolve().suffix not in self.endings:
            ends = " or ".join(self.endings)
            raise UserError(f"{_key(param)}: {str(path.resolve())!r} must end in {ends}.")
        return path


SECONDS = FieldType(Field(float, "seconds", within(0, 1_000_000)))

RESULT = PathType(check_writable)  # a file to write
ending = partial(PathType, check_writable)  # a file to write, with one of these endings
FOLDER = PathType(partial(check_writable, folder=True))  # a folder to write to
INPUT = PathType(check_readable)  # a file to read
ROOT = PathType(check_path)  # a folder that may not exist yet


def _key(param: click.Parameter) -> str:
    """The name of an option or argument in messages."""
    return (param.name if isinstance(param, click.Argument) else param.opts[0]).lstrip("-")


#: An option whose default the help shows.
shown = partial(click.option, show_default=True)

device_option = shown(
    "--device",
    default="auto",
    shell_complete=lambda context, param, typed: [x for x in DEVICES if x.startswith(typed)],
    help=f"One of {', '.join(DEVICES)}.",
)

THREADS = FieldType(Field(int, "threads", within(1, 1024)))
threads_option = click.option(
    "--threads", type=THREADS, help="Threads: 1 to 1024  [default: all cores]"
)

TABLE = ending(".parquet", ".csv")
table_option = click.option(
    "--out", type=TABLE, required=True, help="Tidy table to write (parquet or CSV)."
)


def configs_option(absent: str | None = None) -> Callable:
    """The option --config; without ``absent``, the default in words, a config is needed."""
    text = "Config file; later ones override" + (f"  [default: {absent}]" if absent else ".")
    how = {"multiple": True, "required": absent is None, "type": INPUT, "help": text}
    return click.option("--config", "configs", **how)


#: The section of options that are no fields of a run.
COMMAND = "Files, processes and devices"

#: The fields of a run in each section. Others are where the first of their owners is.
SECTIONS = {
    "Data and task": ("dataset", "model", "task", "augmentation", "partition", "holdout"),
    "Workers and graph": ("workers", "participants", "objective", "topology", "weights"),
    "Method and gossip": ("method",),
    "Local steps": (
        *("local_rule", "lr", "lr_schedule", "warmup", "weight_decay", "batch_size"),
        *("short_share", "epochs"),
    ),
    "Failures and attacks": ("link_failure", "absence", "attack"),
    "Virtual time": ("clock",),
    "Evaluation": ("eval_every", "eval_images", "eval_workers"),
    "Computation": ("seed", "precision", "backend"),
}

_OF = {name: title for title, names in SECTIONS.items() for name in names}


def section_of(name: str) -> str:
    """The section of an option."""
    while name not in _OF and name in FIELDS:
        name = FIELDS[name].owners[0]
    return _OF.get(name, COMMAND)


class FieldOption(click.Option):
    """An option for a field. Its help lists the names that are allowed, plugins' included."""

    def __init__(self, name: str, field: Field, default_text: str | None = None, **named: object):
        kind = FieldType(field)
        super().__init__([flag(name), name], type=kind, metavar=kind.name, **named)
        #: The end of the help: the default in words, if any.
        self.end = f"[default: {default_text}]" if default_text else _default_text(field)

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """The option's lines in a command's help: what it is, what is allowed, the default."""
        field = self.type.field
        allowed = str(field.range or wanted(field))
        if field.names is not None:
            kind = field.names.kind
            again = kind in FIELDS and kind != self.name  # a second field for the same names
            allowed = f"as {flag(kind)}" if again else ", ".join(sorted(field.names))
        first = field.help[0].upper() if field.help[0].isascii() else field.help[0]
        self.help = f"{first}{field.help[1:]} ({allowed})  {self.end}"
        return super().get_help_record(context)


def _default_text(field: Field) -> str:
    """The default in an option's help; the values of a list are separated by commas."""
    values = field.default if field.many else (field.default,)
    facts = [f"default: {', '.join(map(str, values))}"] if values not in ((), (None,)) else []
    facts += ["may be repeated"] if field.many else []
    return f"[{'; '.join(facts)}]" if facts else ""


class RunCommand(click.Command):
    """A command with options for the fields of a run, those of entries included.

    Plugins may declare options after the command was defined. With an ``owner``, the command has
    the fields that are ``named``, and those that entries of this registry read.
    """

    def __init__(self, *given: object, owner: str | None = None, named: Names = (), **more: object):
        super().__init__(*given, **more)
        self.owner, self.named = owner, named

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """The options for fields, and then the other parameters."""
        fields = {**fields_of(RunSpec), **DECLARED}.items()
        read = [n for n, f in fields if n in self.named or self.owner in (None, *f.owners)]
        return [*map(run_option, read), *super().get_params(context)]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (*SECTIONS, COMMAND)}
        for option in self.get_params(context):
            if (record := option.get_help_record(context)) is not None:
                sections[section_of(option.name)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def run_option(name: str) -> FieldOption:
    """The option for a field of a run. The command gets None if it is not given."""
    texts = {"model": "the first that fits the data set", "task": "the model's"}
    texts["p"] = default_in_words("p")
    return FieldOption(name, FIELDS[name], texts.get(name))


data_root_option = click.option(
    "--data-root",
    type=ROOT,
    callback=lambda context, option, given: download.data_root(given),
    help=f"Folder of the data sets  [default: ${download.ROOT_VARIABLE}, "
    f"else {download.DEFAULT_ROOT}/]",
)


def spec_of_options(given: dict[str, object], **needed: object) -> RunSpec:
    """The run of the ``given`` options. An option with no effect on it is logged.

    By default the model fits the data set: of the first of TASKS for which there is one, and with
    the data set's name if there is one. The default task is the model's.
    """
    values = {name: value for name, value in given.items() if value is not None}
    dataset = values.get("dataset", FIELDS["dataset"].default)
    shape = DATASETS[dataset].input_shape
    tasks = [values["task"]] if "task" in values else list(TASKS)
    fitting = [n for n, m in MODELS.items() if m.input_shape == shape and m.task in tasks]
    fitting.sort(key=lambda n: (tasks.index(MODELS[n].task), not n.startswith(f"{dataset}_")))
    model = values.get("model", next(iter(fitting), FIELDS["model"].default))
    implied = {"model": model, "task": MODELS[model].task}
    spec = resolve({}, {**implied, **needed, **values})
    for name, value in values.items():
        used = getattr(spec, name)
        if used != value:
            instead = "it is not used" if used is None else f"it is {in_words(used)}"
            LOG.warning("note: %s %s has no effect here: %s", name, value, instead)
    return spec
