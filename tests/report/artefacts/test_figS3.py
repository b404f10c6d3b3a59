"""Figure S3: scaling with the number of workers."""

import pandas as pd
from made_up import sizes

from ngo.report.artefacts import figS3


def test_the_figure_is_made_from_a_file(tmp_path):
    sizes().to_parquet(tmp_path / "metrics.parquet")
    made = figS3.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/figS3.png"
    shown = pd.read_csv(tmp_path / "figures/figS3.csv")
    assert set(shown["tier"]) == {"test"}
