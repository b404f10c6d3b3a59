"""How long does a consensus step take: linear, with φ_p, and with each coupling?

``a copy`` copies the state of n workers with d numbers each, in one thread. ``GB/s`` are its bytes,
read and written, in a second of each way. With ``taskset 1`` a step has one thread, too.
"""

from functools import partial

import torch
from common import compare, options, show, torch_stream

from ngo.common.registries import COUPLINGS, TOPOLOGIES
from ngo.gossip.gossip_step import gossip_step
from ngo.native import threads
from ngo.training.spec_checks import resolve

GAMMA, P = 0.1, 0.9
RUN = {"dataset": "digits", "method": "ngo", "lr": 0.1}
# The graph, n and d: the models of MNIST and ResNet-18, and many workers with a small model.
CASES = (
    *(("ring", 10, 21_840), ("complete", 10, 21_840), ("ring", 10, 11_279_112)),
    *(("ring", 10, 1_000_000), ("random", 64, 21_840), ("complete", 64, 21_840)),
    *(("ring", 1000, 100), ("ring", 10_000, 100), ("alternating_matching", 10_000, 100)),
)


def main() -> None:
    """Print a table of each case."""
    args = options(__doc__)
    spread = threads.threads() if args.device == "cpu" else threads.in_order
    torch.set_num_threads(1)
    for graph, n, d in CASES[:1] if args.quick else CASES:
        X = torch.randn(n, d, generator=torch_stream(0, "state")).to(args.device)
        drawn = torch_stream(0, "graph")
        W, out = TOPOLOGIES[graph].matrix(n, t=0, u=0.4, generator=drawn), torch.empty_like(X)
        how = {"out": out, "spread": spread}
        ways = {"a copy": partial(out.copy_, X)}
        for p in (1, P):
            ways[f"p = {p}"] = partial(gossip_step, X, W, GAMMA, p, **how)
        for name in (name for name in COUPLINGS if name != "implicit" or "matching" in graph):
            run = resolve({**RUN, "topology": graph, "coupling": name})
            ways[name] = partial(COUPLINGS[name].step, X, W, GAMMA, run, **how)
        rows = compare(ways, "a copy", args, graph=graph, n=n, d=d)
        show([{**row, "GB/s": 8e-6 * n * d / row["ms"]} for row in rows])


if __name__ == "__main__":
    main()
