"""What the theorems bound (``ngo.theorems``)."""

from __future__ import annotations

from collections.abc import Iterator

from ngo.common.lazy import Table
from ngo.measures.measurement import Facts, measurement
from ngo.native.threads import one_intra_op_thread
from ngo.theorems.table import KINDS, TheoryOptions, table_of

COLUMNS = ("kind", *sorted({name for columns in KINDS.values() for name in columns.split()[1:]}))


def _cases(options: TheoryOptions) -> Iterator[Facts]:
    return ({"kind": kind} for kind in KINDS)


@measurement("theory", TheoryOptions, columns=COLUMNS, cases=_cases, code=("ngo/theorems",))
def theory_table(options: TheoryOptions, kind: str) -> Table:
    r"""Measure what the theorems bound.

    Consensus times, delays and chatter floors for each --topologies, --workers and --p; convergence
    of SGD on least squares, where every constant of the theorems can be computed.

    The column kind of the table names the measurement of a row.

    Measure on rings, shortly:
      ngo theory --topologies ring --p 0.75 --steps 100 --repeats 2 --trials 2 \
        --trial-steps 100 --trial-repeats 2 --out theory.parquet
    """
    with one_intra_op_thread():
        return table_of(kind, options).assign(kind=kind)
