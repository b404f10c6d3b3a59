"""Which choices of what a paper leaves open could have printed its table? For ``ngo candidates``.

The section ``unstated`` of a config has, for a printed table, the values that the text leaves open;
the runs of an archive teach an emulator for each cell; ``verdicts.candidates`` weighs. A run is of
a cell if it meets the claim on the printed number, but for the values that are left open or fixed.
With a constant learning rate, each evaluation is a candidate of its own, but for losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ngo.analysis.universes import CHOSEN, READ_AS
from ngo.pipeline.emulator import Emulator, calibrated
from ngo.pipeline.experiments import sample
from ngo.pipeline.printed_numbers import by_number
from verdicts import candidates as judge
from verdicts import specification_curve
from verdicts.candidates import SCALES, Candidates, Tried, weigh
from verdicts.claims import ClaimsFile
from verdicts.printed_tables import OF_NUMBERS, printed_number
from verdicts.registry import UserError, as_list
from verdicts.report import Section, as_strings, page_texts
from verdicts.reproduction import text_of
from verdicts.run_values import VALUES
from verdicts.table import matches, need

#: A cell with fewer runs than this is not emulated.
FEWEST = 5

#: The most trained candidates that are shown.
NEAREST = 5

#: Plants by which the power is chosen, among these, and candidates of a plant.
TRIALS, POWERS, OF_PLANT = 100, (0.3, 0.4, 0.5, 0.65, 0.8, 1.0), 500

#: Points that are added to one method of a planted table.
ADDED = 2.0


def short(place: str) -> str:
    """The short name of a printed table: ``table1`` of Table 1."""
    return place.lower().replace(" ", "")


@dataclass(frozen=True)
class Study:
    """The cells of an entry of ``unstated``, with their emulators."""

    entry: Mapping
    #: A row for each cell that runs answer: its keys, ``cell``, and what is printed.
    printed: pd.DataFrame
    #: Names of cells that no run answers.
    unanswered: Sequence[str]
    #: By cell and reading; a reading without a name if the text says which.
    emulators: Mapping[tuple[int, str], Emulator]
    correlation: np.ndarray
    freedom: float
    scale: str
    power: float = 1.0
    #: Of plants' tables: ``Candidates.misfits``.
    misfits: Sequence[np.ndarray] = ()

    def prior(self, number: int) -> pd.DataFrame:
        """The candidates: a row each, with a column for each value of ``varied``."""
        return pd.DataFrame(sample("unstated", {**self.entry, "count": number}))[self.varied()]

    def varied(self, yes: bool = True) -> list[str]:
        """The values that are left open and that runs differ in; or those in which they do not."""
        names = {read_as(self.entry)}.union(*(of.names for of in self.emulators.values()))
        return [name for name in self.entry["values"] if (name in names) == yes]

    def fixed(self) -> dict[str, Any]:
        """The values that the text states and that runs differ in."""
        names = {name for of in self.emulators.values() for name in of.names}
        return {k: v for k, v in self.entry.get("fixed", {}).items() if k in names}

    def tried(self, values: pd.DataFrame, without: int | None = None, **fixed: Any) -> Tried:
        """One more run of candidates ``values``, as emulated, without a group of trained ones.

        Values that are no columns are those that the text states, or ``fixed``.
        """
        found = np.empty((3, len(values), len(self.printed)))
        rest = {k: v for k, v in {**self.fixed(), **fixed}.items() if k not in values}
        rows = values.assign(**rest)
        for (k, reading), emulator in self.emulators.items():
            of = np.ones(len(rows), bool) if not reading else (rows[read_as(self.entry)] == reading)
            learnt = emulator if without is None else emulator.without(without)
            if of.any():
                found[:, of, k] = learnt.predict(rows[of])
        rest = self.freedom, self.scale, self.power, self.misfits
        return Tried(values, *found, self.correlation, *rest)

    def cells(self, where: Mapping[str, Any]) -> list[int]:
        """The places of the cells whose keys meet ``where``; a key's value may be a list."""
        need(self.printed, where)
        texts = {name: [text_of(each) for each in as_list(value)] for name, value in where.items()}
        return [*np.flatnonzero(self.printed[[*texts]].isin(texts).all(axis=1))]


def study(entry: Mapping, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame]) -> Study:
    """Learn from the runs in ``tables`` what candidates of an entry would give.

    Raises a UserError if no cell of the entry has enough runs.
    """
    runs, answered, unanswered = runs_of(entry, tables), [], []
    cells = [*printed_cells(entry, claims)]
    for (cell, where, value), name in zip(cells, _named([of for of, *_ in cells]), strict=True):
        names, of = _rows(entry, runs, where)
        if names and of["run"].nunique() >= FEWEST:
            answered.append(({"cell": name, **cell}, value, names, of))
        else:
            unanswered.append(name)
    if not answered:
        raise UserError(f"candidates: no run of the archive answers a number of {entry['table']}.")
    key, value = read_as(entry), answered[0][1]
    if key.removesuffix("_of") not in value:
        raise UserError(f"values.{key}: a number of {entry['table']} is no such, but {value}.")
    common = [n for n in answered[0][2] if all(n in names for *_, names, _ in answered)]
    runs["group"] = runs.groupby(common, dropna=False).ngroup()
    scale = "logit" if "accuracy" in value else "log"
    emulators = {
        (k, reading): Emulator(_learnt(of.join(runs["group"]), key, reading, value, scale), names)
        for k, (_, value, names, of) in enumerate(answered)
        for reading in entry["values"].get(key, [""])
    }
    freedom, table = calibrated([*emulators.values()]), [cell for cell, *_ in answered]
    rest = emulators, _correlation(emulators, len(table)), freedom, scale
    printed = pd.DataFrame(table)
    printed["group"] = printed.get("method", printed["cell"])
    found = Study(entry, printed, unanswered, *rest)
    return _planted_first(found)


def read_as(entry: Mapping) -> str:
    """The value of an entry that says how runs are read, and is no field; empty if it has none."""
    return next((name for name in READ_AS if name in entry["values"]), "")


def runs_of(entry: Mapping, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The evaluations of an entry's tables that are candidates; values are as they were drawn.

    New columns: ``final``, whether it is a run's last one, and ``lost``, whether the run diverged.
    """
    parts = [table.loc[:, ~table.columns.str.startswith("universe")] for table in tables.values()]
    runs = pd.concat(parts, ignore_index=True).drop_duplicates(["run", "step"])
    runs["lost"] = runs.groupby("run")["diverged"].transform("any").astype(bool)
    last = runs.groupby("run")["step"].transform("max")
    runs["final"] = kept = runs["step"] == last
    for name, by in entry.get("scale", {}).items():
        for field, factors in by.items():
            given = runs[name] / runs[field].map(factors).fillna(1)
            runs[name] = given.map("{:.3g}".format).astype(float)
    ends = entry["values"].get("epochs")
    # A loss on a part of the images may be another by as much as candidates differ.
    if isinstance(ends, Mapping) and read_as(entry) != "loss_of":
        runs["at"] = runs["epochs"] * runs["step"] / last
        inside = runs["at"].between(ends["from"], ends["to"]) & ~runs["lost"]
        kept = kept | (inside & (runs["lr_schedule"] == "constant"))
    return runs[kept].reset_index(drop=True)


def printed_cells(entry: Mapping, claims: ClaimsFile) -> Iterator[tuple[dict, dict, str]]:
    """Each printed number of an entry: its row, the rows of runs of it, and the value of a run."""
    free = {*entry["values"], *entry.get("fixed", {})}
    wanted = {k: text_of(v) for k, v in entry.get("where", {}).items()}
    for (claim, where, source), *_ in by_number(claims).values():
        keys = {k: text_of(v) for k, v in source["where"].items()}
        if short(claim.place) == entry["table"] and wanted.items() <= keys.items():
            row, at = source["row"], printed_number(source["row"][source["column"]])
            numbers = {name: float(row.get(name) or "nan") for name in ("sd", "se", "seeds")}
            whole = {k: v for k, v in {**claim.where, **where}.items() if k not in free}
            cell = {**keys, **numbers, "value": at.value, "rounding": at.rounding}
            yield cell, whole, str(claim.arguments.get("value", "accuracy"))


def _named(cells: Sequence[Mapping]) -> list[str]:
    """The cells' names: the values of the keys that differ."""
    keys = [k for k in cells[0] if k not in OF_NUMBERS and len({cell[k] for cell in cells}) > 1]
    return [" ".join(filter(None, (cell[k] for k in keys))) for cell in cells]


def _rows(entry: Mapping, runs: pd.DataFrame, where: Mapping) -> tuple[list[str], pd.DataFrame]:
    """The inputs of a cell, and its runs."""
    names, fixed = [], entry.get("fixed", {})
    need(runs, where)
    for name, value in where.items():
        runs = runs[matches(runs[name], value)]
    for name in [*entry["values"], *fixed]:
        if name in runs and runs[name].notna().any():
            runs = runs[runs[name].notna()]
            if runs[name].nunique() > 1:
                names.append(name)
            elif name in fixed:
                runs = runs[matches(runs[name], fixed[name])]
    return names, runs


def _learnt(of: pd.DataFrame, key: str, reading: str, value: str, scale: str) -> pd.DataFrame:
    """The rows that teach an emulator: see ``Emulator``. A diverged run has the worst number."""
    if reading:
        value = CHOSEN[key]
        of = of.assign(**{value: of[READ_AS[key][reading]]})
    single = of.assign(run=of.index)  # each evaluation is read as a run's last
    numbers, worst = VALUES[value].read(single, single), VALUES[value].worst
    z = SCALES[scale][0](numbers.mask(of["lost"], numbers.min() if worst < 0 else numbers.max()))
    share, noise = SCALES[scale][1](z) / 100, 0.0 * z
    if scale == "logit":  # of a share of so many images
        noise = (1 / (of["eval_images"] * share * (1 - share))).mask(of["final"]).fillna(0.0)
    return of.assign(z=z, noise=noise, **({"epochs": of["at"]} if "at" in of else {}))


def _correlation(emulators: Mapping[tuple[int, str], Emulator], cells: int) -> np.ndarray:
    """Of left-out runs' residuals of two cells, over runs of one seed that agree in all inputs."""
    ends = {
        place: of.rows.iloc[of.ends][["seed", *of.names]].assign(**{f"of {place[0]}": of.residual})
        for place, of in emulators.items()
    }
    found, fewest, readings = np.eye(cells), [], {reading for _, reading in emulators}
    for one, other in combinations(range(cells), 2):
        both = pd.concat([ends[one, of].merge(ends[other, of]) for of in readings])
        found[one, other] = found[other, one] = both[f"of {one}"].corr(both[f"of {other}"])
        fewest.append(both["seed"].nunique())
    return judge.shrunk(found, min(fewest, default=2))


# The trained candidates: the nearest, and plants.


def trained(found: Study, how: str = "inner") -> pd.DataFrame:
    """Trained candidates: their values, ``group``, ``final``, and a column by place for each cell.

    These are numbers on the scale, of one seed. The runs agree in all values that several read.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for (k, reading), of in found.emulators.items():
        table = of.rows[["group", "seed", "final", *of.names]].copy()
        table[read_as(found.entry)] = reading
        parts.setdefault(reading, []).append(table.join(of.rows["z"].rename(k)))
    ordered = (sorted(tables, key=lambda of: -of.shape[1]) for tables in parts.values())
    merged = [reduce(lambda one, other: one.merge(other, how=how), tables) for tables in ordered]
    return pd.concat(merged, ignore_index=True)


def nearest(found: Study) -> pd.DataFrame:
    """The trained candidates nearest to what is printed, with what the text fixes, and their cells.

    ``distance`` is the root mean square of ours − printed over the cells that were run, at least
    half of them, of the mean over seeds.
    """
    every, places = trained(found, "outer"), [*found.printed.index]
    for name, value in found.fixed().items():
        every = every[matches(every[name], value)]
    runs = every.groupby(found.varied(), dropna=False)[places].mean().reset_index()
    runs[places] = SCALES[found.scale][1](runs[places])
    off = runs[places] - found.printed["value"].to_numpy()
    runs.insert(0, "distance", np.sqrt((off**2).mean(axis=1)))
    runs = runs[2 * off.notna().sum(axis=1) >= len(places)].nsmallest(NEAREST, "distance")
    return runs.rename(columns=found.printed["cell"].to_dict())


def plants(
    found: Study, number: int, candidates: int, seed: int
) -> Iterator[tuple[pd.Series, Candidates]]:
    """Trained candidates that are left out, and candidates weighed by one seed's table of each.

    What the text fixes is, for a plant, what it has. The plant is the last of the candidates.
    """
    prior, every, places = found.prior(candidates - 1), trained(found), [*found.printed.index]
    for k in np.random.default_rng(seed).permutation(len(every))[:number]:
        plant = every.iloc[k]
        values = pd.concat([prior, every.iloc[[k]][[*prior]]], ignore_index=True)
        tried = found.tried(values, int(plant["group"]), **plant[[*found.fixed()]])
        numbers = SCALES[found.scale][1](plant[places].to_numpy(float)).round(2).clip(0.01)
        table = found.printed[["cell", "group"]].assign(value=numbers, rounding=0.005)
        yield plant, weigh(table, tried)


def _planted_first(found: Study) -> Study:
    """With the power that gives plants the highest probability, and how badly their tables fit."""
    from scipy.special import log_softmax

    every = [of for _, of in plants(found, TRIALS, OF_PLANT, seed=1)]
    power = max(POWERS, key=lambda k: sum(log_softmax(k * of.density)[-1] for of in every))
    return replace(found, power=power, misfits=[of.misfits for of in every])


def planted(found: Study, number: int) -> pd.DataFrame:
    """Is the instrument right? What ``plants`` tell of each value, and of ``none could``.

    Columns: ``plants``; ``holds``, how often the planted value is in what remains; ``said``, the
    probability of what remains; and ``size``, its mean share of what was tried.
    """
    rows, at, methods = [], -1, found.printed["group"]
    for at, (plant, of) in enumerate(plants(found, number, 8 * OF_PLANT, seed=0)):
        for (name, values), size in zip(of.tried.values.items(), of.frame["size"], strict=True):
            kept, wide = of.kept(values), judge.is_range(values)
            holds = kept[0] <= plant[name] <= kept[1] if wide else plant[name] in kept
            said = judge.SET if wide else of.shares(values)[[*kept]].sum()
            rows.append([name, holds, said, size])
        more = ADDED * (methods == methods.unique()[at % methods.nunique()])
        more = (of.printed["value"] + more).clip(upper=100 if found.scale == "logit" else None)
        added = weigh(of.printed.assign(value=more), of.tried)
        for name, none in {"none could": of, f"none could, + {ADDED:g} points": added}.items():
            rows.append([name, none.none_could, np.nan, np.nan])
    table = pd.DataFrame(rows, columns=["value", "holds", "said", "size"]).assign(plants=at + 1)
    return table.astype({"holds": float}).groupby("value", sort=False, as_index=False).mean()


# The page.


def report(
    found: Study, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame], number: int = 0
) -> tuple[Candidates, list[Section]]:
    """The answer for an entry, and the sections of its page; ``number``: so many plants."""
    tried = found.tried(found.prior(found.entry["count"]))
    lacking = f"Without a run ({len(found.unanswered)}): {', '.join(found.unanswered)}"
    text = "By the root mean square of ours − printed, of the mean over seeds."
    content = [("The nearest that were trained", text, nearest(found))]
    held = found.cells(found.entry["confirm"]) if "confirm" in found.entry else []
    if held:
        rest = sorted({*found.printed.index} - {*held})
        rows = weigh(found.printed, tried, rest).predicted(held)
        text = f"Weighed by the other {len(rest)} numbers alone, {rows['inside'].sum()} of "
        content.append(("Held out", f"{text}{len(rows)} lie in their intervals of 95 %.", rows))
    texts = page_texts("candidates")
    about = texts["claims"].format(fewest=judge.FEWEST_EFFECTIVE)
    for name in found.entry.get("claims", {}):
        rows = pd.DataFrame(shares(found, claims, tables, name))
        content.append(("A claim in what remains", f"{claims.claims[name].says}. {about}", rows))
    if number:
        content.append(("Is the instrument right?", texts["plants"], planted(found, number)))
    same = f"All runs have the same {', '.join(found.varied(False))}, so nothing is told of it"
    told = [lacking] * bool(found.unanswered) + [same] * bool(found.varied(False))
    weighed = weigh(found.printed, tried, told=told)
    return weighed, [(heading, text, as_strings(rows)) for heading, text, rows in content]


def shares(
    found: Study, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame], name: str
) -> Iterator[dict[str, Any]]:
    """A claim over universes, weighed by other cells: over all, and over those as the text says."""
    curve = specification_curve(claims, tables, name)
    values = curve.filter(like="universe_").rename(columns=lambda n: n.removeprefix("universe_"))
    fits = pd.Series(True, curve.index)
    for fixed, value in found.fixed().items():
        fits &= matches(values[fixed], value)
    for of, kept in {"all universes": curve.index, "as the text says": curve.index[fits]}.items():
        if yes := list(curve["side"][kept] == 1):
            tried = found.tried(values.loc[kept].reset_index(drop=True))
            weighed = weigh(found.printed, tried, found.cells(found.entry["claims"][name]))
            share, low, high = (f"{100 * x:.0f}" for x in weighed.share(yes))
            few = ", too few to tell" * (weighed.effective < judge.FEWEST_EFFECTIVE)
            row = {"of": of, "universes": len(yes), "unweighed": f"{100 * np.mean(yes):.0f} %"}
            weight = {"weighed": f"{share} % [{low}, {high}]{few}", "effective": weighed.effective}
            yield row | weight


def one_candidate(printed: pd.DataFrame, measured: pd.DataFrame, place: str) -> Candidates:
    """The one candidate of a table of which nothing is said to be open: what our seeds say of it.

    The tables are those of ``printed_and_measured``; of a cell, the first setting counts. A
    UserError if no cell has several seeds that did not diverge.
    """
    table = printed[printed["table"].map(short) == place]
    keys = [n for n in table if n not in OF_NUMBERS and table[n].notna().all()]
    first = measured[measured["setting"] == measured.groupby(keys)["setting"].transform("first")]
    runs = first.pivot(index="seed", columns=keys, values="value")
    runs = runs.loc[:, ~np.isinf(runs).any() & (runs.count() > 1)]
    table = table[pd.MultiIndex.from_frame(table[keys]).isin(runs.columns)].reset_index(drop=True)
    if table.empty:
        raise UserError(f"candidates: no run of the archive answers a number of {place!r}.")
    scale = "logit" if (table["unit"] == "%").all() else "log" if runs.min().min() > 0 else "plain"
    z = SCALES[scale][0](runs[pd.MultiIndex.from_frame(table[keys])])
    mean, spread, seeds = (of.to_numpy()[None] for of in (z.mean(), z.std(), z.count()))
    correlation = judge.shrunk(z.corr().to_numpy(), int(seeds.min()))
    rest = correlation, float(seeds.min() - 1), scale
    tried = Tried(pd.DataFrame(index=[0]), mean, spread / np.sqrt(seeds), spread, *rest)
    return weigh(table.assign(cell=_named(table[keys].to_dict("records"))), tried)
