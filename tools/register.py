"""Register the claims of all papers before their runs (``make register``): ``verdicts register``.

A file that has no registration gets one from its history in git, in which fields may have former
names.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ngo.analysis  # noqa: F401 (registers the quantities and values that claims name)
from ngo.common.former import read_claims, renamed_throughout
from ngo.common.registry import UserError
from ngo.pipeline.config_files import read_config, tiers
from verdicts.registration.registered import registration_path
from verdicts.registration.registering import register

REPOSITORY = Path(__file__).parents[1]


def claims_files() -> list[Path]:
    """The claims files that the repository's configs name."""
    configs = (read_config(paths) for paths in tiers(REPOSITORY / "config"))
    return sorted({REPOSITORY / config["claims"] for config in configs})


def main() -> None:
    """Register the claims of every file, and say how many are new or changed."""
    try:
        for path in claims_files():
            out, number, new = register(
                path,
                history=not registration_path(path).exists(),
                read=read_claims,
                present=lambda content: renamed_throughout(content, "earlier claims"),
            )
            print(f"{out.relative_to(REPOSITORY)}: {number} claims; {new} new or changed")
    except UserError as error:
        sys.exit(f"register: {error}")


if __name__ == "__main__":
    main()
