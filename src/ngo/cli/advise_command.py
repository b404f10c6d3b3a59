"""``ngo advise``: which method to use when."""

from __future__ import annotations

import click

from ngo.cli.parameters import FieldType
from ngo.common.fields import Field, above, within
from ngo.common.registry import UserError, nearest

WORKERS = Field(int, "workers", within(2, 1_000_000))
LIARS = Field(int, "liars", within(0, 1_000_000))
STEPS = Field(float, "steps", within(0, 1_000_000))
SHARE = Field(float, "share", within(0, 1))
SKEW = Field(float, "β", above(0))


class Skew(FieldType):
    """A number above 0, or ``iid``, which is 0: no skew."""

    name = "β|iid"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> object:
        """The number. A UserError names the option."""
        if value == "iid":
            return 0.0
        try:
            return super().convert(value, param, context)
        except UserError as error:
            told = f"{str(error).rstrip('.')}, or iid."
            raise UserError(f"{told}{nearest(value, ['iid'])}") from None


def _rate(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """A bandwidth, checked."""
    from ngo.report.advice import check_rate

    if text is not None:
        check_rate(text)
    return text


@click.command()
@click.option("--workers", type=FieldType(WORKERS), help="Number of workers.")
@click.option(
    "--skew", type=Skew(SKEW), help="β of Dirichlet's distribution: a small one is skewed."
)
@click.option(
    "--bandwidth", callback=_rate, metavar="RATE", help="Of a link, such as 10Mbit: few bytes."
)
@click.option("--stragglers", type=FieldType(SHARE), help="Share of the workers that are slow.")
@click.option("--late", "lateness", type=FieldType(STEPS), help="Steps that a message takes.")
@click.option("--failing", type=FieldType(SHARE), help="Share of the links that fail in a step.")
@click.option("--liars", type=FieldType(LIARS), help="Number of workers that lie.")
def advise(**given: float | str | None) -> None:
    """Say which method was best in the measured setting nearest to yours.

    The answer is from the board's table (docs/board.md), with intervals and the evidence. What was
    not measured is said to be so.

    Ask for 32 workers whose data differ:
      ngo advise --workers 32 --skew 0.1
    """
    from ngo.report.advice import answers, told
    from ngo.report.board_tables import BoardCell, read

    asked = {name: value for name, value in given.items() if value is not None}
    if not asked:
        raise UserError("advise: say what your setting is, as in --workers 32 --skew 0.1.")
    for line in told(asked, answers(asked, read(BoardCell))):
        click.echo(line)
