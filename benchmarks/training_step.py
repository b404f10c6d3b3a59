"""How long does a training step take, beside plain PyTorch, and with each method, coupling, …?

``one model`` takes a step on one batch of all n·b samples, ``in turn`` a step of n models one after
another; both use all of torch's threads.
"""

import argparse

from common import compare, entries, options, plain, show, stepper, times

CASES = (
    ("mnist_cnn", 10, 32),
    ("mnist_cnn", 64, 32),
    ("mnist_cnn", 10, 8),
    ("cifar10_cnn", 10, 32),
)


def beside_pytorch(args: argparse.Namespace) -> None:
    """Print a table of each case; ways to take a step with as many samples."""
    backends = ("loop", "vmap", "threads" if args.device == "cpu" else "graphs", "auto")
    for model, n, b in CASES[:1] if args.quick else CASES:
        case = {"model": model, "n": n, "b": b}
        ways = {"one model": plain(model, 1, n * b, args.device)}
        ways["in turn"] = plain(model, n, b, args.device)
        if args.device == "cuda":
            ways["one model, torch.compile"] = plain(model, 1, n * b, args.device, compiled=True)
        for backend in backends[-1:] if args.quick else backends:
            ways[f"ngo, {backend}"] = stepper(**case, device=args.device, backend=backend).advance
        ways["complete graph"] = stepper(**case, device=args.device, topology="complete").advance
        seconds = times(ways, args)
        show([
            {**case, "way": way, "samples a second": n * b / taken,
             "time, of one model's": taken / seconds["one model"]}
            for way, taken in seconds.items()
        ])  # fmt: skip


def beside_ngo(args: argparse.Namespace) -> None:
    """Print a table of two models: each method, coupling, compression, graph, rule and attack."""
    for model in ("mnist_cnn", "mnist_fc"):
        ways = {"ngo": stepper(model, 10, 32, args.device).advance}
        tried = [entry for entry in entries() if "clock" not in entry[2]]
        for kind, name, fields in tried[:: 15 if args.quick else 1]:
            size = {"n": fields.pop("workers", 10), "b": fields.pop("batch_size", 32)}
            ways[f"{kind}: {name}"] = stepper(model, **size, device=args.device, **fields).advance
        show(compare(ways, "ngo", args, model=model))


if __name__ == "__main__":
    given = options(__doc__)
    beside_pytorch(given)
    beside_ngo(given)
