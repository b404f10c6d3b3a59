"""An archive of four runs on digits and of two measurements, and forgeries of it."""

import dataclasses
import io
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from finished_runs import campaign
from runs import run_in
from small_theory import OPTIONS

from ngo.analysis import table_files
from ngo.cli import cli
from ngo.measures import theory
from ngo.measures.spectra import SpectraOptions, spectral_table
from ngo.pipeline.archives import verify
from ngo.pipeline.archives.archive import Archive, collect_finished
from ngo.pipeline.archives.finished_runs import packed, read_run
from ngo.pipeline.archives.verify import Made, made_run
from ngo.pipeline.paths import RUNS, tidy_table
from verdicts.members import write_archive

THEORY = tidy_table("test", "theory_theory")
SPECTRA = tidy_table("test", "spectra_own")

# The parts of the theory measurement that are quick.
KINDS = {name: theory.KINDS[name] for name in ("bounds", "sums")}

ABOUT = {"place": "here", "says": "something", "kind": "order", "above": 0}
CLAIMS = {
    "ngo-wins": {**ABOUT, "from": "own", "quantity": "difference",
                 "with": {"of": {"method": "ngo"}, "minus": {"method": "gossip"}}},
    "gossip-learns": {**ABOUT, "from": "own", "quantity": "level", "where": {"method": "gossip"}},
    "time": {"place": "here", "says": "V is 0 after T*", "kind": "theorem", "from": "theory_theory",
             "quantity": "theory_consensus_time", "with": {"form": "paper"}},
}  # fmt: skip


def _entry(options: object) -> dict:
    values = dataclasses.asdict(options).items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values}


def small_campaign(folder: Path):
    """The configs of the campaign and its plan."""
    (folder / "claims.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    spectra = SpectraOptions(topology=("ring", "random"), workers=(4, 6), draws=3)
    sections = {"theory": {"theory": _entry(OPTIONS)}, "spectra": {"own": _entry(spectra)}}
    return campaign(folder, claims="claims.yaml", **sections)


def train(folder: Path, *, measured: bool = False) -> None:
    """Train the runs of the campaign, and measure if ``measured``, in ``folder``."""
    _, planned = small_campaign(folder)
    for spec in planned.runs.values():
        run_in(spec, folder / RUNS / spec.id)
    if not measured:
        return
    (folder / THEORY).parent.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theory, "KINDS", KINDS)
        table_files.write(theory.theory_table(OPTIONS), folder / THEORY)
    options = SpectraOptions(topology=("ring", "random"), workers=(4, 6), draws=3)
    table_files.write(spectral_table(options), folder / SPECTRA)


def members_in(folder: Path) -> dict[str, bytes]:
    """The members of an archive of what was trained and measured in the working directory."""
    configs, _ = small_campaign(folder)
    found = [name for name in (THEORY, SPECTRA) if Path(name).exists()]
    return {**collect_finished(configs)[0], **{name: Path(name).read_bytes() for name in found}}


def in_this_process(monkeypatch, folder: Path) -> None:
    """Runs are trained and cases are measured again in this process, once for each."""
    monkeypatch.setattr(theory, "KINDS", KINDS)
    here = made_run(read_run(next(RUNS.iterdir()))).made_on

    def trained(spec, planned, root, threads, environment):
        assert not environment  # the same processor: one run decides
        run_in(spec, folder / "again" / spec.id, overwrite=True)
        return made_run(read_run(folder / "again" / spec.id))

    def measured(table, number, planned, environment):
        assert not environment
        return Made(table.cases[number].measure(), here)

    monkeypatch.setattr(verify, "train_again", trained)
    monkeypatch.setattr(verify, "measure_again", measured)


def verified(members, *arguments, code=0) -> str:
    """The output of ``ngo verify`` on an archive of ``members``, own.tar."""
    write_archive("own.tar", members)
    answer = CliRunner().invoke(cli.main, ["verify", "own.tar", *map(str, arguments)])
    assert answer.exit_code == code, answer.output
    return answer.output


def forged(members, change, *, record=True):
    """The archive with ``change`` made to the first run, all else made to fit; that run's id."""
    runs = Archive("own.tar", members).runs
    run = runs[min(runs)]
    columns = {name: column.copy() for name, column in run.columns.items()}
    change(columns)
    final = dict(run.record["final"])
    if record:
        final |= {name: columns[name][-1].item() for name in ("V", "consensus_accuracy")}
    runs[run.id] = dataclasses.replace(run, columns=columns, record={**run.record, "final": final})
    return {**members, **packed(runs.values())}, run.id


def in_parquet(table: pd.DataFrame) -> bytes:
    """A table as a member of an archive."""
    file = io.BytesIO()
    table.to_parquet(file, index=False)
    return file.getvalue()


def forged_table(members, name, change):
    """The archive with ``change`` made to a table."""
    table = pd.read_parquet(io.BytesIO(members[name]))
    return {**members, name: in_parquet(change(table))}
