"""The printed table of verdicts on the theorems."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.row import ABSENT


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``theory_verdicts.verdicts``."""

    def three(values: pd.Series) -> pd.Series:
        return values.map("{:.3g}".format).where(np.isfinite(values), ABSENT)

    return pd.DataFrame(
        {
            "Statement": table["statement"],
            "Measured": three(table["measured"]),
            "Theory": three(table["theory"]),
            "Ratio": three(table["ratio"]),
            "Met": table["met"].astype(str) + " of " + table["cases"].astype(str),
            "Verdict": table["verdict"],
        }
    )
