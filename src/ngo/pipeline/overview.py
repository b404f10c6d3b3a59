"""A line for each tier in a folder of configs: how much it trains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ngo.common.registry import UserError
from ngo.pipeline.config_files import CONFIG, read_config, tiers
from ngo.pipeline.plan import Plan, plan


def summary(plan: Plan) -> str:
    """One line about how much a plan trains."""
    runs = plan.runs.values()
    samples = sum(spec.samples for spec in runs)
    experiments, sampled = len(plan.training) - len(plan.universes), len(plan.universes)
    of = f"{experiments} experiment{'s' * (experiments != 1)}"
    of += f" and {sampled} sample{'s' * (sampled != 1)} of universes" if sampled else ""
    partitions = len(plan.partition_runs)
    return f"{len(runs)} runs of {of} on {partitions} partitions train {samples:,} samples"


def overview(folder: str | Path = CONFIG.parent) -> Iterator[str]:
    """A line for each tier in ``folder``, and for each file that is not one, with the reason."""
    found: dict[str, Path] = {}
    for paths in tiers(folder):
        path = paths[-1]
        try:
            planned = plan(read_config(paths))
            if planned.tier in found:
                raise UserError(f"tier: {planned.tier!r} is the name of {found[planned.tier]}")
        except UserError as error:
            if len(paths) == 1:
                raise
            yield f"{path} is not a tier on its own: {error}"
        else:
            found[planned.tier] = path
            yield f"{planned.tier}: {summary(planned)}"
