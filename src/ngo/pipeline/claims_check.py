"""The check of a claims file before ``verdicts register``, an entry point: that before training."""

from __future__ import annotations

from pathlib import Path

from ngo.common.registry import UserError
from ngo.pipeline.paths import CONFIG
from verdicts.files import read_mapping
from verdicts.registration import registration_path


def check(path: Path) -> None:
    """Check the claims with each config that names their file: the base, and those beside them.

    Away from the repository's folder there is no base, and nothing is checked. Raises a UserError
    in one line.
    """
    if not CONFIG.exists():
        return
    from ngo.pipeline.config import read_config  # which needs what the pipeline needs
    from ngo.pipeline.plan import plan

    others = set(path.parent.glob("*.yaml")) - {CONFIG, path, registration_path(path)}
    for overlay in [CONFIG, *sorted(others)]:
        if _claims_of(overlay) == path.resolve():
            _ = plan(read_config(dict.fromkeys([CONFIG, overlay]))).ledger


def _claims_of(config: Path) -> Path | None:
    """The claims file that a config names; None if it names none, or is no config."""
    try:
        named = read_mapping(config, "config").get("claims")
    except UserError:
        return None
    return Path(named).resolve() if isinstance(named, str) else None
