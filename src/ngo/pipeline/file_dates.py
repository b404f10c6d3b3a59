"""Keeping file dates from triggering jobs in Snakemake."""

from ngo.pipeline import snakemake_methods


def ignore() -> None:
    """Make Snakemake ignore modification times; keys in ``params`` show what is out of date.

    Snakemake 9.27 compares the dates of inputs and outputs whatever ``--rerun-triggers`` says. The
    flag ``ancient`` is no substitute: a job with such inputs is not run again after the jobs that
    make them.
    """
    snakemake_methods.replace("snakemake.io:_IOFile.is_newer", lambda _: _is_newer)


async def _is_newer(self, time: float) -> bool:
    return False
