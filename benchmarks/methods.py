"""How long does a step take with each method, coupling, compression, graph, rule and attack?"""

from common import entries, options, show, stepper, times


def main() -> None:
    """Print a table of each model."""
    args = options(__doc__)
    for model in ("mnist_cnn", "mnist_fc"):
        ways = {"method: ngo": stepper(model, 10, 32, args.device).advance}
        tried = [entry for entry in entries() if "clock" not in entry[2]]
        for kind, name, fields in tried[:: 15 if args.quick else 1]:
            size = {"n": fields.pop("workers", 10), "b": fields.pop("batch_size", 32)}
            ways[f"{kind}: {name}"] = stepper(model, **size, device=args.device, **fields).advance
        seconds = times(ways, args)
        show([
            {"model": model, "way": way, "ms": 1e3 * taken,
             "of ngo's": taken / seconds["method: ngo"]}
            for way, taken in seconds.items()
        ])  # fmt: skip


if __name__ == "__main__":
    main()
