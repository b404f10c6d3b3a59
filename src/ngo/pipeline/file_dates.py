"""Keeping file dates from triggering jobs in Snakemake."""


def ignore() -> None:
    """Make Snakemake ignore modification times; keys in ``params`` show what is out of date.

    Snakemake 9.27 compares the dates of inputs and outputs whatever ``--rerun-triggers`` says. The
    flag ``ancient`` is no substitute: a job with such inputs is not run again after the jobs that
    make them. Other versions without this method are not changed.
    """
    try:
        from snakemake.io import _IOFile
    except ImportError:
        return

    async def is_newer(self, time: float) -> bool:
        return False

    if hasattr(_IOFile, "is_newer"):
        _IOFile.is_newer = is_newer
