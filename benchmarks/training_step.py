"""How long is a training step with each method, coupling, compression, graph, rule, attack?"""

import argparse

from common import compare, entries, options, show, stepper


def beside_ngo(args: argparse.Namespace) -> None:
    """Print a table of two models: each method, coupling, compression, graph, rule and attack."""
    for model in ("mnist_cnn", "mnist_fc"):
        ways = {"ngo": stepper(model, 10, 32, device=args.device).advance}
        tried = [entry for entry in entries() if "clock" not in entry[2]]
        for kind, name, fields in tried[:: 15 if args.quick else 1]:
            how = {"workers": 10, "batch_size": 32, "device": args.device, **fields}
            ways[f"{kind}: {name}"] = stepper(model, **how).advance
        show(compare(ways, "ngo", args, model=model))


if __name__ == "__main__":
    beside_ngo(options(__doc__))
