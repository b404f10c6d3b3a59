"""What a notebook shows of an artefact."""

import IPython.display
import pandas as pd

from ngo.figures.output import Output


def test_a_notebook_shows_the_saved_picture_and_the_tables(tmp_path, monkeypatch):
    picture = tmp_path / "fig.png"
    picture.write_bytes(b"picture")
    tables = pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [2]})
    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    Output(picture, tables)._ipython_display_()
    assert shown[0].data == b"picture"
    assert shown[1] is tables[0]
    assert shown[2] is tables[1]
