"""The picture of any experiment, and the notebook of experiments without a figure."""

import math
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from figure_files import executed, made
from made_up import SEEDS, metrics, run
from matplotlib.text import Text

import ngo
from ngo import plots
from ngo.analysis.experiment import plan
from ngo.plots.experiment import CURVES, draw, notes, picture
from ngo.plots.style import SMALL

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

GIVEN = (("centralized", math.nan), ("gossip", 1.0), ("ngo", 0.7), ("ngo", 0.9))


def runs(diverged=lambda seed: False, seeds=SEEDS, given=GIVEN, **fields):
    every = [
        run(0.5 + 0.1 * seed / 2, method=q, p=p, gamma=math.nan if q == "centralized" else 0.1,
            seed=seed, diverged=q == "ngo" and diverged(seed), **fields)
        for q, p in given for seed in seeds
    ]  # fmt: skip
    return with_workers(metrics(*every))


def with_workers(table):
    return table.assign(workers_accuracy_mean=table["consensus_accuracy"] - 0.05)


def swept(values=(0.01, 0.03, 0.1, 0.3), best=1, seeds=SEEDS, **more):
    """Gossip and NGO at learning rates, with the same best one; NGO is 3 points better."""
    every = [
        run(0.6 + 0.03 * (q == "ngo") - 0.05 * abs(k - best) + 0.01 * seed, method=q, p=1.0,
            gamma=0.5, lr=lr, seed=seed, **more)
        for q, (k, lr), seed in product(("gossip", "ngo"), enumerate(values), seeds)
    ]  # fmt: skip
    return with_workers(metrics(*every))


FACTORS = {
    "method": ["gossip", "ngo", "d2", "push_sum", "gradient_tracking"],
    "lr": [0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.6, 1.0],
    "topology": ["ring", "complete", "one_peer_exponential", "alternating_matching", "torus"],
    "gamma": [0.0003, 0.001, 0.01, 0.1, 0.3, 1.0],
    "p": [0.6, 0.8, 0.9, 0.95],
    "partition": ["iid", "shards", "dirichlet"],
    "local_steps": [1, 2, 5, 10, 20, 50],
    "attack": ["none", "noise", "sign_flip", "alie", "dissensus", "label_flip"],
}


def made_at_random(k):
    """A table with 1 to 90 cases, 1 to 20 seeds, 0 to 100 % diverged, 2 to 50 evaluations."""
    draws = np.random.default_rng(k)
    names = draws.choice(list(FACTORS), draws.integers(1, 4), replace=False)
    values, most = {}, 90
    for name in names:
        count = min(len(FACTORS[name]), most)
        values[name] = FACTORS[name][: count if k % 4 == 3 else draws.integers(1, count + 1)]
        most //= len(values[name])
    seeds, evaluations = draws.integers(1, 21), int(draws.choice([2, 3, 5, 20, 50]))
    share, holdout = draws.choice([0, 0, 0.1, 0.5, 1]), bool(draws.integers(2))
    fixed = {"dataset": "mnist", "partition": "iid", "method": "ngo", "topology": "ring", "p": 0.95,
             "gamma": 0.5, "lr": 0.05, "workers": 10, "local_steps": 1}  # fmt: skip
    rows = []
    for case in product(*values.values()):
        facts = fixed | dict(zip(values, case, strict=True))
        level, spread = draws.uniform(0.3, 0.97), 10 ** draws.uniform(-6, 3)
        for seed in range(seeds):
            lost = draws.random() < share
            steps = np.linspace(0, 100, evaluations)[: max(2, evaluations // 2) if lost else None]
            accuracy = 0.1 + (level - 0.1 + 0.01 * draws.normal()) * (1 - np.exp(-steps / 30))
            rows.append(pd.DataFrame(
                {**facts, "seed": seed, "run": f"{case}-{seed}", "step": steps.astype(int),
                 "epoch": steps / 10, "V": spread * steps / 100, "classes_covered": 10,
                 "consensus_accuracy": accuracy, "workers_accuracy_mean": accuracy - 0.02,
                 "consensus_loss": 1 / accuracy, "workers_loss_mean": 1.1 / accuracy,
                 "holdout_accuracy": accuracy if holdout else math.nan, "train_samples": 60_000,
                 "bytes_sent": steps * 1e6 * facts["local_steps"],
                 "diverged": lost & (steps == steps[-1])}
            ))  # fmt: skip
    return pd.concat(rows, ignore_index=True)


@pytest.fixture
def letters(monkeypatch):
    """The texts that are drawn."""
    found, drawn = [], Text.draw

    def recorded(self, renderer):
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        drawn(self, renderer)

    monkeypatch.setattr(Text, "draw", recorded)
    return found


def faults(figure, letters):
    """Words over words, off the page, and letters that are too small."""
    figure.canvas.draw()
    letters.clear()
    figure.canvas.draw()
    boxes = [(text, text.get_window_extent()) for text in letters]
    page = figure.bbox.padded(1)
    told = [f"{a.get_text()!r} over {b.get_text()!r}" for (a, one), (b, other) in
            combinations(boxes, 2) if one.padded(-1).overlaps(other.padded(-1))]  # fmt: skip
    told += [f"{text.get_text()!r} off the page" for text, box in boxes
             if not (page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1))]  # fmt: skip
    return told + [
        f"{text.get_text()!r} is small" for text, _ in boxes if text.get_fontsize() < SMALL
    ]


MANY = [k if k < 8 else pytest.param(k, marks=pytest.mark.slow) for k in range(40)]


@pytest.mark.parametrize("k", MANY)
def test_any_table_is_drawn_whole_and_legibly(k, letters):
    given = made_at_random(k)
    shown = plan(given)
    ends = shown.ends[shown.ends["value"] == shown.score]
    for width, inches in (("page", 6.75), ("column", 3.3)):
        fitting = picture(shown, width)
        figure = draw(fitting)
        tuned = [axis for axis in figure.axes if axis.get_gid() == "tuned"]
        plots.below(figure, *notes(fitting, given), "Tier test.")
        assert faults(figure, letters) == []
        assert figure.get_figwidth() == inches
        assert figure.get_figheight() <= 9
        assert not [axis for axis in figure.axes if axis.get_legend()] + figure.legends
        left = [int(told.split()[-1][:-1]) for told in fitting.left_out if "Rows" in told]
        assert sum(ends["chosen"]) == sum(line != "" for _, line in fitting.rows) + sum(left)
        names = [name for kind, name in fitting.panels if kind == "tuned"]
        assert len(names) == ends["panel"].nunique() * bool(shown.x) or fitting.left_out
        cases = ends[ends["panel"].isin(names)]
        points = np.concatenate(
            [[math.nan], *(line.get_ydata() for axis in tuned for line in axis.lines)]
        )
        drawn = [np.isclose(points.astype(float), mean).any() for mean in cases["mean"].dropna()]
        assert all(drawn)
        counted = [
            text.get_text() for axis in tuned for text in axis.texts if "×" in text.get_text()
        ]
        assert sum(int(text[1:]) for text in counted) == cases["diverged"].sum()


def test_cases_are_told_apart_by_panel_line_and_what_is_tuned():
    ends = plan(runs()).ends.query("value == 'accuracy'")
    assert list(ends["line"]) == ["centralized", "gossip, p = 1", "NGO, p = 0.7", "NGO, p = 0.9"]
    table = pd.concat([swept(partition="iid"), swept(partition="shards", workers=5)])
    shown = plan(table)
    assert (shown.x, shown.tuned) == ("lr", ["lr"])
    assert set(shown.ends["panel"]) == {"iid", "shards"}
    assert shown.ends["chosen"].sum() * 4 == len(shown.ends)
    assert set(shown.ends["line"]) == {"gossip", "NGO"}
    grid = pd.concat([swept(attack="none").assign(p=p, run=lambda t, p=p: t["run"] + f"-{p}")
                      for p in (0.7, 0.8, 0.9)]).query("method == 'ngo'")  # fmt: skip
    assert list(plan(grid).ends["line"].unique()) == ["p = 0.7", "p = 0.8", "p = 0.9"]


@cases("best, edge", (1, False), (0, True), (3, True))
def test_the_best_rate_is_chosen_and_an_end_of_its_grid_is_told(best, edge):
    shown = plan(swept(best=best))
    chosen = shown.ends[shown.ends["chosen"] & (shown.ends["value"] == "accuracy")]
    assert list(chosen["lr"]) == [(0.01, 0.03, 0.1, 0.3)[best]] * 2
    assert list(chosen["edge"]) == [edge] * 2
    assert shown.by == "consensus_accuracy"
    held = swept(best=best).assign(holdout_accuracy=lambda t: -t["lr"])
    assert set(plan(held).ends.query("chosen")["lr"]) == {0.01}
    assert plan(held.assign(holdout_accuracy=math.nan)).by == "consensus_accuracy"


def test_differences_are_paired_by_seed_and_of_losses_ratios():
    (difference,) = plan(swept()).differences.itertuples()
    assert (difference.line, difference.seeds) == ("NGO", len(SEEDS))
    assert [difference.mean, difference.low, difference.high] == pytest.approx([3, 3, 3])
    losses = swept().assign(consensus_accuracy=math.nan, workers_accuracy_mean=math.nan)
    losses["consensus_loss"] *= losses["method"].map({"ngo": 0.5, "gossip": 1})
    (ratio,) = plan(losses).differences.itertuples()
    assert (ratio.value, ratio.mean) == ("ratio", pytest.approx(0.5))
    lost = plan(runs(lambda seed: seed == 1)).differences
    assert list(lost["diverged"]) == [0, 1, 1]


def longer(table):
    """With four evaluations after the start."""
    later = table[table["step"] == 20]
    more = [later.assign(step=step, epoch=step / 10) for step in (30, 40)]
    return pd.concat([table, *more]).sort_values(["run", "step"], ignore_index=True)


def test_curves_are_along_what_differs():
    table = longer(runs())
    assert plan(runs()).course.empty
    assert plan(table).time == "epoch"
    sent = table["bytes_sent"] * table["method"].map({"ngo": 2}).fillna(1)
    assert plan(table.assign(bytes_sent=sent)).time == "bytes_sent"
    timed = plan(table.assign(virtual_seconds=3.0 * table["step"]))
    assert timed.course["virtual_seconds"].max() == 3 * table["step"].max()


SENTENCES = ("Each at its best", "Differences", "Rings", "Dashed", "Pale", "Curves", "Numbers",
             "one model", "Intervals", "log axes", "diverged")  # fmt: skip
SWEPT = ("Each at its best", "Differences", "Rings", "Intervals", "log axes")


@cases(
    "table, true",
    (swept(), SWEPT),
    (swept(best=0), (*SWEPT, "Dashed")),
    (swept(V=0.0), SWEPT[:-1]),
    (swept(seeds=[0]), ("Each at its best", "Differences", "Rings")),
    (swept().query("method == 'ngo'"), ("Each at its best", "Rings", "Intervals", "log axes")),
    (runs(), ("Differences", "one model", "Intervals", "log axes")),
    (longer(runs()), ("Differences", "Numbers", "one model", "Intervals", "log axes")),
    (runs(lambda seed: True), ("Differences", "one model", "Intervals", "log axes", "diverged")),
    (runs(given=GIVEN[1:2]).drop(columns="p"), ("Intervals", "log axes")),
)
def test_the_caption_says_only_what_is_true_of_the_table(table, true):
    said = " ".join(notes(picture(plan(table)), table))
    assert [sentence for sentence in SENTENCES if sentence in said] == sorted(
        true, key=SENTENCES.index
    )


def test_a_picture_of_more_than_a_page_says_what_it_lacks():
    given = [("ngo", p) for p in np.linspace(0.5, 1, 120).round(4)]
    many = runs(given=given).assign(p=math.nan, topology=lambda t: t["run"].str.split("-").str[1])
    fitting = picture(plan(many))
    between = 120 - len(fitting.rows)
    assert fitting.left_out == [f"Rows between the best and the worst, not shown: {between}."]
    assert "Curves: the best 8." in notes(picture(plan(longer(many))), many)
    assert CURVES == 8


def test_python_draws_what_the_notebook_draws():
    table = longer(swept())
    mine, notebook = ngo.plot(table), executed("experiment", table)["figure"]
    assert [axis.get_title() for axis in mine.axes] == [axis.get_title() for axis in notebook.axes]
    assert mine.axes[0].get_xlabel() == "test accuracy,\nmean model (%)"
    assert len(ngo.plot(table, width="column").axes) < len(mine.axes)
    refused("width: 'pages'.*'page'", ngo.plot, table, width="pages")
    refused("plot: .*'V'", ngo.plot, table.drop(columns="V"))
    refused(
        "distinguished here by", ngo.plot, pd.concat([table, table.assign(run=table["run"] + "b")])
    )


def test_it_is_named_after_its_experiment(tmp_path):
    printed = made(
        "experiment", tmp_path, metrics=runs(lambda seed: seed == 1), experiment="own"
    ).tables[0]
    assert printed["diverged"].tolist() == ["1 of 3", "1 of 3", "", ""]  # NGO is first
    files = {path.name for path in tmp_path.glob("*/*")}
    assert files == {f"own.{kind}" for kind in ("png", "pdf", "csv", "md", "tex", "html")}
    assert set(pd.read_csv(tmp_path / "figures/own.csv")["tier"]) == {tmp_path.name}
