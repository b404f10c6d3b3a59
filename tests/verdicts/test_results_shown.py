"""What a public function gives back: a sentence, its numbers, and how they are shown."""

import sys

import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.report import Result


class Found(Result):
    frame = pd.DataFrame({"method": ["<b>|_50%", "y"], "mean": [-0.5, float("nan")], "empty": ""})

    def __str__(self):
        return "x & y."

    def draw(self, figure):
        figure.subplots().plot([0, 1])


def test_a_result_prints_its_sentence_and_shows_its_table_in_three_formats(tmp_path, monkeypatch):
    found = Found()
    assert str(found) == repr(found) == "x & y."
    lines = found.to_markdown().splitlines()
    assert lines == ["| Method | Mean |", "| --- | --- |", r"| \<b\>\|\_50% | −0.5 |", "| y | – |"]
    body = found.to_latex().splitlines()
    row = r"\textless{}b\textgreater{}\textbar{}\_50\% & $-$0.5 \\"
    assert (body[0], body[2], body[4]) == (r"\begin{tabular}{ll}", r"Method & Mean \\", row)
    assert found._repr_html_().startswith("<p>x &amp; y.</p>\n<div")
    assert "<b>" not in found._repr_html_()
    found.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match=r"picture: 'x\.what': "):
        found.plot("x.what")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # not installed
    with pytest.raises(UserError, match="it needs matplotlib"):
        found.plot()
