"""Printed numbers against ours: intervals, gaps, answers, and what a stranger may hand over."""

import contextlib
import os
import sys
import time

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from scipy import stats

from verdicts.cli import main
from verdicts.printed_tables import printed_number, read_printed
from verdicts.registry import UserError
from verdicts.reproduction import (
    GAP,
    IN_GAPS,
    IN_PART,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TOLD,
    REPRODUCED,
    answer,
    reproduce,
)  # fmt: skip
from verdicts.statistics.evidence import Expectation, evidence
from verdicts.statistics.judgement import CANNOT_TELL, NOT_RUN, UNDECIDED, Count, judge

PRINTED = "data,method,value\nx,a,70.0\nx,b,72.0\ny,a,50.0\ny,b,50.5\n"
GAPS = ("method", "a")
CELLS = [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]
OFF, FEW, NONE = (8, 2, 2, 0, 0), (8, 8, 0, 1, 1), (0, 0, 0, 1, np.nan)
ALIKE, UNTOLD, FAR = (8, 8, 8, 1, 1), (4, 4, 1, 1, 1), (4, 3, 3, 0.2, 0.001)
LATEX = r"""\begin{tabular}{l l c c} \toprule
Method & Graph & \multicolumn{1}{c}{MNIST} & CIFAR \\ \midrule
\multirow{2}{*}{\textbf{Gossip}} & ring & $87.3 \pm 0.4$ & \textbf{70.1}\\[1mm]
 & complete & 88.0 (0.3) & -- \\ % a comment & x
\cmidrule(lr){1-2} NGO & ring & 90\% & $-1.5$ \\ \bottomrule
\end{tabular}"""
MARKDOWN = """Text.

| Method | Graph | MNIST | CIFAR |
|:-------|-------|------:|-------|
| Gossip | ring | 87.3 ± 0.4 | **70.1** |
| Gossip | complete | 88.0 (0.3) | – |
| NGO | ring | 90% | −1.5 |
"""
CSV = """Method,Graph,MNIST,CIFAR
Gossip,ring,87.3+-0.4,70.1
Gossip,complete,88.0 (0.3),
NGO,ring,90,-1.5
"""
BAD = {
    "empty.csv": "", "header.csv": "data,method,value\n", "alone.csv": "value\n1\n",
    "text.csv": "data,method,value\nx,a,many\n", "twice.csv": "data,method,value\nx,a,1\nx,a,2\n",
    "else.csv": "data,method,value\nz,a,1\n", "column.csv": "data,methods,value\nx,a,1\n",
    "no.tex": "\\begin{tabular}", "uneven.md": "| a | b |\n|---|---|\n| x |\n", "binary.csv": "\0",
    "words.csv": "a,b\nx,y\n", "what.xlsx": "", "acc.csv": "data,method,acc\nx,a,1\n",
}  # fmt: skip


def runs(levels=(70, 72, 50, 50.5), noise=0.5, seeds=8, draw=0):
    """Runs of the four cells, with one part of the noise that both methods of a seed share."""
    random = np.random.default_rng(draw)
    both = random.normal(0, 3 * noise, (2, seeds))
    rows = []
    for k, (data, method) in enumerate(CELLS):
        value = levels[k] + both[k // 2] + random.normal(0, noise, seeds)
        cell = {"data": data, "method": method, "seed": range(seeds), "setting": ""}
        rows.append(pd.DataFrame({**cell, "value": value}))
    return pd.concat(rows, ignore_index=True)


def printed(values=(70.0, 72.0, 50.0, 50.5), **more):
    return pd.DataFrame(CELLS, columns=["data", "method"]).assign(value=values, **more)


def test_the_interval_of_a_number_is_that_of_a_claim_on_it():
    measured = runs()
    found = reproduce(measured, printed()).of(LEVEL)
    groups = measured.groupby(["data", "method"])
    for row, (_, values) in zip(found.to_dict("records"), groups, strict=True):
        seen = evidence(values["value"].to_numpy(), Expectation("paper", row["printed"]))
        assert (row["low"], row["high"]) == pytest.approx(seen.interval(0.05))
        assert row["verdict"] == judge([seen])[0].verdict


def test_a_gap_is_paired_by_seed_and_printed_spreads_count():
    measured = runs()
    sides = measured.pivot(index=["data", "seed"], columns="method", values="value")
    ours = (sides["b"] - sides["a"])["x"]
    gap = reproduce(measured, printed(), gaps=GAPS).of(GAP).iloc[0]
    assert gap[["printed", "ours", "sd"]].to_list() == pytest.approx([2, ours.mean(), ours.std()])
    told = reproduce(measured, printed(se=0.2), gaps=GAPS).of(GAP).iloc[0]
    error = np.hypot(0.08**0.5, ours.std() / 8**0.5)
    assert told["z"] == pytest.approx((ours.mean() - 2) / error)
    half = stats.t.ppf(0.975, 7) * error  # of as many seeds as ours: 8
    assert told["low"] == pytest.approx(ours.mean() - half)
    # eight printed seeds with this standard deviation have a standard error of 0.2
    eight = reproduce(measured, printed(sd=0.2 * 8**0.5, seeds=8), gaps=GAPS).of(GAP).iloc[0]
    assert eight["low"] == pytest.approx(told["low"])
    # both roundings, and printed seeds without a spread: as of as many of ours, in any order
    for draw in range(3):
        rows = measured.sample(frac=1, random_state=draw, ignore_index=True)
        row = reproduce(rows, printed(rounding=[0.5, 0.05, 0, 0]), gaps=GAPS).of(GAP).iloc[0]
        assert (row["ours"], row["sd"]) == pytest.approx((ours.mean(), ours.std()))
        half = stats.t.ppf(0.975, 7) * ours.std() * (1 + 1 / 8) ** 0.5
        assert row["high"] - row["ours"] == pytest.approx(half + 0.55)
        row = reproduce(rows, printed(seeds=[5, 2, 5, 2], rounding=0), gaps=GAPS).of(GAP).iloc[0]
        half = stats.t.ppf(0.975, 7) * ours.std() * (1 / 2 + 1 / 8) ** 0.5
        assert row["high"] - row["ours"] == pytest.approx(half)


def test_a_printed_spread_counts_with_its_number_of_runs():
    """The p value is the mean of Student's with both numbers, weighted by the variances."""
    measured = runs(seeds=5)
    cell = measured["value"][:5]
    theirs, ours = 0.3**2 / 3, cell.var() / 5
    row = reproduce(measured, printed(sd=0.3, seeds=3)).of(LEVEL).iloc[0]
    t = abs(cell.mean() - 70) / (theirs + ours) ** 0.5
    p = 2 * (theirs * stats.t.sf(t, 2) + ours * stats.t.sf(t, 4)) / (theirs + ours)
    assert row["q_p"] == pytest.approx(p)
    edge = (row["high"] - row["ours"]) / (theirs + ours) ** 0.5
    tails = 2 * (theirs * stats.t.sf(edge, 2) + ours * stats.t.sf(edge, 4)) / (theirs + ours)
    assert tails == pytest.approx(0.05)
    # without a number of runs, as of ours; a spread of two is none
    told = reproduce(measured, printed(sd=0.3))
    assert "A spread of as many runs as ours is assumed (4)" in str(told)
    assert told.of(LEVEL)["se"].iloc[0] == pytest.approx(0.3 / 5**0.5)
    assert reproduce(measured, printed(sd=0.3, seeds=2)).of(LEVEL)["se"].isna().all()


@pytest.mark.parametrize(("ours", "theirs", "spread"), [(3, 3, 1), (20, 3, 3), (3, 100, 1)])
def test_true_copies_with_printed_spreads_are_seldom_not_reproduced(ours, theirs, spread):
    """Of 200 tables of 12 cells, at most 5 %, and what chance adds; by normal quantiles, 49 %."""
    random, tables, cells = np.random.default_rng(0), 200, 12
    index = pd.MultiIndex.from_product([range(tables), range(cells)], names=["draw", "cell"])
    cell = index.to_frame(index=False)
    paper = spread * random.normal(size=(len(cell), theirs))
    numbers = cell.assign(value=70 + paper.mean(1), sd=paper.std(1, ddof=1), seeds=theirs)
    measured = cell.loc[cell.index.repeat(ours)].assign(
        seed=np.tile(range(ours), len(cell)), value=random.normal(70, 1, len(cell) * ours)
    )
    found = reproduce(measured, numbers, by=["draw"])
    refused = sum(part.answer()[0] == NOT_REPRODUCED for _, part in found.parts())
    assert refused <= stats.binom.ppf(0.999, tables, 0.05)


def test_one_more_run_of_ours_lies_inside_in_95_percent_and_is_seldom_not_reproduced():
    draws = [runs(seeds=9, draw=draw).assign(draw=draw) for draw in range(150)]
    whole = pd.concat(draws, ignore_index=True)
    one, rest = whole[whole["seed"] == 8], whole[whole["seed"] < 8]
    found = reproduce(rest, one[["draw", "data", "method", "value"]], gaps=GAPS, by=["draw"])
    assert found.frame["inside"].mean() == pytest.approx(0.95, abs=0.02)
    answers = [part.answer()[0] for _, part in found.parts()]
    refused = sum(told in (NOT_REPRODUCED, IN_GAPS) for told in answers)
    assert refused < 0.12 * 150  # levels and gaps, each at 5 %; their cells share seeds


@pytest.mark.parametrize(
    ("levels", "gaps", "expected"),
    [(ALIKE, ALIKE, REPRODUCED), (OFF, ALIKE, IN_GAPS), (ALIKE, UNTOLD, NOT_TOLD),
     (OFF, UNTOLD, NOT_REPRODUCED), (ALIKE, FAR, NOT_REPRODUCED), (ALIKE, NONE, REPRODUCED),
     (FEW, NONE, NOT_TOLD), (OFF, NONE, NOT_REPRODUCED), (NONE, NONE, NOT_TOLD)],
)  # fmt: skip
def test_the_answer_follows_the_rule(levels, gaps, expected):
    assert answer(Count(*levels), Count(*gaps)) == expected


def test_answers_for_levels_that_are_off_and_gaps_that_are_not():
    shifted = reproduce(runs((60, 62.05, 30, 36)), printed(), gaps=GAPS, by=["data"])
    assert [part.answer()[0] for _, part in shifted.parts()] == [IN_GAPS, NOT_REPRODUCED]
    assert shifted.same_order() == (2, 2)
    same = reproduce(runs(noise=0.1), printed(), gaps=GAPS, margin=1)
    assert same.answer()[0] == REPRODUCED
    assert same.of(LEVEL)["equivalence_p"].max() < 0.05


def test_without_an_answer_to_each_number_it_is_reproduced_in_part():
    measured = runs()
    diverged = (measured["method"] == "b") & (measured["data"] == "y") & (measured["seed"] == 3)
    lost = reproduce(measured.assign(diverged=diverged), printed())
    assert lost.of(LEVEL)["verdict"].iloc[3] == UNDECIDED
    assert lost.answer()[0] == IN_PART
    assert "Undecided (1): data=y, method=b: the number is infinite in 1 of 8 seeds" in str(lost)
    alone = reproduce(measured[measured["data"] == "x"], printed())
    assert alone.of(LEVEL)["verdict"].to_list()[2:] == [NOT_RUN, NOT_RUN]
    assert alone.answer()[0] == IN_PART
    assert "Without a run (2): data=y, method=a; data=y, method=b" in str(alone)
    assert reproduce(measured, printed(apart=["", "", "fitted", ""])).answer()[0] == REPRODUCED


def test_runs_without_a_value_and_seeds_that_a_gap_lacks_are_told():
    measured = runs()
    measured.loc[[1, 2], "value"] = np.nan
    measured = measured.drop(index=measured.index[-1])
    found = reproduce(measured, printed(), gaps=GAPS)
    assert found.answer()[0] == REPRODUCED
    notes = found.frame.set_index(["data", "method"])["note"]
    assert notes["x", "a"] == "seeds 1, 2 are left out: no value in 2 rows"
    assert notes["x", "b − a"] == notes["x", "a"]
    assert notes["y", "b − a"] == "seed 7 is left out: a run to compare with is missing"
    assert "With fewer runs (3): data=x, method=a: seeds 1, 2 are left out" in str(found)
    both = measured.assign(diverged=measured["seed"] == 0)
    told = reproduce(both, printed(), gaps=GAPS).of(GAP)["note"].iloc[0]
    assert told.startswith("seed 0 is left out: both sides diverged")


def test_units_are_converted_where_they_are_stated_and_else_asked_for():
    shares = runs().assign(value=lambda rows: rows["value"] / 100)
    for rows, given in ((shares, printed()), (runs(), printed((0.7, 0.72, 0.5, 0.505)))):
        refused("one may be in percent", reproduce, rows, given)
        assert reproduce(rows, given, unit="nats").answer()[0] == NOT_REPRODUCED
    texts = printed(("70.0%", "72.0", "50.0", "50.5"))
    for found in (reproduce(shares, texts), reproduce(shares, printed(unit="%"))):
        assert found.answer()[0] == REPRODUCED
        assert "Printed numbers are in percent: measured ones are taken × 100" in str(found)
    found = reproduce(runs(), printed((0.7, 0.72, 0.5, 0.505)), unit="share")
    assert found.answer()[0] == REPRODUCED
    assert found.of(LEVEL)["ours"].iloc[0] == pytest.approx(runs()["value"][:8].mean() / 100)
    # losses beside accuracies, and a metric whose numbers are not of one size
    assert reproduce(runs((2, 2, 2, 2), 0.1), printed((1.0, 1.5, 1.2, 0.9))).frame["seeds"].all()


def test_one_number_in_another_unit_and_other_ends_are_told():
    for row, value in ((1, 0.703), (10, 72.1)):  # of method a, of method b
        rows = runs().astype({"value": float})
        rows.loc[row, "value"] = value
        given = printed() if value < 1 else printed((70.0, 0.72, 50.0, 50.5))
        for unit in ("", "%"):
            refused("printed, and .* measured: one may be in percent", reproduce, rows, given,
                    unit=unit)  # fmt: skip
        reproduce(rows.assign(unit="%"), given, unit="%")  # they are said to be
    rows = runs().assign(run=lambda t: t.index.astype(str), step=100)
    told = "Runs end at different steps: 90 to 100"
    assert told not in str(reproduce(rows, printed()))
    rows.loc[3, "step"] = 90
    assert told in str(reproduce(rows, printed()))
    told = "Not all numbers in % are 0 to 100"
    assert told not in str(reproduce(runs(), printed(), unit="%"))
    rows.loc[3, "value"] = -1.0
    assert told in str(reproduce(rows, printed(), unit="%"))


@cases("unit", "pct", "Percentage", "per cent", "AUC (%)")
def test_percent_has_several_names(unit):
    shares = runs().assign(value=lambda rows: rows["value"] / 100)
    found = reproduce(shares, printed(unit=unit))
    assert found.answer()[0] == REPRODUCED
    assert "× 100" in str(found)


def test_each_number_keeps_its_own_unit():
    # a share beside numbers in percent; correlations, some of them negative
    shares = runs().assign(value=lambda rows: rows["value"] / 100)
    given = printed((0.7, 0.72, 50.0, 50.5)).assign(unit=["share", "share", "%", "%"])
    assert reproduce(shares, given).answer()[0] == REPRODUCED
    correlations = runs((0.70, -0.02, 0.5, 0.5), 0.005)
    given = printed((70.0, -2.0, 50, 50), unit="%")
    assert reproduce(correlations, given).answer()[0] == REPRODUCED
    for rows, values, unit in (
        (correlations, (70.0, -2.0, 50, 50), ""),
        (shares, (70.0, 72.0, 50, 50.5), "share"),
        (shares, ("70%", "0.72", "50%", "0.505"), ""),
    ):
        refused("one may be in percent", reproduce, rows, printed(values), unit=unit)


def test_what_runs_call_their_unit_agrees_with_what_is_printed():
    measured = runs().assign(unit="ms")
    assert reproduce(measured, printed(unit="ms")).answer()[0] == REPRODUCED
    assert reproduce(measured, printed()).answer()[0] == REPRODUCED
    refused("printed in s, and measured in ms", reproduce, measured, printed(unit="s"))
    mixed = measured.assign(unit=["ms", "s"] * (len(measured) // 2))
    refused("unit: a number is measured in ms and in s", reproduce, mixed, printed())
    refused("unit: 'ms' is not allowed", reproduce, runs(), printed(unit="%"), unit="ms")
    # 0.5 percent, not shares: 5 % is another number
    few = runs((0.5, 0.52, 0.3, 0.305), 0.01).assign(unit="percent")
    assert reproduce(few, printed((5.0, 5.2, 3, 3.05), unit="%")).answer()[0] == NOT_REPRODUCED


def test_a_spread_is_in_the_unit_of_its_number():
    refused("value is '70 ± 2%' in row 1, and its unit 'ms'", read_printed,
            {"method": ["a"], "value": ["70 ± 2%"], "unit": ["ms"]})  # fmt: skip
    for sd in ("2%", "0.02 ± 0.01"):
        refused("sd is", read_printed, {"method": ["a"], "value": [0.7], "sd": [sd]})
    table = read_printed({"method": ["a"], "value": ["70 ± 0.4%"], "unit": ["percent"]})
    assert table["sd"].tolist() == [0.4]
    table = read_printed({"method": ["a"], "AUC (95% CI)": ["0.7"], "Acc. (%)": ["70"]})
    assert table["unit"].tolist() == ["", "%"]


def test_an_interval_ends_at_the_scale_and_a_wide_one_tells_nothing():
    measured = runs((97, 96, 60, 50), noise=3).assign(value=lambda of: of["value"].clip(upper=100))
    rows = reproduce(measured, printed((97.0, 96, 60, 50)), unit="%").of(LEVEL)
    assert rows["high"].max() == 100
    assert (rows["high"] - rows["low"])[2:].min() > 20
    assert rows["verdict"].to_list()[2:] == [CANNOT_TELL] * 2
    measured = runs()
    assert (reproduce(measured, printed(), width=1.0).of(LEVEL)["verdict"] == CANNOT_TELL).all()
    assert (reproduce(measured, printed()).of(LEVEL)["verdict"] != CANNOT_TELL).all()


def test_names_that_look_like_nothing_are_names(tmp_path):
    cells = {"nan,None": 70.0, "nan,NA": 72.0, "null,None": 50.0, "null,NA": 50.5}
    measured = [f"{cell},{k},{cells[cell] + k - 1}" for cell in cells for k in range(3)]
    numbers = [f"{cell},{value}" for cell, value in cells.items()]
    for name, header, rows in (("runs", "seed,value", measured), ("printed", "value", numbers)):
        (tmp_path / f"{name}.csv").write_text("\n".join([f"data,method,{header}", *rows, ""]))
    found = reproduce(tmp_path / "runs.csv", tmp_path / "printed.csv", gaps=("method", "None"))
    assert str(found).startswith("Reproduced: 4 of 4 printed numbers and 2 of 2 gaps lie inside")


def test_it_takes_frames_and_dicts_and_shows_what_it_found(tmp_path):
    numbers = {"data": ["x", "y"], "method": ["a", "b"], "accuracy": ["70.0 ± 0.5", 50.5]}
    measured = runs().rename(columns={"value": "accuracy"})
    found = reproduce(measured.to_dict("list"), numbers, "accuracy")
    assert found.frame["printed"].to_list() == [70.0, 50.5]
    assert found.to_markdown().startswith("| Data | Method | Printed | Ours |")
    assert found._repr_html_().startswith("<p>Reproduced: 2 of 2")
    assert "toprule" in found.to_latex()
    found.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()


def test_cells_apart_settings_and_rounding():
    two = pd.concat([runs().assign(setting="s=1"), runs((60,) * 4, 0.01).assign(setting="s=2")])
    found = reproduce(two, printed(apart=["fitted", "", "", ""]))
    assert [count.number for count in found.answer()[1:]] == [3, 0]
    nearest = found.settings().set_index("setting")
    assert nearest.index.to_list() == ["each at its nearest", "s=1", "s=2"]
    distance = np.mean([100, 144, 100, 90.25]) ** 0.5
    assert nearest.loc["s=2", "distance"] == pytest.approx(distance, rel=0.01)
    exact = pd.DataFrame({"m": "a", "seed": range(5), "setting": "", "value": 0.0014})
    number = pd.DataFrame({"m": ["a"], "value": [0.0], "rounding": 0.005})
    assert reproduce(exact, number).frame["inside"].all()
    assert not reproduce(exact, number.assign(rounding=0.0005)).frame["inside"].any()


@pytest.mark.parametrize(("name", "text"), [("t.tex", LATEX), ("t.md", MARKDOWN), ("t.csv", CSV)])
def test_tables_are_read_as_people_have_them(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    table = read_printed(tmp_path / name)
    keys = table[["Method", "Graph", "column"]].agg(" ".join, axis=1).to_list()
    assert keys[:3] == ["Gossip ring MNIST", "Gossip ring CIFAR", "Gossip complete MNIST"]
    assert table["value"].to_list() == [87.3, 70.1, 88.0, 90, -1.5]
    assert table["sd"].fillna(0).to_list() == [0.4, 0, 0.3, 0, 0]
    assert table["rounding"].to_list() == [0.05, 0.05, 0.05, 0.5, 0.05]


@pytest.mark.parametrize(
    ("text", "value", "spread", "rounding", "percent"),
    [("70 ± 0.04", 70, 0.04, 0.5, False), ("1.5e3", 1500, None, 50, False),
     ("70.1%", 70.1, None, 0.05, True), ("70.1 (0.4)", 70.1, 0.4, 0.05, False),
     ("70.1 ± 0.4 %", 70.1, 0.4, 0.05, True), ("1,234.5", 1234.5, None, 0.05, False),
     ("−1.5 × 10^−3", -0.0015, None, 5e-5, False), ("–.5", -0.5, None, 0.05, False)],
)  # fmt: skip
def test_a_printed_number(text, value, spread, rounding, percent):
    found = printed_number(text)
    assert (found.value, found.percent) == (value, percent)
    assert found.rounding == pytest.approx(rounding)
    assert found.spread == spread if spread else np.isnan(found.spread)


@cases("text", "1,234", "1e400", "70–80", "70.1 (4)", "70.1 (+1.2)", "1_000", "inf", "٣", "1" * 101)
def test_what_is_no_printed_number(text):
    assert printed_number(text) is None


def test_a_count_with_its_percentage_has_no_spread():
    assert printed_number("45 (87.3%)") is None
    assert printed_number("87.3% (0.4%)").spread == 0.4


def test_latex_signs_are_read(tmp_path):
    (tmp_path / "t.tex").write_text(
        r"\begin{tabular}[t]{l@{\hspace{1em}}S[table-format=2.1]c}"
        r"Method & Acc.\ (\%) & CIFAR\_10 \\"
        r"Ours & $70.1_{\pm 0.4}$ & \cellcolor{gray!20}$1.5 \times 10^{-3}$ \\\end{tabular}"
    )
    table = read_printed(tmp_path / "t.tex")
    assert table["column"].to_list() == ["Acc. (%)", "CIFAR_10"]
    assert table["value"].to_list() == [70.1, 0.0015]
    assert table["sd"].iloc[0] == 0.4
    assert table["unit"].to_list() == ["%", ""]


@pytest.mark.parametrize(
    "part",
    ["1", "1,", ".", "9 ", "±1", "(", "%", "e1", "{", "[", r"\begin{tabular}", r"\a{", "\\[", "|",
     "&", r"\cmidrule(", r"\multirow{", "*", "$", "-", "\\\\"],
)  # fmt: skip
def test_long_texts_end_at_once(tmp_path, part):
    text = part * (10**5 // len(part))
    start = time.process_time()
    assert printed_number(text + "x") is None
    for name, table in {
        "a.csv": f'm,value\na,"{text}x"\n', "b.md": f"| m | v |\n| a | {text}x |\n",
        "c.tex": text, "d.tex": f"\\begin{{tabular}}{{ll}} {text} \\end{{tabular}}",
        "e.tex": f"\\begin{{tabular}}{text}\\end{{tabular}}",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(table)
        with contextlib.suppress(UserError):
            read_printed(tmp_path / name)
    assert time.process_time() - start < 3


@pytest.fixture
def files(tmp_path):
    (tmp_path / "printed.csv").write_text(PRINTED)
    runs().drop(columns="setting").to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path


def command(folder, *more, printed="printed.csv", measured="runs.csv"):
    given = ["--printed", f"{folder / printed}", "--measured", f"{folder / measured}"]
    return main(["reproduce", *given, *more])


def test_the_command_writes_a_page_with_its_picture_and_all_rows(files, monkeypatch):
    (files / "evil.csv").write_text(PRINTED.replace("x,", "<script>,").replace("y,", "|`y,"))
    frame = runs().drop(columns="setting").replace({"x": "<script>", "y": "|`y"})
    frame.to_csv(files / "runs.csv", index=False)
    given = ["--gaps", "method=a", "--by", "data", "--out", f"{files / 'out'}"]
    assert command(files, *given, printed="evil.csv") == 0
    assert len(pd.read_csv(files / "out/reproduction.csv")) == 6
    assert (files / "out/reproduction.png").read_bytes().startswith(b"\x89PNG")
    assert "<script" not in (files / "out/reproduction.html").read_text()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # not installed
    assert command(files, "--out", f"{files / 'plain'}", printed="evil.csv") == 0
    assert not (files / "plain/reproduction.png").exists()


@pytest.mark.parametrize("name", [*BAD, "folder.csv", "pipe.csv", "absent.csv"])
def test_a_mistake_ends_in_one_line(files, capsys, name):
    if name in BAD:
        (files / name).write_text(BAD[name])
    if name == "folder.csv":
        (files / name).mkdir()
    if name == "pipe.csv":
        os.mkfifo(files / name)
    assert command(files, printed=name) == 2
    assert command(files, measured=name) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line[:10] for line in lines] == ["verdicts: "] * 2
    assert (name != "acc.csv") or lines[0].startswith("verdicts: printed: it has no column 'value'")


@pytest.mark.parametrize(
    "more",
    [["--gaps", "method"], ["--gaps", "methods=a"], ["--gaps", "method=c"], ["--by", "date"],
     ["--margin", "0"], ["--width", "-1"], ["--margin", "nan"], ["--value", "values"],
     ["--settings", "lr"], ["--out", "runs.csv"]],
)  # fmt: skip
def test_an_option_that_fits_nothing_ends_in_one_line(files, capsys, monkeypatch, more):
    monkeypatch.chdir(files)
    assert command(files, *more) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
