"""python extract.py CHECKOUT: write returns.csv from a checkout of sfujim/TD3."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

curves = {}
for path in sorted(Path(sys.argv[1]).glob("learning_curves/*/*.npy")):
    env, seed = path.stem.removeprefix("TD3_").rsplit("_", 1)
    curves[env.removesuffix("-v1"), int(seed)] = np.load(path)
evaluations = pd.DataFrame(curves)  # a row for each of 201 evaluations
tables = []
for env in sorted({env for env, _ in curves}):
    own = evaluations[env]
    best = own.mean(axis=1).idxmax()  # Table 1: the evaluation with the highest mean over trials
    table = pd.DataFrame({"env": env, "seed": own.columns, "best": own.loc[best].to_numpy()})
    tables.append(table.assign(last=own.tail(10).mean().to_numpy()))
pd.concat(tables).round(4).to_csv(Path(__file__).with_name("returns.csv"), index=False)
