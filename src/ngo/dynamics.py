"""Consensus trajectories as tidy tables."""

from __future__ import annotations

import pandas as pd


def trajectory_table(
    p: float, states, V, *, delay: int = 0, topology: str = "ring", gamma: float = 1.0
) -> pd.DataFrame:
    """A consensus trajectory ``[rounds + 1, n, 1]`` as rows of (round, worker, x, V), with what it
    is of: p, ``delay`` in rounds, topology, the number of workers, and the length γ of a round.
    """
    rounds, n = states.shape[:2]
    index = pd.MultiIndex.from_product([range(rounds), range(n)], names=["round", "worker"])
    table = index.to_frame(index=False).assign(x=states.numpy().ravel())
    facts = {"p": p, "delay": delay, "topology": topology, "workers": n, "gamma": gamma}
    return pd.DataFrame({**facts, **table, "V": V.numpy()[table["round"]]})


def consensus_rounds(trajectories: pd.DataFrame, share: float) -> pd.DataFrame:
    """For each p and delay: the first round with V ≤ ``share`` · V(0), else NaN, and the last V."""
    records = []
    for (p, delay), group in trajectories.groupby(["p", "delay"]):
        V = group.drop_duplicates("round").set_index("round")["V"].sort_index()
        reached = V.index[share * V.iloc[0] >= V]
        records.append(
            {
                "p": p,
                "delay": delay,
                "V_initial": V.iloc[0],
                "first_round": reached[0] if len(reached) else float("nan"),
                "V_final": V.iloc[-1],
            }
        )
    return pd.DataFrame(records)


def state_rows(trajectories: pd.DataFrame) -> pd.DataFrame:
    """:func:`trajectory_table` with a row for each round: the workers' states as x0, x1, …"""
    wide = trajectories.pivot(
        index=[name for name in trajectories if name not in ("worker", "x")],
        columns="worker",
        values="x",
    )
    return wide.add_prefix("x").rename_axis(columns=None).reset_index()
