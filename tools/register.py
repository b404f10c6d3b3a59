"""Register the claims of all papers before their runs (``make register``): ``verdicts register``.

With the designs of all tiers that the repository's configs describe. A file that has no
registration gets one from its history in git, in which fields may have former names.
"""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path

from ngo.common.former import read_claims, renamed_throughout
from ngo.common.registry import UserError
from ngo.pipeline.config_files import CONFIG, read_config, tiers
from ngo.pipeline.designs import designs
from ngo.pipeline.plan import plan
from verdicts.registration.registered import registration_path
from verdicts.registration.registering import register

REPOSITORY = Path(__file__).parents[1]


def designs_of_claims() -> dict[Path, dict[str, dict[str, str]]]:
    """For each claims file that the configs here name, the designs by tier and table."""
    found: dict[Path, dict[str, dict[str, str]]] = {}
    for paths in tiers(CONFIG.parent):
        config = read_config(paths)
        planned = plan(config)
        _ = planned.ledger  # it is checked
        found.setdefault(Path(planned.claims), {})[planned.tier] = designs(config, planned)
    return found


def main() -> None:
    """Register the claims of every file, and say how many are new or changed."""
    try:
        with chdir(REPOSITORY):
            for path, planned in sorted(designs_of_claims().items()):
                out, number, new, tables = register(
                    path,
                    history=not registration_path(path).exists(),
                    read=read_claims,
                    present=lambda content: renamed_throughout(content, "earlier claims"),
                    designs=planned,
                )
                told = f"{new} new or changed, and {tables} designs of tables"
                print(f"{out}: {number} claim{'' if number == 1 else 's'}; {told}")
    except UserError as error:
        sys.exit(f"register: {error}")


if __name__ == "__main__":
    main()
