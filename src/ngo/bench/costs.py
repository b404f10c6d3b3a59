"""Measurements and the targets that they are compared with."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from typing import Any

from ngo.native.pool import cores


@dataclass(frozen=True)
class Target:
    """A measured ratio and its limit."""

    name: str
    value: float
    limit: float
    #: Whether the limit is a lower one.
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Bench:
    """Rows of measurements, and their targets."""

    rows: list[dict[str, Any]]
    targets: list[Target]

    def as_json(self) -> str:
        """Machine, rows and targets."""
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return json.dumps({"machine": machine(), "rows": self.rows, "targets": targets}, indent=2)

    def as_text(self) -> str:
        """A table of the rows, and one line for each target."""
        from tabulate import tabulate

        lines = [tabulate(self.rows, headers="keys", floatfmt=".3g"), ""]
        for target in self.targets:
            sign = "≥" if target.at_least else "≤"
            verdict = "met" if target.met else "MISSED"
            lines.append(
                f"{verdict:6s} {target.name}: {target.value:.3g} ({sign} {target.limit:g})"
            )
        return "\n".join(lines)


def machine() -> dict[str, Any]:
    """The hardware and the versions that measurements depend on."""
    import torch

    from ngo.training.record import processor

    return {
        "cores": cores(),
        "processor": processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
