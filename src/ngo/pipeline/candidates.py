"""Which choices of what a paper leaves open could have printed its table? For ``ngo candidates``.

The section ``unstated`` of a config has, for a printed table, the values that the text leaves open;
the runs of an archive teach an emulator for each cell; ``verdicts.candidates`` weighs. A run is of
a cell if it meets the claim on the printed number, but for the values that are left open or fixed.
With a constant learning rate, each evaluation is a candidate of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ngo.analysis.universes import ACCURACIES, ACCURACY_OF
from ngo.pipeline.emulator import Emulator, calibrated
from ngo.pipeline.experiments import as_list, sample
from ngo.pipeline.printed_numbers import by_number, printed_and_measured
from verdicts import specification_curve
from verdicts.candidates import (
    FEWEST_EFFECTIVE,
    SCALES,
    SET,
    Candidates,
    Tried,
    is_range,
    shrunk,
    weigh,
)
from verdicts.claims import ClaimsFile
from verdicts.printed_tables import OF_NUMBERS, printed_number
from verdicts.registry import UserError, one_of
from verdicts.report import Section, as_strings
from verdicts.reproduction import text_of
from verdicts.run_values import VALUES
from verdicts.table import matches

#: A cell with fewer candidates than this is not emulated.
FEWEST = 5

#: The most trained candidates that are shown.
NEAREST = 5


def short(place: str) -> str:
    """The short name of a printed table: ``table1`` of Table 1."""
    return place.lower().replace(" ", "")


def entries(config: Mapping, paper: str, table: str | None) -> dict[str, Mapping]:
    """The entries of ``unstated`` for a paper, or for a table of it."""
    given = config.get("unstated", {}).items()
    of = {name: entry for name, entry in given if entry["paper"] == paper}
    return {name: e for name, e in of.items() if table in (None, e["table"], name)}


def read_by(entry: Mapping, claims: ClaimsFile) -> list[str]:
    """The tables of an entry: of its runs, and of its claims, each a UserError if unknown."""
    over = [claims.claims[one_of("claim", id, claims.claims)] for id in entry.get("claims", {})]
    return [*entry["runs"], *(name for claim in over for name in claim.tables)]


@dataclass(frozen=True)
class Study:
    """The cells of an entry, with their emulators."""

    entry: Mapping
    #: A row for each cell that runs answer: its keys, ``cell``, and what is printed.
    printed: pd.DataFrame
    #: By cell and reading.
    emulators: Mapping[tuple[int, str], Emulator]
    correlation: np.ndarray
    freedom: float
    #: Names of cells that no run answers.
    unanswered: Sequence[str]
    scale: str

    def prior(self, count: int | None = None) -> pd.DataFrame:
        """The candidates: a row each, with a column for each value that is left open."""
        drawn = {**self.entry, "count": count or self.entry["count"]}
        found = pd.DataFrame(sample("unstated", drawn)) if "values" in drawn else pd.DataFrame()
        each = [(name, k) for name in drawn.get("each", []) for k in range(len(self.printed))]
        if each:
            found = pd.concat([found, self._each(each, drawn)], axis=1)
        return found

    def _each(self, each: list, drawn: Mapping) -> pd.DataFrame:
        """Values that every cell has for itself, between the ends of what was run, by logarithm."""
        from scipy.stats import qmc

        points = qmc.Sobol(len(each), rng=drawn["sobol_seed"]).random(drawn["count"])
        columns = {}
        for (name, k), u in zip(each, points.T, strict=True):
            (of,) = {self.emulators[k, r] for r in self.readings if (k, r) in self.emulators}
            low, high = of.rows[name].min(), of.rows[name].max()
            columns[f"{name}, {self.printed['cell'][k]}"] = low * (high / low) ** u
        return pd.DataFrame(columns)

    @property
    def readings(self) -> list[str]:
        """The readings of a run; one without a name if the text says which."""
        return list(dict.fromkeys(reading for _, reading in self.emulators))

    def tried(self, values: pd.DataFrame, without: int | None = None) -> Tried:
        """One more run of candidates ``values``, as emulated, without a group of trained ones."""
        shape = len(values), len(self.printed)
        found = np.empty((3, *shape))
        rows = values.assign(
            **{k: v for k, v in self.entry.get("fixed", {}).items() if k not in values}
        )
        for (k, reading), emulator in self.emulators.items():
            of = rows.get(ACCURACY_OF, pd.Series(reading, rows.index)) == reading
            if not of.any():
                continue
            own = {n: rows[f"{n}, {self.printed['cell'][k]}"] for n in self.entry.get("each", [])}
            learnt = emulator if without is None else emulator.without(without)
            found[:, of, k] = learnt.predict(rows.assign(**own)[of])
        return Tried(values, *found, self.correlation, self.freedom, self.scale)

    def cells(self, where: Mapping[str, Any]) -> list[int]:
        """The places of the cells whose keys meet ``where``; a key's value may be a list."""
        kept = pd.Series(True, self.printed.index)
        for name, value in where.items():
            kept &= self.printed[name].isin([text_of(each) for each in as_list(value)])
        return list(np.flatnonzero(kept))


def study(entry: Mapping, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame]) -> Study:
    """Learn from the runs in ``tables`` what candidates of an entry would give.

    Raises a UserError if no cell of the entry has enough runs.
    """
    runs = runs_of(entry, tables)
    printed, rows, unanswered = [], {}, []
    for cell, where, value in printed_cells(entry, claims):
        of = _rows(entry, runs, where, value)
        if of is not None and of[1]["run"].nunique() >= FEWEST:
            rows[len(printed)] = (*of, value)
            printed.append(cell)
        else:
            unanswered.append(cell)
    named = _named([*printed, *unanswered])
    if not printed:
        raise UserError(f"candidates: no run of the archive answers a number of {entry['table']}.")
    each = entry.get("each", [])
    common = [n for n in rows[0][0] if all(n in names for names, *_ in rows.values())]
    runs["group"] = runs.groupby([n for n in common if n not in each] or [*each]).ngroup()
    readings = as_list(entry.get("values", {}).get(ACCURACY_OF, [""]))
    percent = [printed_unit(value) for *_, value in rows.values()]
    scale = percent[0]
    emulators = {
        (k, reading): Emulator(_learnt(entry, of, runs, reading, value, scale), names)
        for k, (names, of, value) in rows.items()
        for reading in readings
    }
    freedom = calibrated(list(emulators.values()))
    table = pd.DataFrame(printed).assign(cell=named[: len(printed)])
    correlation = _correlation(emulators, len(printed), each)
    return Study(entry, table, emulators, correlation, freedom, named[len(printed) :], scale)


def printed_unit(value: Any) -> str:
    """The scale of a value: accuracies are in percent, and losses are positive."""
    return "logit" if "accuracy" in str(value) else "log"


def runs_of(entry: Mapping, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The evaluations of an entry's tables that are candidates; values are as they were drawn.

    New columns: ``final``, whether it is a run's last evaluation, and ``lost``, whether it diverged.
    """
    parts = [table.loc[:, ~table.columns.str.startswith("universe")] for table in tables.values()]
    runs = pd.concat(parts, ignore_index=True).drop_duplicates(["run", "step"])
    of = runs.groupby("run")
    runs["lost"] = of["diverged"].transform("any")
    runs["last"] = of["step"].transform("max")
    runs["final"] = runs["step"] == runs["last"]
    for name, by in entry.get("scale", {}).items():
        for field, factors in by.items():
            given = runs[name] / runs[field].map(factors).fillna(1)
            runs[name] = given.map(lambda x: float(f"{x:.3g}"))
    kept = runs["final"]
    ends = entry.get("values", {}).get("epochs")
    if isinstance(ends, Mapping):
        at = runs["epochs"] * runs["step"] / runs["last"]
        inside = at.between(ends["from"], ends["to"]) & ~runs["lost"]
        kept |= (runs["lr_schedule"] == "constant") & inside
        runs["at"] = at.where(~runs["final"], runs["epochs"])
    return runs[kept].reset_index(drop=True)


def printed_cells(entry: Mapping, claims: ClaimsFile) -> Iterator[tuple[dict, dict, Any]]:
    """Each printed number of an entry: its row, the rows of runs of it, and the value of a run."""
    open_ = {*entry.get("values", {}), *entry.get("fixed", {}), *entry.get("each", [])}
    for (claim, where, source), *_ in by_number(claims).values():
        keys = {k: text_of(v) for k, v in source["where"].items()}
        if short(claim.place) != entry["table"]:
            continue
        if any(keys.get(k) != text_of(v) for k, v in entry.get("where", {}).items()):
            continue
        text = source["row"][source["column"]]
        numbers = {name: source["row"].get(name) or np.nan for name in OF_NUMBERS[2:5]}
        at = printed_number(text)
        row = {**keys, **numbers, "value": at.value, "rounding": at.rounding}
        whole = {k: v for k, v in {**claim.where, **where}.items() if k not in open_}
        yield row, whole, claim.arguments.get("value", "accuracy")


def _named(cells: Sequence[Mapping]) -> list[str]:
    """The cells' names: the values of the keys that differ."""
    keys = [k for k in cells[0] if k not in OF_NUMBERS and len({cell[k] for cell in cells}) > 1]
    return [" ".join(filter(None, (cell[k] for k in keys))) for cell in cells]


def _rows(entry: Mapping, runs: pd.DataFrame, where: Mapping, value: Any) -> tuple | None:
    """The inputs of a cell, and its runs; None without any."""
    kept = reduce(np.logical_and, (matches(runs[k], v) for k, v in where.items() if k in runs))
    of = runs[kept]
    names = []
    for name in [*entry.get("values", {}), *entry.get("fixed", {}), *entry.get("each", [])]:
        if name == ACCURACY_OF or name not in of or of[name].isna().all():
            continue
        of = of[of[name].notna()]
        if of[name].nunique() > 1:
            names.append(name)
        elif name in entry.get("fixed", {}):
            of = of[matches(of[name], entry["fixed"][name])]
    return (names, of) if len(of) and names else None


def _learnt(entry: Mapping, of: pd.DataFrame, runs: pd.DataFrame, reading: str, value: Any,
            scale: str) -> pd.DataFrame:  # fmt: skip
    """The rows that teach an emulator: see ``Emulator``."""
    if reading:
        numbers = 100 * of[ACCURACIES[reading]]
        worst = numbers.min()
    else:
        single = of.assign(run=of.index)
        numbers = VALUES[value].read(single, single).set_axis(of.index)
        worst = numbers.min() if VALUES[value].worst < 0 else numbers.max()
    numbers = numbers.where(~of["lost"].astype(bool), worst)
    z, noise = SCALES[scale].to(numbers), 0.0
    if scale == "logit":  # of a share of so many images
        share = SCALES[scale].back(z) / 100
        noise = (1 / (of["eval_images"] * share * (1 - share))).where(~of["final"], 0.0).fillna(0.0)
    found = of.assign(z=z, noise=noise, group=runs["group"])
    return found.assign(epochs=of["at"]) if "at" in of else found


def _correlation(
    emulators: Mapping[tuple[int, str], Emulator], count: int, each: Sequence[str]
) -> np.ndarray:
    """Of left-out runs' residuals of two cells, over runs of one seed that agree in all inputs."""
    ends = {
        place: of.rows.iloc[of.final][["seed", *of.names]].assign(residual=of.residual)
        for place, of in emulators.items()
    }
    found, fewest = np.eye(count), []
    for one, other in combinations(range(count), 2):
        pairs = []
        for reading in {reading for _, reading in emulators}:
            left, right = ends[one, reading], ends[other, reading]
            on = [n for n in left if n in right and n not in ("residual", *each)]
            pairs.append(left.merge(right, on=on))
        both = pd.concat(pairs)
        found[one, other] = found[other, one] = both["residual_x"].corr(both["residual_y"])
        fewest.append(both["seed"].nunique())
    return shrunk(found, min(fewest, default=2))


# The trained candidates: the nearest, and plants.


def trained(found: Study, reading: str, how: str = "inner") -> pd.DataFrame:
    """Trained candidates: their values, ``group``, ``final``, and a column by place for each cell.

    These are numbers on the scale, of one seed. The runs agree in all values that several read.
    """
    parts = []
    for (k, of), emulator in found.emulators.items():
        if of == reading:
            named = ["group", "seed", "final", *emulator.names]
            parts.append(emulator.rows[[*named, "z"]].rename(columns={"z": k}))
    parts.sort(key=lambda part: -part.shape[1])
    whole = reduce(lambda one, other: one.merge(other, how=how), parts)
    return whole.assign(**{ACCURACY_OF: reading}) if reading else whole


def nearest(found: Study) -> pd.DataFrame:
    """The trained candidates nearest to what is printed, with what the text fixes, and their cells.

    ``distance`` is the root mean square of ours − printed over the cells that were run, at least
    half of them, of the mean over seeds.
    """
    places, back = [*found.printed.index], SCALES[found.scale].back
    every = pd.concat([trained(found, reading, "outer") for reading in found.readings])
    for name, value in found.entry.get("fixed", {}).items():
        every = every[matches(every[name], value)] if name in every else every
    values = [n for n in every if n not in (*places, "seed", "final", "group")]
    runs = every.groupby(values, dropna=False)[places].mean().reset_index()
    runs[places] = back(runs[places])
    off = runs[places] - found.printed["value"].to_numpy()
    runs.insert(0, "distance", np.sqrt((off**2).mean(axis=1)))
    runs = runs[runs[places].notna().sum(axis=1) * 2 >= len(places)].nsmallest(NEAREST, "distance")
    fixed = [n for n in found.entry.get("fixed", {}) if n in runs]
    return runs.drop(columns=fixed).rename(
        columns=dict(zip(places, found.printed["cell"], strict=True))
    )


# The page.


def one_candidate(printed: pd.DataFrame, measured: pd.DataFrame, place: str) -> Candidates:
    """The one candidate of a table of which nothing is said to be open: what our seeds say of it.

    The tables are those of ``printed_and_measured``; of a cell, the first setting counts. A
    UserError if no cell has several seeds that did not diverge.
    """
    table = printed[printed["table"].map(short) == place]
    keys = [name for name in table if name not in OF_NUMBERS]
    first = measured[measured["setting"] == measured.groupby(keys)["setting"].transform("first")]
    runs = first.pivot_table(index="seed", columns=keys, values="value", dropna=True)
    runs = runs.loc[:, np.isfinite(runs).all() & (runs.count() > 1)]
    table = table[table[keys].apply(tuple, axis=1).isin([*runs.columns])].reset_index(drop=True)
    if table.empty:
        raise UserError(f"candidates: no run of the archive answers a number of {place!r}.")
    scale = "logit" if (table["unit"] == "%").all() else "log" if (runs > 0).all(None) else "plain"
    z = SCALES[scale].to(runs[[*map(tuple, table[keys].to_numpy())]])
    mean, spread, seeds = (of.to_numpy()[None] for of in (z.mean(), z.std(), z.count()))
    correlation = shrunk(z.corr().to_numpy(), int(seeds.min()))
    freedom = max(1.0, float(seeds.min() - 1))
    none = pd.DataFrame(index=[0])
    tried = Tried(none, mean, spread / np.sqrt(seeds), spread, correlation, freedom, scale)
    return weigh(table.assign(cell=_named(table[keys].to_dict("records"))), tried)


def report(
    found: Study, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame], plants: int = 0
) -> tuple[Candidates, list[Section]]:
    """The answer for an entry, and the sections of its page behind it."""
    tried = found.tried(found.prior())
    lacking = ", ".join(found.unanswered)
    told = [f"Without a run ({len(found.unanswered)}): {lacking}"] if lacking else []
    weighed = weigh(found.printed, tried, told=told)
    sections = []
    if not found.entry.get("each"):
        near = nearest(found)
        text = "By the root mean square of ours − printed. One seed each, unless several were run."
        sections.append(("The nearest that were trained", text, as_strings(near)))
    if held := found.cells(found.entry.get("confirm", {})):
        rest = sorted({*range(len(found.printed))} - {*held})
        if rest:
            rows = weigh(found.printed, tried, rest).predicted(held)
            text = (
                f"Weighed by the other {len(rest)} numbers alone, {rows['inside'].sum()} of "
                f"{len(rows)} lie in the interval of 95 %."
            )
            sections.append(("Numbers that were held out", text, as_strings(rows)))
    if rows := [
        row for id in found.entry.get("claims", {}) for row in _shares(found, claims, tables, id)
    ]:
        sections.append(("Claims in what remains", CLAIMS, as_strings(pd.DataFrame(rows))))
    if plants:
        sections.append(("Is the instrument right?", PLANTS, as_strings(_counted(found, plants))))
    return weighed, sections


CLAIMS = f"""In the candidates that could have printed the other numbers, a claim holds in so many.
Weights use only cells outside the claim. Below {FEWEST_EFFECTIVE} effective candidates, there are
too few to tell."""

PLANTS = """Trained candidates are left out and planted: one seed's table, with two decimals. Holds:
how often the planted value is in what remains, which has the probability said. None: how often it
is said that none could have printed the table; and with 2 points more for one method."""


def _shares(
    found: Study, claims: ClaimsFile, tables: Mapping[str, pd.DataFrame], id: str
) -> Iterator[dict[str, Any]]:
    """A claim over universes, by weights from other cells: of all, and of those as the text says."""
    curve = specification_curve(claims, tables, id)
    universes = curve.filter(like="universe_").rename(columns=lambda n: n.removeprefix("universe_"))
    cells, fits = found.cells(found.entry["claims"][id]), pd.Series(True, curve.index)
    for name, value in found.entry.get("fixed", {}).items():
        fits &= matches(universes[name], value) if name in universes else True
    for of, kept in (("all universes", fits | True), ("with what the text states", fits)):
        if not kept.any():
            continue
        tried = found.tried(universes[kept].reset_index(drop=True))
        says, yes = claims.claims[id].says, curve["side"][kept] == 1
        at = weigh(found.printed, tried, cells).share(yes)
        share, low, high, plain = (
            f"{100 * at[n]:.0f}" for n in ("share", "low", "high", "unweighed")
        )
        few = "too few to tell" if at["effective"] < FEWEST_EFFECTIVE else f"{share} %"
        yield {"claim": id, "says": says, "of": of, "holds in": few, "weighed": f"{share} % [{low}, {high}]",
               "unweighed": f"{plain} %", "universes": int(at["count"]), "effective": at["effective"]}  # fmt: skip


def _counted(found: Study, plants: int) -> pd.DataFrame:
    """What ``planted`` says, by value."""
    rows = planted(found, plants)
    values = rows[rows["name"] != "none"].groupby("name", as_index=False)
    said = rows[rows["name"] == "none"]
    none = {"name": "none could", "plants": len(said), "holds": said["holds"].mean()}
    more = {**none, "name": f"none could, + {ADDED:g} points", "holds": said["added"].mean()}
    table = values.agg(plants=("holds", "size"), holds=("holds", "mean"), said=("said", "mean"),
                       size=("size", "mean"))  # fmt: skip
    return pd.concat([table, pd.DataFrame([none, more])]).astype({"holds": float})


#: Points that are added to one method of a planted table.
ADDED = 2.0


def planted(found: Study, count: int, candidates: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Is the instrument right? Tables of one seed of trained candidates, which are left out.

    A row for each plant and value: ``plant``, ``name``, ``holds`` (whether the planted value is in
    what remains) and ``size`` (the share of what was tried that remains); and a row ``none``, with
    ``holds`` (whether none could have printed the table), and ``added`` (whether that is said with
    ``ADDED`` points more for one method). What the text fixes is, for a plant, what it has.
    """
    stream, prior = np.random.default_rng(seed), found.prior(candidates)
    every = pd.concat([trained(found, reading) for reading in found.readings], ignore_index=True)
    chosen = every.iloc[stream.permutation(len(every))[:count]]
    places, back = [*found.printed.index], SCALES[found.scale].back
    methods = found.printed["method"]
    rows = []
    for number, (_, plant) in enumerate(chosen.iterrows()):
        fixed = {n: plant[n] for n in found.entry.get("fixed", {}) if n in plant}
        tried = found.tried(prior.assign(**fixed), int(plant["group"]))
        tried = tried._replace(values=prior)
        table = found.printed[["cell"]].assign(rounding=0.005)
        table["value"] = np.round(back(plant[places].to_numpy(float)), 2)
        weighed = weigh(table, tried)
        sizes = weighed.frame.set_index("value")["size"]
        for name, kept in weighed.sets.items():
            low_high = is_range(prior[name])
            holds = kept[0] <= plant[name] <= kept[1] if low_high else plant[name] in kept
            mass = SET if low_high else float(weighed.shares(prior[name])[[*kept]].sum())
            rows.append(
                {"plant": number, "name": name, "holds": holds, "size": sizes[name], "said": mass}
            )
        method = methods.unique()[number % methods.nunique()]
        table["value"] += ADDED * (methods == method)
        more = weigh(table, tried).none_could
        rows.append(
            {
                "plant": number,
                "name": "none",
                "holds": weighed.none_could,
                "added": more,
                "effective": weighed.effective,
            }
        )
    return pd.DataFrame(rows)
