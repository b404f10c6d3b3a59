"""Printed numbers against ours: intervals, gaps, answers, and what a stranger may hand over."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

from verdicts import replication
from verdicts.cli import main
from verdicts.printed_tables import read_printed
from verdicts.reproduction import (
    GAP,
    IN_GAPS,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TOLD,
    REPRODUCED,
    Count,
    answer,
    reproduction,
)  # fmt: skip
from verdicts.reproduction_page import picture
from verdicts.statistics.evidence import Expectation, evidence
from verdicts.statistics.judgement import judge

PRINTED = "data,method,value\nx,a,70.0\nx,b,72.0\ny,a,50.0\ny,b,50.5\n"
CELLS = [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]


def runs(levels=(70, 72, 50, 50.5), noise=0.5, seeds=8, draw=0):
    """Runs of the four cells, with one part of the noise that both methods of a seed share."""
    random = np.random.default_rng(draw)
    both = random.normal(0, 3 * noise, (2, seeds))
    rows = [
        {"data": data, "method": method, "seed": seed, "setting": "", "value": value}
        for k, (data, method) in enumerate(CELLS)
        for seed, value in enumerate(levels[k] + both[k // 2] + random.normal(0, noise, seeds))
    ]
    return pd.DataFrame(rows)


def printed(values=(70.0, 72.0, 50.0, 50.5), **more):
    return pd.DataFrame(CELLS, columns=["data", "method"]).assign(value=values, **more)


def test_the_interval_of_a_number_is_that_of_a_claim_on_it():
    measured = runs()
    found = reproduction(printed(), measured).of(LEVEL)
    groups = measured.groupby(["data", "method"])
    for row, (_, values) in zip(found.to_dict("records"), groups, strict=True):
        seen = evidence(values["value"].to_numpy(), Expectation("paper", row["printed"]))
        assert (row["low"], row["high"]) == pytest.approx(seen.interval(0.05))
        assert row["verdict"] == judge([seen])[0].verdict


def test_a_gap_is_paired_by_seed_and_printed_spreads_count():
    measured = runs()
    sides = measured.pivot(index=["data", "seed"], columns="method", values="value")
    ours = (sides["b"] - sides["a"])["x"]
    gap = reproduction(printed(), measured, ("method", "a")).of(GAP).iloc[0]
    assert gap[["printed", "ours", "sd"]].to_list() == pytest.approx([2, ours.mean(), ours.std()])
    told = reproduction(printed(se=0.2), measured, ("method", "a")).of(GAP).iloc[0]
    study = 2, 0.08**0.5, ours.mean(), ours.std() / 8**0.5
    low, _ = replication.prediction_interval(study[2], study[1], study[3])
    assert told["low"] == pytest.approx(low)
    assert told["q_p"] == pytest.approx(replication.q_test(*study))
    # four printed seeds with a standard deviation of 0.4 are a standard error of 0.2
    four = reproduction(printed(sd=0.4, seeds=4.0), measured, ("method", "a")).of(GAP).iloc[0]
    assert four["low"] == pytest.approx(told["low"])


def test_one_more_run_of_ours_lies_inside_in_95_percent_and_is_seldom_not_reproduced():
    draws = [runs(seeds=9, draw=draw).assign(draw=draw) for draw in range(150)]
    whole = pd.concat(draws, ignore_index=True)
    one, rest = whole[whole["seed"] == 8], whole[whole["seed"] < 8]
    keys = ["draw", "data", "method", "value"]
    found = reproduction(one[keys], rest, ("method", "a"))
    assert found.rows["inside"].mean() == pytest.approx(0.95, abs=0.02)
    answers = [part.answer()[0] for _, part in found.parts(["draw"])]
    refused = sum(told in (NOT_REPRODUCED, IN_GAPS) for told in answers)
    assert refused < 0.12 * 150  # levels and gaps, each at 5 %; their cells share seeds


OFF, FEW, NONE = (8, 2, 2, 0, 0), (8, 8, 0, 1, 1), (0, 0, 0, 1, np.nan)
ALIKE, UNTOLD, FAR = (8, 8, 8, 1, 1), (4, 4, 1, 1, 1), (4, 3, 3, 0.2, 0.001)


@pytest.mark.parametrize(
    ("levels", "gaps", "expected"),
    [(ALIKE, ALIKE, REPRODUCED), (OFF, ALIKE, IN_GAPS), (ALIKE, UNTOLD, NOT_TOLD),
     (OFF, UNTOLD, NOT_REPRODUCED), (ALIKE, FAR, NOT_REPRODUCED), (ALIKE, NONE, REPRODUCED),
     (FEW, NONE, NOT_TOLD), (OFF, NONE, NOT_REPRODUCED), (NONE, NONE, NOT_TOLD)],
)  # fmt: skip
def test_the_answer_follows_the_rule(levels, gaps, expected):
    assert answer(Count(*levels), Count(*gaps)) == expected


def test_answers_for_levels_that_are_off_and_gaps_that_are_not():
    shifted = reproduction(printed(), runs((60, 62.05, 30, 36)), ("method", "a"))
    assert [part.answer()[0] for _, part in shifted.parts(["data"])] == [IN_GAPS, NOT_REPRODUCED]
    assert shifted.same_order() == (2, 2)
    same = reproduction(printed(), runs(noise=0.1), ("method", "a"), margin=1)
    assert same.answer()[0] == REPRODUCED
    assert same.of(LEVEL)["equivalence_p"].max() < 0.05


def test_cells_apart_and_settings():
    two = pd.concat([runs().assign(setting="s=1"), runs((60,) * 4, 0.01).assign(setting="s=2")])
    found = reproduction(printed(apart=["fitted", "", "", ""]), two)
    assert [count.number for count in found.answer()[1:]] == [3, 0]
    nearest = found.settings().set_index("setting")
    assert nearest.index.to_list() == ["each at its nearest", "s=1", "s=2"]
    distance = np.mean([100, 144, 100, 90.25]) ** 0.5
    assert nearest.loc["s=2", "distance"] == pytest.approx(distance, rel=0.01)


def test_a_number_is_rounded_where_it_is_printed():
    exact = pd.DataFrame({"m": "a", "seed": range(5), "setting": "", "value": 0.0014})
    number = pd.DataFrame({"m": ["a"], "value": [0.0], "rounding": 0.005})
    assert reproduction(number, exact).rows["inside"].all()
    assert not reproduction(number.assign(rounding=0.0005), exact).rows["inside"].any()


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


@pytest.mark.parametrize(("name", "text"), [("t.tex", LATEX), ("t.md", MARKDOWN), ("t.csv", CSV)])
def test_tables_are_read_as_people_have_them(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    table = read_printed(tmp_path / name)
    keys = table[["Method", "Graph", "column"]].agg(" ".join, axis=1).to_list()
    assert keys[:3] == ["Gossip ring MNIST", "Gossip ring CIFAR", "Gossip complete MNIST"]
    assert table["value"].to_list() == [87.3, 70.1, 88.0, 90, -1.5]
    assert table["sd"].fillna(0).to_list() == [0.4, 0, 0.3, 0, 0]
    assert table["rounding"].to_list() == [0.05, 0.05, 0.05, 0.5, 0.05]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "printed.csv").write_text(PRINTED)
    runs().drop(columns="setting").to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path


def command(folder, *more, printed="printed.csv", measured="runs.csv"):
    given = ["--printed", f"{folder / printed}", "--measured", f"{folder / measured}"]
    return main(["reproduce", *given, *more])


def test_the_command_writes_a_page_with_its_picture_and_all_rows(files, monkeypatch):
    evil = PRINTED.replace("x,", "<script>,").replace("y,", "|`y,")
    (files / "evil.csv").write_text(evil)
    frame = runs().drop(columns="setting").replace({"x": "<script>", "y": "|`y"})
    frame.to_csv(files / "runs.csv", index=False)
    given = ["--gaps", "method=a", "--by", "data", "--out", f"{files / 'out'}"]
    assert command(files, *given, printed="evil.csv") == 0
    assert len(pd.read_csv(files / "out/reproduction.csv")) == 6
    assert (files / "out/reproduction.png").read_bytes().startswith(b"\x89PNG")
    assert "<script" not in (files / "out/reproduction.html").read_text()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # not installed
    assert picture(reproduction(printed(), runs())) == b""


BAD = {
    "empty.csv": "", "header.csv": "data,method,value\n", "alone.csv": "value\n1\n",
    "text.csv": "data,method,value\nx,a,many\n", "twice.csv": "data,method,value\nx,a,1\nx,a,2\n",
    "else.csv": "data,method,value\nz,a,1\n", "column.csv": "data,methods,value\nx,a,1\n",
    "no.tex": "\\begin{tabular}", "uneven.md": "| a | b |\n|---|---|\n| x |\n", "binary.csv": "\0",
    "words.csv": "a,b\nx,y\n", "what.xlsx": "",
}  # fmt: skip


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
    assert len(lines) == 2
    assert all(line.startswith("verdicts: ") for line in lines)


def test_a_table_without_a_column_value_is_to_blame_for_it(files, capsys):
    (files / "acc.csv").write_text("data,method,acc\nx,a,1\n")
    assert command(files, printed="acc.csv") == 2
    assert capsys.readouterr().err.startswith("verdicts: printed: it has no column 'value'")


@pytest.mark.parametrize(
    "more",
    [["--gaps", "method"], ["--gaps", "methods=a"], ["--gaps", "method=c"], ["--by", "date"],
     ["--margin", "0"], ["--value", "values"], ["--settings", "lr"], ["--out", "runs.csv"]],
)  # fmt: skip
def test_an_option_that_fits_nothing_ends_in_one_line(files, capsys, monkeypatch, more):
    monkeypatch.chdir(files)
    assert command(files, *more) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
