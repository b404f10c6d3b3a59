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
    plural = "" if len(plan.training) == 1 else "s"
    return (
        f"{len(runs)} runs of {len(plan.training)} experiment{plural} on "
        f"{len(plan.partition_runs)} partitions train {samples:,} samples"
    )


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
