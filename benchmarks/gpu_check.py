"""Does the package give the same on a card as on the CPU?

``--device cpu`` compares the CPU with itself. The exit status is 1 if something differs by more
than rounding. ``training_step.py`` and ``consensus.py`` measure speed on a card. None of them needs
an installation: PYTHONPATH=src, with NGO_MARCH=none where ziglang is missing.
"""

import sys
import tempfile
import warnings

import torch
from common import entries, options, plain_model, show, torch_stream

import ngo

# What draws on the device, whose numbers are others than the CPU's.
DRAWN_THERE = ("noise", "random_k", "qsgd")


def trained(device: str, steps: int, **values: object):
    """The metrics of MNIST's CNN without dropout, on images with some structure."""
    n = values.setdefault("workers", 10)
    generator = torch_stream(0, "images")
    targets = torch.randint(10, (n * 64,), generator=generator)
    inputs = torch.randn(10, 1, 28, 28, generator=generator)[targets]
    inputs = inputs + torch.randn(len(targets), 1, 28, 28, generator=generator)
    values = {"batch_size": 16, "eval_every": 1.0, "lr": 0.05, **values}
    values["epochs"] = steps * values["batch_size"] / 64
    data = (inputs, targets), (inputs[:200], targets[:200])
    run = ngo.fit(lambda: plain_model("mnist_cnn", dropout=False), *data, device=device,
                  progress=False, **values)  # fmt: skip
    return run.metrics.astype({"step": float}).set_index("step")[["consensus_loss", "V"]]


def equality(args):
    """Twenty steps on the device and on the CPU; and a run that was stopped and resumed."""

    def stop(state) -> None:
        if state.step == 10:
            raise StopIteration

    for method, more in (("ngo", {"p": 0.75}), ("local_sgd", {"local_steps": 4})):
        run = {"method": method, **more}
        ours, cpu = (trained(device, 20, **run) for device in (args.device, "cpu"))
        with tempfile.TemporaryDirectory() as out:
            trained(args.device, 20, **run, out=out, on_step=stop)
            resumed = trained(args.device, 20, **run, out=out)
        scale = cpu.abs().max().clip(lower=1e-9)
        apart = {"device − CPU": ours - cpu, "resumed − whole": ours - resumed}
        yield {"method": method} | {k: (v.abs().max() / scale).max() for k, v in apart.items()}


def each_entry(args):
    """Each method, coupling, … for four steps on the device and on the CPU."""
    for kind, name, fields in list(entries())[:: 30 if args.quick else 1]:
        row = {"kind": kind, "name": name}
        try:
            ours, cpu = (trained(at, 4, **fields) for at in (args.device, "cpu"))
            yield {**row, "device − CPU": abs(ours / cpu - 1)["consensus_loss"].max()}
        except ngo.UserError as error:
            yield {**row, "not tried": str(error)[:100]}


def main() -> int:
    """Print a table of each part; 1 if something differs."""
    args = options(__doc__, "cuda")
    warnings.simplefilter("ignore", RuntimeWarning)  # of runs that were stopped
    apart = []
    for part in (equality, each_entry):
        rows = list(part(args))
        show(rows)
        apart += [row for row in rows if row.get("name") not in DRAWN_THERE
                  and any(not row[key] < 1e-3 for key in row if " − " in key)]  # fmt: skip
    return int(bool(apart))


if __name__ == "__main__":
    sys.exit(main())
