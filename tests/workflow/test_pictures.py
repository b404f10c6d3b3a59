"""PDFs of the demo and of the laptop tier: labels on axes, no word off the page or on another one.

The words are those of the PDF, whose text is text.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from clone import REPOSITORY, Clone
from pypdfium2 import PdfDocument
from running import finished, start
from shipped_plans import plan_of_tier

from ngo import plots

#: How far a word may reach into another one, in points.
TOLERANCE = 0.5

#: The text of a label in a notebook, up to its first symbol.
LABEL = re.compile(r"""[xy]label(?:=|\()r?f?"([a-z /]+)""")


def words(pdf: Path) -> list[tuple[str, np.ndarray]]:
    """Each word with its box: the lower left and the upper right corner, in points."""
    page = PdfDocument(pdf)[0].get_textpage()
    found: list[list] = [[]]
    for k in range(page.count_chars()):
        if (letter := page.get_text_range(k, 1)).strip():
            found[-1].append((letter, page.get_charbox(k)))
        elif found[-1]:
            found.append([])
    boxes = [np.reshape([box for _, box in word], (-1, 2, 2)) for word in found if word]
    names = ["".join(letter for letter, _ in word) for word in found if word]
    corners = [np.array([box[:, 0].min(0), box[:, 1].max(0)]) for box in boxes]
    return list(zip(names, corners, strict=True))


def cut(pdf: Path) -> list[str]:
    """The words that are not wholly on the page."""
    page = np.array(PdfDocument(pdf)[0].get_size())
    return [word for word, box in words(pdf) if (box[0] < 0).any() or (box[1] > page).any()]


def overprinted(pdf: Path) -> list[tuple[str, str]]:
    """The pairs of words that lie on each other."""
    found = words(pdf)
    return [
        (one, other)
        for k, (one, box) in enumerate(found)
        for other, place in found[:k]
        if (np.minimum(box[1], place[1]) - np.maximum(box[0], place[0]) > TOLERANCE).all()
    ]


@pytest.mark.parametrize("angle", [0, 90])
@cases("off, lies", ((0, 0), True), ((0.1, 0.01), True), ((0.1, 0.1), False))
def test_a_word_on_another_is_found(angle, off, lies, tmp_path, house_style):
    figure = plots.new_figure(3, 3)
    figure.text(0.5, 0.5, "accuracy (%)", rotation=angle)
    figure.text(0.5 + off[angle > 0], 0.5 + off[angle == 0], "index $V$", rotation=angle)
    figure.savefig(tmp_path / "a.pdf")
    assert bool(overprinted(tmp_path / "a.pdf")) == lies


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """The folders with the PDFs of the demo, trained, and of the laptop tier's archive, rebuilt."""
    folder = tmp_path_factory.mktemp("figures")
    clone = Clone(folder / "ngo")
    clone.snakemake(
        "--workflow-profile", "workflow/profiles/local", config="config/demo.yaml", within=1800
    )
    archive = REPOSITORY / "results/archive/laptop-metrics.tar"
    command = [sys.executable, "-m", "ngo", "rebuild", archive, "--out", folder / "out"]
    finished(start(command, cwd=REPOSITORY), within=1800)
    (laptop,) = folder.glob("out/*/results/laptop/figures")
    return [clone.root / "results/demo/figures", laptop]


@pytest.mark.timeout(3600)
def test_no_word_of_a_figure_lies_on_another_and_its_labels_are_there(figures):
    pages = [pdf for folder in figures for pdf in sorted(folder.glob("*.pdf"))]
    assert len(pages) > 30
    faults = {}
    for pdf in pages:
        text = " ".join(word for word, _ in words(pdf))
        book = json.loads((REPOSITORY / plan_of_tier().artefacts[pdf.stem].notebook).read_text())
        labels = LABEL.findall("\n".join("".join(cell["source"]) for cell in book["cells"]))
        absent = [label for label in labels if label.strip() not in text]
        if found := [*absent, *cut(pdf), *overprinted(pdf)]:
            faults[f"{pdf.parent.parent.name}/{pdf.name}"] = found
    assert not faults
