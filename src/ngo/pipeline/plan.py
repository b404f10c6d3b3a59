"""From a config to a plan: every run, partition and measurement that it asks for.

Light: the workflow imports this module at every start, so it imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ngo.analysis.apart import pooled
from ngo.common import plugins
from ngo.common.devices import check_device
from ngo.common.former import read_claims, renamed_throughout
from ngo.common.registry import UserError, shown, unknown
from ngo.common.versions import MIXED
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.artefacts import ARTEFACTS, CLAIMS, Artefact, tidy_table, tier_folder
from ngo.pipeline.claim_filters import check_filters, check_tables
from ngo.pipeline.config_files import check_size
from ngo.pipeline.config_schema import check_schema
from ngo.pipeline.grid import check_fields, experiments, named_settings, resolve_run
from ngo.training.checks import check_snapshots
from ngo.training.spec import FINAL, RunSpec
from verdicts.claims.claim import ClaimsFile

# Folders of results/ that all tiers share, or shared once: no tier may have these names.
SHARED = ("runs", "partitions", "data", "metrics", "archive", "shipped", "carry")


@dataclass(frozen=True)
class Plan:
    """What a config asks for."""

    tier: str
    device: str
    #: How many runs share a GPU of one machine, at most.
    runs_per_gpu: int
    #: Plugin files, relative to the working directory.
    plugins: list[str]
    #: The runs of each experiment.
    training: dict[str, list[RunSpec]]
    #: The steps after which a run's models are kept, by the run's id.
    snapshots: dict[str, list[int | str]]
    #: For each artefact that shows partitions, runs that have them.
    partitions: dict[str, list[RunSpec]]
    #: For each kind of measurement, its values by the name of the artefact.
    measures: dict[str, dict[str, dict]]
    #: Parameters of an artefact's notebook.
    shown: dict[str, dict]
    #: The file of claims, relative to the working directory.
    claims: str
    #: Runs that different versions of a library made, in one table: ``refuse`` or ``tell``.
    mixed_versions: str
    #: The file of findings for the page of results; None if there is none.
    findings: str | None
    #: Networks on which runs are priced: latency, bandwidth and so on, by name.
    network: dict[str, dict]
    #: The names of the tidy tables that the config defines, those which are left out included.
    defined: set[str]

    @cached_property
    def ledger(self) -> ClaimsFile:
        """The claims; a one-line UserError for the first mistake in their file."""
        ledger = read_claims(self.claims).with_named("network", self.network)
        check_tables(ledger, self.defined)
        check_filters(ledger, self.training)
        return ledger

    def tables(self, artefact: str) -> list[str]:
        """The names of the tidy tables that an artefact reads.

        For the table of claims, those of the tables which claims name that this plan makes.
        """
        if artefact != CLAIMS:
            return list(ARTEFACTS[artefact].metrics.values())
        return [name for name in self.ledger.tables if name in self.made]

    @cached_property
    def made(self) -> set[str]:
        """The names of all tidy tables."""
        return _tables(self.training, self.partitions, self.measures)

    @cached_property
    def artefacts(self) -> dict[str, Artefact]:
        """The tables and figures whose tidy tables the plan makes, by name."""
        return {
            name: entry
            for name, entry in ARTEFACTS.items()
            if self.made.issuperset(entry.metrics.values())
        }

    @cached_property
    def shown_runs(self) -> list[str]:
        """The ids of the runs that tables and figures are made from, and that claims are about."""
        read = [*self.artefacts, *self.tables(CLAIMS)]
        return sorted({spec.id for name in read for spec in self.training.get(name, ())})

    def inputs(self, artefact: str) -> dict[str, str | list[str]]:
        """The files that an artefact reads, by name."""
        if artefact != CLAIMS:
            return dict(ARTEFACTS[artefact].inputs(self.tier))
        tables = [tidy_table(self.tier, name) for name in self.tables(CLAIMS)]
        printed = [str(path) for path in self.ledger.printed]
        return {"metrics": tables, "reference": self.claims, "published": printed}

    def parameters(self, artefact: str) -> dict[str, object]:
        """The parameters of an artefact's notebook."""
        given = self.inputs(artefact)
        if artefact == CLAIMS:
            del given["published"]
            folder = f"{tier_folder(self.tier)}/metrics"
            given |= {"metrics": folder, "tables": self.tables(CLAIMS)}
        if ARTEFACTS[artefact].priced:
            given["network"] = self.network
        out = {"tier": self.tier, "out": tier_folder(self.tier)}
        return {**given, **self.shown.get(artefact, {}), **out}

    def notebook_flags(self, artefact: str) -> list[str]:
        """The parameters of an artefact's notebook as options of ``ngo notebook``, in YAML."""
        import yaml

        def text(value: object) -> str:
            if not isinstance(value, Mapping):
                return str(value)
            return yaml.safe_dump(value, default_flow_style=True, width=10**6).strip()

        given = self.parameters(artefact).items()
        return [word for name, value in given for word in ("-p", f"{name}={text(value)}")]

    @cached_property
    def runs(self) -> dict[str, RunSpec]:
        """Every run once, by id."""
        return {spec.id: spec for runs in self.training.values() for spec in runs}

    @cached_property
    def partition_runs(self) -> dict[str, RunSpec]:
        """For each partition, by id, a run that has it."""
        drawn = [spec for runs in self.partitions.values() for spec in runs]
        return {spec.partition_id: spec for spec in [*self.runs.values(), *drawn]}


def plan(config: Mapping) -> Plan:
    """The checked plan of a config; a one-line UserError for the first mistake in it.

    The config's plugins are imported first, so that names which they register are known. An
    experiment that is None, or that the list ``only`` lacks, is left out, and with it its
    measurements, tables and figures.
    """
    check_size(config)
    config = renamed_throughout(config, "config")
    load_plugins(config)
    whole, config = config, _without_left_out(config)
    check_schema(config)
    if config["tier"] in SHARED:
        raise UserError(
            f"tier: {config['tier']!r} is a folder of results/ that all tiers share; choose a name "
            f"other than {', '.join(SHARED)}."
        )
    check_device(config["device"])
    check_fields("defaults", config.get("defaults", {}))
    for name, setting in config["settings"].items():
        check_fields(f"settings.{name}", setting)
    training = experiments(config)
    for kind, measurement in MEASUREMENTS.items():
        for name, entry in config.get(kind, {}).items():
            measurement.read(f"{kind}.{name}", entry)
    partitions = {
        name: _partitions(f"partitions.{name}", config, entry)
        for name, entry in config["partitions"].items()
    }
    for name, entry in ARTEFACTS.items():
        if entry.apart is not None:
            _check_apart(f"training.{name}", training.get(name, ()), entry.apart)
            _check_apart(f"partitions.{name}", partitions.get(name, ()), entry.apart)
    measures = {
        kind: {
            name: _measure_flags(f"{kind}.{name}", config, measurement.run_fields, entry)
            for name, entry in config.get(kind, {}).items()
        }
        for kind, measurement in MEASUREMENTS.items()
    }
    return Plan(
        tier=config["tier"],
        device=config["device"],
        runs_per_gpu=config.get("runs_per_gpu", 1),
        plugins=list(config.get("plugins", ())),
        training=training,
        snapshots=_snapshots(config, training),
        partitions=partitions,
        measures=measures,
        shown=dict(config["artefacts"]),
        claims=config["claims"],
        mixed_versions=config.get("mixed_versions", MIXED[0]),
        findings=config.get("findings"),
        network=dict(config.get("network", {})),
        defined=_tables(whole["training"], whole["partitions"], whole),
    )


def _tables(training: Iterable[str], partitions: Iterable[str], measures: Mapping) -> set[str]:
    """The names of the tidy tables of experiments, partitions and measurements."""
    measured = {f"{kind}_{name}" for kind in MEASUREMENTS for name in measures.get(kind, ())}
    return {*training, *(f"classes_{name}" for name in partitions), *measured, "runs"}


def _without_left_out(config: Mapping) -> dict:
    """The config without the entries that are None or that ``only`` leaves out.

    Measurements on the models of such runs are left out with them.
    """
    kept = dict(config)
    training = config["training"] if isinstance(config.get("training"), Mapping) else {}
    sections = {
        kind: config[kind]
        for kind in ("training", "partitions", *MEASUREMENTS)
        if isinstance(config.get(kind), Mapping)
    }
    only = config.get("only")
    if isinstance(only, list):
        known = {name for entries in sections.values() for name in entries}
        for name in only:
            if not isinstance(name, str) or name not in known:
                raise unknown("only", name, known)
    for kind, entries in sections.items():
        needed = training if kind in MEASUREMENTS and MEASUREMENTS[kind].on_models else {}
        kept[kind] = {
            name: entry
            for name, entry in entries.items()
            if entry is not None
            and not (name in needed and needed[name] is None)
            and not (isinstance(only, list) and name not in only)
        }
    return kept


def load_plugins(config: Mapping) -> None:
    """Import the plugins of installed packages and those that a config names."""
    plugins.load_installed()
    paths = config.get("plugins", [])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UserError(f"plugins: {shown(paths)} is not allowed; it must be a list of files.")
    plugins.load(paths)


def _check_apart(key: str, specs: Iterable[RunSpec], apart: tuple[str, ...]) -> None:
    """Raise a UserError for two runs of a seed that their table or figure can't tell apart."""
    cells: dict[tuple, RunSpec] = {}
    for spec in specs:
        cell = tuple(getattr(spec, name) for name in (*apart, "seed"))
        if cells.setdefault(cell, spec) != spec:
            raise UserError(f"{key}: {pooled(apart, (cells[cell].id, spec.id))}")


def _snapshots(config: Mapping, training: Mapping[str, list[RunSpec]]) -> dict[str, list]:
    """The steps after which a run's models are kept, for all experiments, by the run's id."""
    wanted: dict[str, set] = {}
    for name, entry in config["training"].items():
        for spec in training[name] if "snapshots" in entry else ():
            try:
                check_snapshots(spec, entry["snapshots"], spec.owned)
            except UserError as error:
                raise UserError(f"training.{name}.{error}") from None
            wanted.setdefault(spec.id, set()).update(entry["snapshots"])
    for section in (kind for kind, entry in MEASUREMENTS.items() if entry.on_models):
        for name in config.get(section, {}):
            if "snapshots" not in config["training"].get(name, {}):
                raise UserError(f"{section}.{name}: it needs training.{name}, with snapshots.")
    return {
        run: sorted(steps, key=lambda step: (step == FINAL, step)) for run, steps in wanted.items()
    }


def _partitions(key: str, config: Mapping, entry: Mapping) -> list[RunSpec]:
    settings = named_settings(key, config, entry["settings"])
    return [resolve_run(key, {"seed": entry["seed"]}, config, setting) for setting in settings]


def _measure_flags(
    key: str, config: Mapping, fields: Iterable[str], entry: Mapping
) -> dict[str, object]:
    """The flags of a measurement: its options, and fields of NGO's run in its setting."""
    if not fields:
        return dict(entry)
    (setting,) = named_settings(key, config, [entry["setting"]])
    given = {"seed": 0, "topology": "ring", "method": "ngo"}
    spec = resolve_run(key, given, config, setting)
    own = {name: value for name, value in entry.items() if name != "setting"}
    return {**{name: getattr(spec, name) for name in fields}, **own}
