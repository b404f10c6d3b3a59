"""The values that the paper does not state: which of them come nearest to Table 1.

A *candidate* is a way of training, a γ and a p, with one meaning of "accuracy" and a number of
epochs. Its distance is the root mean square of measured − published over cells of Table 1, in
percentage points. Candidates are chosen by the ``CALIBRATED`` cells: centralized training, and
gossip and NGO on the ring. The other cells take no part in the choice; they confirm it or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.analysis.cases import CELL
from ngo.analysis.comparisons import ACCURACY, published_for
from ngo.analysis.seed_means import check_apart

#: The fields of a run that say how a model is trained.
TRAINING = ("lr", "batch_size", "local_rule", "momentum", "lr_schedule", "augmentation")

#: The fields that are free: those of a candidate.
VALUES = (*TRAINING, "gamma", "p")

#: What "accuracy" may mean: that of the mean of the models, or the mean of the models' own.
READINGS = {"consensus": ACCURACY.consensus, "workers": ACCURACY.workers}

#: The readings in words.
MODELS = {"consensus": "consensus model", "workers": "workers' mean"}

HALVES = ("iid", "noniid")

#: Topology and method of the cells by which candidates are chosen.
CALIBRATED = ((None, "centralized"), ("ring", "gossip"), ("ring", "ngo"))

#: Topology and method of the cells that are kept out of the choice.
CONFIRMED = (("random", "gossip"), ("random", "ngo"), ("complete", "gossip"), ("complete", "ngo"))


def joined_trials(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all tidy ``tables``; a run that is in several counts once."""
    rows = [table.dropna(axis=1, how="all") for table in tables]
    return pd.concat(rows, ignore_index=True).drop_duplicates(["run", "step"], ignore_index=True)


def accuracies(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Accuracies of all trials in percent, with the paper's: a row for each cell and number.

    ``metrics`` are tidy metrics. A trial is a number of epochs of one way of training. With a
    constant learning rate, every evaluation but the first is a trial of its own; with a schedule,
    only the last evaluation is one.

    Columns: ``cases.CELL``, ``half`` (iid or noniid), the fields in ``VALUES`` (None where they
    have no meaning), ``epochs``, ``reading`` (of ``READINGS``), ``measured`` (the mean over seeds;
    NaN if a run has diverged by then), ``std``, ``seeds``, ``paper``.

    Raises a UserError for runs of one seed that differ in no column here.
    """
    runs = _plain(metrics)
    ends = runs.loc[runs.groupby("run")["step"].idxmax()]
    by = [*CELL, *VALUES]
    check_apart(ends, [*by, "epochs"])
    evaluated = (runs["epoch"] / runs["eval_every"]).round() * runs["eval_every"]
    runs = runs[runs["step"] > 0].assign(evaluated=evaluated)
    whole = runs.index.isin(ends.index) & ~runs["diverged"]
    runs.loc[whole, "evaluated"] = runs["epochs"]
    runs = runs[whole | (runs["lr_schedule"] == "constant")]
    rows = []
    for key, cell in runs.groupby([*by, "epochs"], dropna=False, sort=False):
        seeds = cell["seed"].nunique()
        for epochs, at in cell.groupby("evaluated"):
            values = dict(zip([*by, "epochs"], key, strict=True)) | {"epochs": epochs}
            for reading, column in READINGS.items():
                accuracy = ACCURACY.factor * at[column].where(~at["diverged"]).to_numpy(float)
                complete = len(accuracy) == seeds
                measured = accuracy.mean() if complete else np.nan
                std = accuracy.std(ddof=1) if complete and seeds > 1 else np.nan
                facts = {"reading": reading, "measured": measured, "std": std, "seeds": seeds}
                rows.append({**values, **facts})
    table = pd.DataFrame(rows).astype({"topology": object, "p": object, "gamma": object})
    table = table.drop_duplicates([*by, "epochs", "reading"], ignore_index=True)
    table[[*CELL, *VALUES]] = table[[*CELL, *VALUES]].astype(object).where(table.notna(), None)
    table["half"] = np.where(table["partition"] == "iid", *HALVES)
    return table.assign(paper=published_for(table, reference, ACCURACY.published))


def candidates(table: pd.DataFrame) -> pd.DataFrame:
    """The distance of each candidate and half: a row for each reading and number of epochs.

    ``table`` is that of ``accuracies``. Columns: ``dataset``, ``VALUES``, ``reading``, ``half``,
    ``epochs``, ``calibrated`` and ``confirmed`` (the distances; NaN if a cell is absent or has
    diverged).
    """
    rows = []
    ring = table[(table["method"] == "ngo") & (table["topology"] == "ring")]
    lookup = dict(zip(_keys(table), table["measured"] - table["paper"], strict=True))
    for row in ring.to_dict("records"):
        entry = {name: row[name] for name in ("dataset", *VALUES, "reading", "half", "epochs")}
        for name, cells in (("calibrated", CALIBRATED), ("confirmed", CONFIRMED)):
            gaps = [lookup.get(_key(row, *cell), np.nan) for cell in cells]
            entry[name] = float(np.sqrt(np.mean(np.square(gaps))))
        rows.append(entry)
    return pd.DataFrame(rows)


def ranking(table: pd.DataFrame, *, common: bool = True) -> pd.DataFrame:
    """The candidates by distance over both halves, each at its best number of epochs.

    With ``common``, both halves are trained for the same number of epochs; without, each for its
    own. Columns: ``dataset``, ``rank`` (1 is the nearest of its data set), ``VALUES``, ``reading``,
    ``epochs_iid``, ``epochs_noniid``, ``calibrated`` and ``confirmed`` (distances over the cells of
    both halves) and each with ``_iid`` and ``_noniid``. A candidate whose runs diverged, or lack a
    cell, has NaN and comes last.
    """
    halves = candidates(table)
    by = ["dataset", *VALUES, "reading"]
    iid, noniid = (halves[halves["half"] == half].drop(columns="half") for half in HALVES)
    both = iid.merge(noniid, on=by, suffixes=("_iid", "_noniid"))
    if common:
        both = both[both["epochs_iid"] == both["epochs_noniid"]].copy()
    distances = []
    for name in ("calibrated", "confirmed"):
        both[name] = np.sqrt((both[f"{name}_iid"] ** 2 + both[f"{name}_noniid"] ** 2) / 2)
        distances += [name, f"{name}_iid", f"{name}_noniid"]
    both = both.sort_values(["dataset", "calibrated"], kind="stable")
    best = both.drop_duplicates(by, ignore_index=True)
    best["rank"] = best.groupby("dataset").cumcount() + 1
    return best[["dataset", "rank", *by[1:], "epochs_iid", "epochs_noniid", *distances]]


def rankings(table: pd.DataFrame) -> pd.DataFrame:
    """``ranking`` with the same epochs for both halves, then with each half's own.

    The column ``epochs`` is ``common`` or ``own``.
    """
    both = [ranking(table, common=way == "common").assign(epochs=way) for way in ("common", "own")]
    return pd.concat(both).sort_values(["dataset", "epochs", "rank"], ignore_index=True)


def cells_of(table: pd.DataFrame, candidate: pd.Series) -> pd.DataFrame:
    """The cells of one candidate, a row of ``ranking``: rows of ``accuracies``.

    A further column, ``chosen_by``, is True for the cells of ``CALIBRATED``.
    """
    wanted = [
        _key({**candidate, "half": half, "epochs": candidate[f"epochs_{half}"]}, *cell)
        for half in HALVES
        for cell in (*CALIBRATED, *CONFIRMED)
    ]
    rows = table[[key in wanted for key in _keys(table)]]
    cells = zip(rows["topology"], rows["method"], strict=True)
    return rows.assign(chosen_by=[cell in CALIBRATED for cell in cells])


def each_cell(table: pd.DataFrame, ranked: pd.DataFrame) -> pd.DataFrame:
    """Each cell of the paper: the nearest candidate's accuracy, and the nearest of any trial.

    ``ranked`` is that of ``ranking``. Columns: ``dataset``, ``half``, ``topology``, ``method``,
    ``paper``, ``candidate`` (of rank 1; NaN if it has no such cell), its ``std`` over seeds and
    ``seeds``, ``nearest``, and the values of that trial (``VALUES``, ``reading``, ``epochs``).
    """
    by = ["dataset", "half", "topology", "method"]
    first = [cells_of(table, row) for _, row in ranked[ranked["rank"] == 1].iterrows()]
    chosen = pd.concat(first)[[*by, "measured", "std", "seeds"]]
    chosen = chosen.rename(columns={"measured": "candidate"})
    gaps = (table["measured"] - table["paper"]).abs().dropna().sort_values(kind="stable")
    best = table.loc[gaps.index].drop_duplicates(by)
    best = best[[*by, "paper", "measured", *VALUES, "reading", "epochs"]]
    both = best.rename(columns={"measured": "nearest"}).merge(chosen, on=by, how="left")
    order = {cell: k for k, cell in enumerate((*CALIBRATED, *CONFIRMED))}
    both["_cell"] = [order[cell] for cell in zip(both["topology"], both["method"], strict=True)]
    columns = [*by, "paper", "candidate", "std", "seeds", "nearest"]
    both = both.sort_values(["dataset", "half", "_cell"], ignore_index=True)
    return both[[*columns, *VALUES, "reading", "epochs"]]


def in_words(trial: dict) -> str:
    """The values of one trial: how it is trained, γ, p, epochs, and whose accuracy it is."""
    letters = {"gamma": "γ", "p": "p"}
    given = [f"{of} = {trial[name]:g}" for name, of in letters.items() if trial[name] is not None]
    model = [MODELS[trial["reading"]]] if trial["method"] != "centralized" else []
    return ", ".join([training_in_words(trial), *given, f"{trial['epochs']:g} epochs", *model])


def training_in_words(trial: dict) -> str:
    """How a candidate is trained: ``SGD, η = 0.05, batch 32``."""
    words = {"sgd": "SGD", "momentum": f"momentum {trial['momentum']}"}
    words |= {"crop_flip": "crop and flip", "constant": "", "none": ""}
    rule, schedule, augmentation = (
        words.get(trial[name], str(trial[name]))
        for name in ("local_rule", "lr_schedule", "augmentation")
    )
    facts = [rule, f"η = {trial['lr']:g}", f"batch {trial['batch_size']}"]
    return ", ".join(filter(None, [*facts, schedule and f"{schedule} schedule", augmentation]))


#: What a table without these columns means.
_IMPLIED = {"local_rule": "sgd", "lr_schedule": "constant", "augmentation": "none"}


def _plain(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with every field in ``VALUES``; p and γ where the paper's methods read them."""
    runs = metrics.reindex(columns=list(dict.fromkeys([*metrics, *VALUES])))
    for name in VALUES:
        runs[name] = runs[name].astype(object).where(runs[name].notna(), _IMPLIED.get(name))
    runs.loc[runs["method"] != "ngo", "p"] = None
    runs.loc[runs["method"] == "centralized", ["gamma", "topology"]] = None
    return runs.reset_index(drop=True)


def _keys(table: pd.DataFrame) -> list[tuple]:
    return [_key(row, row["topology"], row["method"]) for row in table.to_dict("records")]


def _key(row: dict, topology: str | None, method: str) -> tuple:
    """What names a cell's trial: the values that ``method`` reads, of those in ``row``."""
    read = {"centralized": TRAINING, "gossip": (*TRAINING, "gamma"), "ngo": VALUES}[method]
    values = tuple(None if pd.isna(row[name]) else row[name] for name in read)
    epochs = round(float(row["epochs"]), 9)
    return (row["dataset"], row["half"], topology, method, *values, row["reading"], epochs)
