"""Keeping file dates from triggering jobs in Snakemake."""

from ngo.pipeline import snakemake_methods


def ignore() -> None:
    """Make Snakemake ignore modification times; keys in ``params`` show what is out of date.

    Snakemake 9.27 compares the dates of inputs and outputs whatever ``--rerun-triggers`` says. The
    flag ``ancient`` is no substitute: a job with such inputs is not run again after the jobs that
    make them. After a job it raises an error if an input has a later date than an output, as one
    with a date in the future has.
    """
    for place, code, replacement in (
        ("snakemake.io:_IOFile.is_newer", "d2cf8bf8b52faae0", _is_newer),
        ("snakemake.dag:DAG.check_output_mtime", "c04c0ec688adf944", _check_output_mtime),
    ):
        snakemake_methods.replace(place, code, lambda _, by=replacement: by)


async def _is_newer(self, time: float) -> bool:
    return False


async def _check_output_mtime(self, job, expanded_output) -> None:
    pass
