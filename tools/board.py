"""Write the board from the shipped archives: its tables, docs/board.md and docs/board.html."""

from __future__ import annotations

import sys

import click

from ngo.common.files import write_text
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.shipped_board import shipped_board
from ngo.report.board import Board, as_html, as_markdown
from verdicts.registry import UserError

PAGES = {"docs/board.md": as_markdown, "docs/board.html": as_html}


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is out of date.")
def main(check: bool) -> None:
    """Write the board, or check that it is that of the shipped archives."""
    try:
        written = files(shipped_board(REPOSITORY, click.echo))
        for name, content in written.items():
            path = REPOSITORY / name
            if not check:
                write_text(path, content)
                click.echo(f"→ {name}")
            elif not path.exists() or path.read_text(encoding="utf-8") != content:
                sys.exit(f"{name} is out of date; run make board.")
    except UserError as error:
        sys.exit(f"board: {error}")


def files(board: Board) -> dict[str, str]:
    """The content of all files of the board, by their paths in the repository."""
    tables = {f"docs/board/{name}": table for name, table in board.files().items()}
    return tables | {name: render(board) for name, render in PAGES.items()}


if __name__ == "__main__":
    main()
