"""Write the measured part of docs/performance.md from the output of ``ngo bench … --json``.

Usage: python tools/performance_page.py PART FILES. Each part of the page has the tables of some
benches:

    engine  engine.json gossip.json startup.json workflow.json
    methods methods.json traffic.json
    scale   scale.json

Several runs of a bench are given as files that differ in a number only (engine1.json engine2.json).
The page then shows the targets of all runs, and the tables of the first. The part scale also has a
figure, docs/images/scale.png.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from tabulate import tabulate

PAGE = Path(__file__).parents[1] / "docs/performance.md"
FIGURE = "images/scale.png"  # beside the page
BEGIN, END = "<!-- measured, {}: tools/performance_page.py -->\n", "<!-- end -->\n"
HEADERS = {
    "us_per_sample": "µs a sample",
    "of_one_model": "of one model's",
    "of_the_rate": "of the rate of matrix products",
    "fixed_ms": "fixed cost of a worker's step, ms",
    "us_of_a_sample": "cost of a sample, µs",
    "of_most_workers": "relative to most workers",
    "consensus_share": "in consensus",
    "of_a_copy": "of a copy's",
    "faster_than_naive": "faster than naive",
    "of_import_torch": "of import torch's",
    "consensus_ms": "of it consensus, ms",
    "first_ms": "first matrix, ms",
    "next_ms": "next matrix, ms",
}


def main(part: str, *files: str) -> None:
    """Write the tables and the targets of ``files`` into a part of the page."""
    benches = defaultdict(list)
    for file in files:
        benches[Path(file).stem.rstrip("0123456789")].append(json.loads(Path(file).read_text()))
    machine = next(iter(benches.values()))[0]["machine"]
    facts = ", ".join(f"{key} {value}" for key, value in machine.items() if value is not None)
    parts = [f"Measured on: {facts}. Ratios differ between processors.\n"]
    targets = []
    for name, runs in benches.items():
        for run in zip(*(run["targets"] for run in runs), strict=True):
            sign = "≥" if run[0]["at_least"] else "≤"
            verdict = "met" if all(target["met"] for target in run) else "**missed**"
            values = " · ".join(f"{target['value']:.3g}" for target in run)
            targets.append([run[0]["name"], values, f"{sign} {run[0]['limit']:g}", verdict])
        parts += [f"### `ngo bench {name}`\n", *_figure(runs[0]["rows"]), _tables(runs[0]["rows"])]
    parts[1:1] = [
        "### Targets, in all runs\n",
        tabulate(targets, ["target", "measured", "limit", ""], tablefmt="github") + "\n",
    ]
    text = PAGE.read_text(encoding="utf-8")
    begin = BEGIN.format(part)
    before, rest = text.split(begin)
    after = rest.split(END, 1)[1]
    PAGE.write_text(before + begin + "\n" + "\n".join(parts) + "\n" + END + after, encoding="utf-8")


def _figure(rows: list[dict]) -> list[str]:
    """Draw the cost of a step against the number of workers; its line in the page, if there is one.

    Solid lines are steps, dashed ones the consensus in them.
    """
    from ngo.figures import plots
    from ngo.figures.style import house_style, kth_style

    by_way = defaultdict(list)
    for row in rows:
        if "consensus_ms" in row and "torus" not in row["way"]:
            by_way[row["network"], row["way"]].append(row)
    if not by_way:
        return []
    with house_style():
        figure, (axes,) = plots.panels(2.7, 1, 2)
        networks = sorted({network for network, _ in by_way})
        for k, ((network, way), of_way) in enumerate(by_way.items()):
            axis, sizes = axes[networks.index(network)], [row["n"] for row in of_way]
            colour = kth_style(k % 4, way).colour
            axis.plot(sizes, [row["ms"] for row in of_way], ".-", color=colour, label=way)
            axis.plot(sizes, [row["consensus_ms"] for row in of_way], "--", color=colour)
        for axis in axes:
            axis.loglog()
            axis.set_xlabel("workers $n$")
            axis.set_ylabel("ms")
        plots.titles(axes, *networks)
        plots.legend(figure, *axes)
        (PAGE.parent / FIGURE).parent.mkdir(exist_ok=True)
        figure.savefig(PAGE.parent / FIGURE, metadata={"Software": None})
    text = (
        "The time of a step (solid) and of the consensus in it (dashed), by the number of workers"
    )
    return [f"![{text}]({FIGURE})\n"]


def _tables(rows: list[dict]) -> str:
    """One table for each set of columns."""
    kinds: dict[tuple[str, ...], list[dict]] = defaultdict(list)
    for row in rows:
        kinds[tuple(row)].append(row)
    tables = []
    for columns, alike in kinds.items():
        shown = [column for column in columns if column != "device"]
        cells = [[row[column] for column in shown] for row in alike]
        headers = [HEADERS.get(column, column) for column in shown]
        tables.append(tabulate(cells, headers, tablefmt="github", floatfmt=".3g"))
    return "\n\n".join(tables) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
