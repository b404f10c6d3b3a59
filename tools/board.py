"""Write the board from the shipped archives: its tables, docs/board.md and docs/board.html."""

from __future__ import annotations

import sys

import click

from ngo.common.files import write_text
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.shipped_board import shipped_board
from verdicts.registry import UserError


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is out of date.")
def main(check: bool) -> None:
    """Write the board, or check that it is that of the shipped archives."""
    try:
        for name, content in shipped_board(REPOSITORY, click.echo).files().items():
            path = REPOSITORY / "docs" / name
            if not check:
                write_text(path, content)
                click.echo(f"→ docs/{name}")
            elif not path.exists() or path.read_text(encoding="utf-8") != content:
                sys.exit(f"docs/{name} is out of date; run make board.")
    except UserError as error:
        sys.exit(f"board: {error}")


if __name__ == "__main__":
    main()
