"""The parts of the theory measurement, by the kind of their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ngo.measures.theorems.chatter_floors import chatter_floors
from ngo.measures.theorems.consensus_order import consensus_order
from ngo.measures.theorems.consensus_times import consensus_times
from ngo.measures.theorems.continuous_mean import continuous_mean
from ngo.measures.theorems.convergence_gaps import convergence_gaps
from ngo.measures.theorems.degree_limit import degree_limit
from ngo.measures.theorems.delay_limits_by_step import delay_limits_by_step
from ngo.measures.theorems.delay_tolerances import delay_tolerances
from ngo.measures.theorems.delayed_unit_steps import delayed_unit_steps
from ngo.measures.theorems.descent_lemma import descent_lemma
from ngo.measures.theorems.exponential_decay import exponential_decay
from ngo.measures.theorems.index_lemma import index_lemma
from ngo.measures.theorems.linear_decay import linear_decay
from ngo.measures.theorems.link_failures import link_failures
from ngo.measures.theorems.marginal_delays import marginal_delays
from ngo.measures.theorems.races import races
from ngo.measures.theorems.random_system import random_system
from ngo.measures.theorems.speedup import speedup
from ngo.measures.theorems.switching_speed import switching_speed
from ngo.measures.theorems.weight_sums import weight_sums

if TYPE_CHECKING:
    import pandas as pd

    from ngo.measures.theory import TheoryOptions

PARTS: Mapping[str, Callable[[TheoryOptions], pd.DataFrame]] = {
    "bounds": consensus_times,
    "delays": delay_tolerances,
    "gaps": convergence_gaps,
    "floors": chatter_floors,
    "decays": linear_decay,
    "means": continuous_mean,
    "orders": consensus_order,
    "logs": exponential_decay,
    "sums": weight_sums,
    "speedup": speedup,
    "races": races,
    "descents": descent_lemma,
    "spreads": index_lemma,
    "degrees": degree_limit,
    "limits": delay_limits_by_step,
    "unit_steps": delayed_unit_steps,
    "marginal": marginal_delays,
    "random": random_system,
    "switches": switching_speed,
    "failures": link_failures,
}
