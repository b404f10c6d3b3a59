"""Contents of a page of results, made up: four claims, a figure and a table."""

from dataclasses import MISSING, fields
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo import plots
from ngo.printing import page, save_table
from ngo.report.contents import Contents, Shown
from ngo.report.findings import findings
from verdicts.verdict_rows import Row

NAN = float("nan")

FINDINGS = """\
questions:
  - {asks: Is it better?, claims: {order: on MNIST, same: on digits, later: on CIFAR-10}}
  - {asks: Is the theorem true?, claims: {"15": by the printed T*, absent: twice that}}
  - {asks: Is it elsewhere?, claims: {absent: here}}
figure: fig8
topics:
  - {title: Accuracy, about: What is compared., claims: [order, same, absent]}
  - {title: Theorems, about: What is proved., claims: ["15", later]}
  - {title: Nothing, about: No claim., claims: [absent]}
"""


PAPER = {
    "name": "own",
    "title": "A paper <of> *ours*",
    "authors": "A. Author",
    "address": "https://example.org/paper",
    "claim": "All is well.",
}


def row(claim: str, **values: object) -> Row:
    """A row of verdicts: an order that holds for 20 seeds, or what ``values`` say."""
    none = {
        field.name: NAN if field.type == "float" else ""
        for field in fields(Row)
        if field.default is MISSING
    }
    numbers = {"estimate": 4.125, "low": 2.25, "high": 6.0, "pairs": 20.0, "detectable": 2.5}
    texts = {"place": "Table 1", "says": f"statement of {claim}", "kind": "order"}
    texts |= {"unit": "points", "relation": "above", "shows": "fig8", "verdict": "holds"}
    said = {"expected": 0.0, "margin": 0.5, "family_size": 1, "infinite": 0.0}
    made = {**none, **numbers, **texts, **said, "claim": claim, **values}
    return Row(**{"plain_low": made["low"], "plain_high": made["high"], **made})


EMPTY = dict.fromkeys(("estimate", "low", "high", "pairs", "detectable"), NAN)

ROWS = [
    row("order"),
    row("same", verdict="equivalent", estimate=0.031, low=-0.09, high=0.152, shows="tableS1"),
    row("15", verdict="fails", says="V is 0 after T* | <printed>", **EMPTY, unit="", relation="",
        met=204, cases=400, reason="met in 204 of 400 cases; not in ring", shows="tableS1"),
    row("later", verdict="not run", **EMPTY, reason="no rows with dataset = 'cifar10'", shows=""),
    row("open", verdict="undecided", estimate=-0.4, low=-1.4, high=0.6, seeds_needed=44.0,
        unit="log ratio", reason="the difference from 0 is not significant"),
]  # fmt: skip


def contents(folder: Path) -> Contents:
    """The contents; their files are written to ``folder``."""
    figure: Figure = plots.new_figure(2)
    figure.subplots().set_xlabel("steps")
    plots.below(figure, "Bands: γ = 0.1.", "Tier made-up.")
    plots.save_figure(figure, folder / "fig8", pd.DataFrame({"x": [1]}))
    for name in ("tableS1", "claims"):
        printed = pd.DataFrame({"Topology": ["ring <4>"], "Gap": ["0.67"]})
        save_table(printed, printed, folder / name, f"The caption of {name}.")
    (folder / "findings.yaml").write_text(FINDINGS)
    (folder / "assumptions.html").write_text(page("All of them.", {"defaults": [{"Where": "lr"}]}))
    (folder / "assumptions.md").write_text("All of them.\n\n## defaults\n")
    return Contents(
        tier="made-up",
        paper=PAPER,
        rows=ROWS,
        findings=findings(ROWS, folder / "findings.yaml"),
        shown=[
            Shown("fig8", "Figure 8: V", "5.6 Stability", "*See* <V>.", (folder / "fig8.png",), ()),
            Shown("tableS1", "Table S1: gaps", "Supplement", "Gaps.", (), (folder / "tableS1",)),
            Shown("claims", "The ledger", "Claims", "All.", (), (folder / "claims",)),
        ],
        ledger="claims",
        assumptions=folder / "assumptions",
        provenance={"Runs": "12", "Source revision": "abc|def"},
    )  # fmt: skip
