"""From a config to a plan: every run, partition and measurement that it asks for.

Light: the workflow imports this module at every start, so it imports no torch.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import yaml

import ngo.analysis.quantities  # noqa: F401 (registers the quantities and values that claims name)
from ngo.analysis.cases import pooled
from ngo.analysis.universes import Universe
from ngo.common.devices import check_device
from ngo.common.fields import fields_of, unknown_field
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline import paper_figures, paths
from ngo.pipeline.claim_filters import check_filters, check_tables
from ngo.pipeline.config import checked
from ngo.pipeline.experiments import PREFIX, experiments, named_settings, resolve_run
from ngo.pipeline.paper_figures import ANY, OF_CLAIMS, OF_EXPERIMENT, Artefact, figures_of
from ngo.training.run_folder import MODELS
from ngo.training.spec import FIELDS, FINAL, RunSpec, own_entries
from ngo.training.spec_checks import check_snapshots
from verdicts import read_claims
from verdicts.claims import ADDED, ClaimsFile
from verdicts.registry import UserError, one_of

#: The name of the tidy table of all runs.
ALL = "runs"

#: How the name of a table starts that has the seeds, too, which were added for claims.
EVERY_SEED = "every_seed_of_"


@dataclass(frozen=True)
class Plan:
    """The runs, partitions, measurements and figures of a config."""

    #: The config's section ``paper``: who claims what. The name is that of a folder in ``papers``;
    #: it is empty for a user's study, and the address for what is nowhere online.
    paper: Mapping[str, str]
    tier: str
    #: The config, without what it leaves out.
    config: Mapping[str, Any]
    #: Plugin files, relative to the working directory.
    plugins: list[str]
    #: The runs of each experiment.
    training: dict[str, list[RunSpec]]
    #: The first setting of each run, by the run's id.
    settings: dict[str, str]
    #: The steps after which a run's models are kept, by the run's id.
    snapshots: dict[str, list[int | str]]
    #: For each figure of partitions: by setting, a run that has the partition.
    partitions: dict[str, dict[str, RunSpec]]
    #: For each kind of measurement, its values by the name of the entry.
    measures: dict[str, dict[str, dict]]
    #: All figures and tables of the config, by name, whether or not the plan makes what they read.
    figures: dict[str, Artefact]
    #: The file of claims, relative to the working directory.
    claims: str
    #: The file of findings for the page of results; None if there is none.
    findings: str | None
    #: The names of all tidy tables of the config, with those that it leaves out.
    defined: set[str]
    #: The universes of an experiment, if it is a sample of them, by its name.
    universes: dict[str, list[Universe]]

    @cached_property
    def ledger(self) -> ClaimsFile:
        """The claims; a one-line UserError for the first mistake in their file."""
        ledger = read_claims(self.claims).with_named("network", self.config.get("network", {}))
        check_tables(ledger, self.defined, {*self.figures, *self.defined, paths.CLAIMS})
        check_filters(ledger, self.training)
        return ledger

    @cached_property
    def own_combinations(self) -> list[RunSpec]:
        """The combinations that use an entry of the user's, as runs of seed 0."""
        own = (replace(spec, seed=0) for spec in self.runs.values() if own_entries(spec))
        return list(dict.fromkeys(own))

    def tables(self, name: str) -> list[str]:
        """The names of the tidy tables that a figure or table reads."""
        return [t for read in self.artefacts[name].reads.values() for t in self._of(read)]

    def _of(self, read: str) -> list[str]:
        """The tidy tables that match a name, or a pattern such as ``universes_*``.

        For ``ANY``, those that claims name, as far as this plan makes them. Else, in place of a
        table whose claims have added seeds, the one that has these too.
        """
        if read == ANY:
            return [table for table in self.ledger.tables if table in self.made]
        every = {name: EVERY_SEED + name for name in self.made if EVERY_SEED + name in self.joined}
        return [every.get(name, name) for name in sorted(fnmatch.filter(self.made, read))]

    @cached_property
    def joined(self) -> dict[str, list[str]]:
        """The experiments whose runs a tidy table has, by its name.

        An experiment with claims for which seeds were added has a second table, for figures: means
        there are over all seeds that its claims use.
        """
        own = {name: [name] for name in self.training}
        if not any(name.startswith(ADDED) for name in own):
            return own
        claims = [claim for claim in self.ledger.claims.values() if claim.looks]
        added = {
            name: sorted({claim.added for claim in claims if name in claim.tables} & own.keys())
            for name in own
        }
        return own | {EVERY_SEED + name: [name, *more] for name, more in added.items() if more}

    @cached_property
    def made(self) -> set[str]:
        """The names of all tidy tables."""
        return _tables(self.training, self.partitions, self.measures)

    @cached_property
    def artefacts(self) -> dict[str, Artefact]:
        """The figures and tables that the plan makes, by name, in the order of the paper.

        A figure of the config is made if the plan makes its tidy tables. An experiment without a
        figure gets a default one, but for the added seeds of a claim. The table of claims is the
        last.
        """
        paper, entries = self.paper["name"], self.figures.values()
        made = [entry for entry in entries if all(map(self._of, entry.reads.values()))]
        shown = {*self.figures, *self.universes}
        for read in (read for entry in entries for read in entry.reads.values()):
            shown |= {*fnmatch.filter(self.training, read)}
        book = paths.notebook_of(paper, "experiment")
        artefacts = {entry.name: entry for entry in sorted(made, key=lambda entry: entry.place)}
        for name in self.training:
            if name not in shown and not name.startswith(ADDED):
                artefacts[name] = Artefact.read(name, {**OF_EXPERIMENT, "tables": [name]}, book)
        book = paths.notebook_of(paper, paths.CLAIMS)
        artefacts[paths.CLAIMS] = Artefact.read(paths.CLAIMS, OF_CLAIMS, book)
        for entry in artefacts.values():
            entry.text  # noqa: B018 (it is read in the working directory of the plan)
        return artefacts

    @property
    def own_tables(self) -> list[str]:
        """The tables of universes and of measurements, which are targets by their names."""
        measured = [f"{kind}_{name}" for kind, entries in self.measures.items() for name in entries]
        return [name for name in (*self.universes, *measured) if name not in self.artefacts]

    def files(self, entries: Iterable[Artefact]) -> list[str]:
        """The files of tables and figures."""
        folder = paths.tier_folder(self.tier)
        return [f"{folder}/{path}" for entry in entries for path in entry.outputs()]

    def measure_options(self, kind: str, name: str) -> dict[str, object]:
        """The options of a measurement; one that trains has a device too."""
        place = {"device": self.config["device"]} if MEASUREMENTS[kind].run_fields else {}
        return {**self.measures[kind][name], **place}

    def measured_data(self, kind: str, name: str) -> list[str]:
        """The manifest of the data set that a measurement reads, if any."""
        dataset = self.measures[kind][name].get("dataset")
        return [paths.data_manifest(dataset)] if dataset else []

    def models(self, name: str) -> list[str]:
        """The models that the runs of an experiment keep."""
        return [str(paths.RUNS / spec.id / MODELS) for spec in self.training.get(name, ())]

    def universes_of(self, name: str) -> list[dict]:
        """The universes of an experiment as values for JSON; empty if it is no sample of them."""
        return [asdict(universe) for universe in self.universes.get(name, ())]

    @cached_property
    def shown_runs(self) -> list[str]:
        """The ids of the runs behind tables, figures and claims."""
        read = self.training.keys() & {*self.artefacts, *self.tables(paths.CLAIMS)}
        return sorted({spec.id for name in read for spec in self.training[name]})

    def inputs(self, name: str) -> dict[str, str | list[str]]:
        """The files that a figure or table reads, by the parameters of its notebook.

        Claims may compare with any of the published numbers, so their table reads all of them.
        """
        entry, files = self.artefacts[name], {}
        for parameter, read in entry.reads.items():
            every = [paths.tidy_table(self.tier, table) for table in self._of(read)]
            files[parameter] = every if ANY in read else every[0]
        if entry.reference:
            files["reference"] = paths.published_numbers(self.paper["name"], entry.reference)
        if "claims" in entry.asks:
            printed = [str(path) for path in self.ledger.printed]
            files |= {"claims": self.claims, "published": printed}
        return files

    def parameters(self, name: str) -> dict[str, object]:
        """The parameters of the notebook of a figure or table, with their values."""
        own = self.config["artefacts"].get(name, {})
        values = {**self.inputs(name), "network": self.config.get("network", {}), **own}
        values |= {"experiment": name, "out": paths.tier_folder(self.tier)}
        return {parameter: values[parameter] for parameter in self.artefacts[name].parameters}

    def notebook_flags(self, name: str) -> list[str]:
        """The parameters of the notebook as options of ``ngo notebook``, in YAML."""

        def text(value: object) -> str:
            if not isinstance(value, Mapping | list):
                return str(value)
            return yaml.safe_dump(value, default_flow_style=True, width=10**6).strip()

        given = self.parameters(name).items()
        return [word for key, value in given for word in ("-p", f"{key}={text(value)}")]

    @property
    def run_tables(self) -> dict[str, str]:
        """The names of the tidy tables that are joined from runs, by their paths."""
        return {paths.tidy_table(self.tier, name): name for name in (ALL, *self.joined)}

    def runs_of(self, table: str) -> list[RunSpec]:
        """The runs of a tidy table; none for one that is not joined from runs."""
        names = self.training if table == ALL else self.joined.get(table, ())
        return list({spec.id: spec for name in names for spec in self.training[name]}.values())

    @cached_property
    def runs(self) -> dict[str, RunSpec]:
        """Every run once, by id."""
        return {spec.id: spec for runs in self.training.values() for spec in runs}

    @cached_property
    def drawn(self) -> dict[str, dict[str, RunSpec]]:
        """For each setting, and each of its partitions by id, a run that has it."""
        pairs = [(self.settings[spec.id], spec) for spec in self.runs.values()]
        pairs += [pair for specs in self.partitions.values() for pair in specs.items()]
        runs: dict[str, dict[str, RunSpec]] = {}
        for setting, spec in pairs:
            runs.setdefault(setting, {}).setdefault(spec.partition_id, spec)
        return runs


def plan(config: Mapping) -> Plan:
    """The checked plan of a config; a one-line UserError for the first mistake in it.

    An experiment that is None, or missing in the list ``only``, is left out, with its measurements,
    tables and figures. A plan without a figure of the NGO paper is a study of the user's.
    """
    config, whole = checked(config)
    paper = one_of("paper.name", config["paper"]["name"], paths.paper_names())
    if config["tier"] in paths.SHARED:
        fault = f"{config['tier']!r} is a folder of results/ that all tiers share"
        raise UserError(f"tier: {fault}; choose a name other than {', '.join(paths.SHARED)}.")
    check_device(config["device"])
    runs, universes = experiments(config)
    training = {name: list(specs) for name, specs in runs.items()}
    pairs = [pair for specs in reversed(runs.values()) for pair in specs.items()]
    settings = {spec.id: setting for spec, setting in pairs}  # the first is the last to come
    partitions = {name: _partitions(config, name) for name in config["partitions"]}
    defined = [*whole["training"], *(PREFIX + name for name in whole.get("universes", ()))]
    tables = _tables(defined, whole["partitions"], whole)
    shown = paper_figures.figures(config, paper)
    for name, entry in shown.items():
        stated = "reads" in config.get("figures", {}).get(name, ())
        for read in [read for read in entry.reads.values() if stated and ANY not in read]:
            one_of(f"figures.{name}.reads", read, tables)
        for field in [field for field in entry.apart or () if field not in FIELDS]:
            raise unknown_field(f"figures.{name}.apart", field, FIELDS)
        if entry.apart is not None:
            _check_apart(f"training.{name}", training.get(name, ()), entry.apart)
            _check_apart(f"partitions.{name}", partitions.get(name, {}).values(), entry.apart)
    planned = Plan(
        paper=config["paper"],
        **paper_figures.stated_files(config, paper),
        tier=config["tier"],
        config=config,
        plugins=list(config.get("plugins", ())),
        training=training,
        settings=settings,
        snapshots=_snapshots(config, training),
        partitions=partitions,
        measures={
            kind: {name: _measure_flags(config, kind, name) for name in config.get(kind, ())}
            for kind in MEASUREMENTS
        },
        figures=shown,
        defined=tables,
        universes=universes,
    )
    if paper == paths.NGO and not {*planned.artefacts} & {*figures_of(paths.NGO)}:
        study = paper_figures.own_study(config)
        planned = replace(planned, paper=study, **paper_figures.stated_files(config, study["name"]))
    for name, entry in shown.items():
        entry.check_values(config["artefacts"].get(name, {}), asked=name in planned.artefacts)
    return planned


def _tables(training: Iterable[str], partitions: Iterable[str], measures: Mapping) -> set[str]:
    """The names of the tidy tables of experiments, partitions and measurements."""
    measured = {f"{kind}_{name}" for kind in MEASUREMENTS for name in measures.get(kind, ())}
    return {*training, *(f"classes_{name}" for name in partitions), *measured, ALL}


def _check_apart(key: str, specs: Iterable[RunSpec], apart: Sequence[str]) -> None:
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
                check_snapshots(spec, entry["snapshots"], spec.steps(spec.owned))
            except UserError as error:
                raise UserError(f"training.{name}.{error}") from None
            wanted.setdefault(spec.id, set()).update(entry["snapshots"])
    for section in (kind for kind, entry in MEASUREMENTS.items() if entry.on_models):
        for name in config.get(section, {}):
            if "snapshots" not in config["training"].get(name, {}):
                raise UserError(f"{section}.{name}: it needs training.{name}, with snapshots.")
    return {run: sorted(steps, key=lambda t: (t == FINAL, t)) for run, steps in wanted.items()}


def _partitions(config: Mapping, figure: str) -> dict[str, RunSpec]:
    """For a figure of partitions, a run with that of each setting."""
    key, entry = f"partitions.{figure}", config["partitions"][figure]
    return {
        name: resolve_run(key, {"seed": entry["seed"]}, config, setting)
        for name, setting in named_settings(key, config, entry["settings"]).items()
    }


def _measure_flags(config: Mapping, kind: str, name: str) -> dict[str, object]:
    """The flags of a measurement: its options, and fields of NGO's run in its setting.

    An option that is not stated has the command's default. An optional one is left out then.
    """
    key, measurement, entry = f"{kind}.{name}", MEASUREMENTS[kind], config[kind][name]
    defaults = {
        name: list(field.default) if isinstance(field.default, tuple) else field.default
        for name, field in fields_of(measurement.options).items()
        if name not in entry and not field.optional and field.default is not None
    }
    entry = {**entry, **defaults}
    measurement.read(key, entry)
    if not measurement.run_fields:
        return entry
    setting = named_settings(key, config, [entry["setting"]])[entry["setting"]]
    given = {"seed": 0, "topology": "ring", "method": "ngo"}
    spec = resolve_run(key, given, config, setting)
    options = {name: value for name, value in entry.items() if name != "setting"}
    return {**{name: getattr(spec, name) for name in measurement.run_fields}, **options}
