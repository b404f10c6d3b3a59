"""python extract.py CHECKOUT: write runs.csv from a checkout of facebookresearch/drqv2."""

import sys
from pathlib import Path

import pandas as pd

curves = pd.concat(map(pd.read_csv, sorted(Path(sys.argv[1]).glob("curves/*.csv"))))
runs = curves.sort_values("frame").groupby(["task", "seed"])
table = pd.DataFrame(
    {
        "last": runs["episode_reward"].apply(lambda own: own.tail(10).mean()).round(3),
        "hours": runs["hour"].max().round(3),
    }
)
table["in_8_hours"] = (table["hours"] <= 8).astype(int)
table.to_csv(Path(__file__).with_name("runs.csv"))
