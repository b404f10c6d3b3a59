"""What a card gives and costs: its limit, equality, samples a second, workers, Table 1, a profile.

It keeps to some 8 minutes on a card and to 5 with ``--device cpu``, where sizes are smaller. The
exit status is 1 if something differs by more than rounding. It needs no installation:
PYTHONPATH=src with torch, pyyaml, pyarrow, filelock and networkx, and NGO_MARCH=none where ziglang
is missing.
MNIST's files are read below ``--data``, in torchvision's layout; without it, images are random.
"""

import itertools
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path

import numpy as np
import torch
import yaml
from common import (
    SMALL,
    entries,
    learning,
    options,
    plain,
    plain_model,
    random_data,
    table,
    times,
    torch_stream,
)
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from ngo import UserError, reference
from ngo.common.devices import float32_parts
from ngo.common.registries import DATASETS
from ngo.data import loading
from ngo.gossip.gossip_step import gossip_step
from ngo.models.layers import ConvPoolReLU2d
from ngo.models.model import Model
from ngo.training.lockstep import Lockstep, together
from ngo.training.run import Training, turns
from ngo.training.run_folder import processor
from ngo.training.spec_checks import draw, resolve

CONFIG = yaml.safe_load((Path(__file__).parents[1] / "config/config.yaml").read_text())
N, B = 10, 32
#: What is timed, with the fields of the paper's runs.
TIMED = {
    "mnist_cnn": {},
    "cifar10_cnn": {"b": 16, "augmentation": "crop_flip", "local_rule": "momentum"},
    "mnist_vae": {"local_rule": "adam", "lr": 0.001},
    "resnet18": {},
}
# Other ways to train on a card.
OTHER_WAYS = {
    "tf32": {"precision": "tf32"},
    "bfloat16": {"precision": "bfloat16"},
    "grouped convolutions": {"patches": False},
    "a graph a worker": {"backend": "graphs"},
}
# What draws on the device, whose numbers are others than the CPU's.
DRAWN_THERE = ("noise", "random_k", "qsgd")
WITHOUT_DROPOUT = Model(
    lambda _: plain_model("mnist_cnn", dropout=False), (1, 28, 28), "classification"
)


def device(args):
    """The device, and the rate of a matrix product: its own limit."""
    facts = {"device": processor(), "torch": torch.__version__}
    if args.cuda:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, capture_output=True, text=True).stdout.strip()
        facts |= {"device": torch.cuda.get_device_name(), "driver": driver}
    yield from ({"what": name, "value": value} for name, value in facts.items())
    size = 256 if args.quick else 8192 if args.cuda else 1024
    products = {"fp32": (torch.float32, "ieee"), "bf16": (torch.bfloat16, "ieee")}
    for name, (dtype, precision) in (products | {"tf32": (torch.float32, "tf32")}).items():
        a, b = torch.randn(2, size, size, device=args.device).to(dtype)
        for part in float32_parts() if args.cuda else ():
            part.fp32_precision = precision
        rate = 2 * size**3 / times({name: partial(torch.matmul, a, b)}, args, 1)[name]
        args.limit[name] = rate
        yield {"what": f"matrix product, {name}", "value": f"{rate / 1e12:.3g} TFLOP/s"}
    for part in float32_parts() if args.cuda else ():
        part.fp32_precision = "ieee"


def begun(device, model=WITHOUT_DROPOUT, **values):
    """A training of 20 steps, evaluated after each fifth, on random images."""
    given = {"epochs": 5.0, "eval_every": 1.25, "n": N, "b": 8, **values}
    for name, field in (("n", "workers"), ("b", "batch_size")):
        given[name] = given.pop(field, given[name])
    return Training(*learning(model, device=device, **given))


def together_trained(trainings):
    """Train to the end in lockstep; the metrics of each."""
    lockstep, running = Lockstep(), {training: training.turns() for training in trainings}
    while paused := [one for one, turn in running.items() if next(turn, one) is None]:
        if len(paused) > 1:
            lockstep.step(paused)
    return [metrics(training) for training in trainings]


def metrics(training):
    """Losses and V of a training, evaluation by evaluation."""
    training.proceed()
    return np.array([[row.consensus_loss, row.V] for row in training.rows])


def difference(ours, theirs):
    """The largest difference, as a share of the largest number in its column."""
    return float((abs(ours - theirs) / abs(theirs).max(0).clip(1e-9)).max())


def equality(args):
    """Kernels, the device, runs in lockstep, backends, resumption, each entry."""
    X = torch.randn(N, 1000, generator=torch_stream(0, "X"))
    W = reference.mixing_matrix(N, reference.ring(N))
    for p in (0.5, 0.75, 0.95, 1):
        new = gossip_step(X.to(args.device), torch.from_numpy(W), 0.2, p).cpu().numpy()
        expected = X.numpy() + 0.2 * reference.pulls(X.double().numpy(), W, p)
        yield {"what": "kernel − reference", "case": f"p = {p}", "is": difference(new, expected)}
    for method in ({"method": "ngo", "p": 0.75}, {"method": "local_sgd", "local_steps": 4}):
        ours, cpu = (metrics(begun(at, **method)) for at in (args.device, "cpu"))
        case = {"case": method["method"]}
        yield {"what": "device − CPU", **case, "is": difference(ours, cpu)}
        half = begun(args.device, **method)
        list(itertools.islice(half.turns(), 11))
        resumed = begun(args.device, backend=half.population.backend, **method)
        resumed.load_state_dict(half.state_dict())
        yield {"what": "resumed − whole", **case, "is": difference(metrics(resumed), ours)}
    alike = [{"model": "mnist_cnn", "seed": seed, "topology": "random"} for seed in range(3)]
    stacked = together_trained([begun(args.device, **values) for values in alike])
    for values, rows in zip(alike, stacked, strict=True):
        alone = metrics(begun(args.device, **values))
        case = {"case": f"seed {values['seed']}"}
        yield {"what": "lockstep − alone", **case, "is": difference(rows, alone)}
    eager = metrics(begun(args.device, "mnist_cnn", backend="loop"))
    for backend in ("graphs", "vmap") if args.cuda else ("compiled", "vmap"):
        rows = metrics(begun(args.device, "mnist_cnn", backend=backend))
        yield {"what": "backend − loop", "case": backend, "is": difference(rows, eager)}
    one = begun(args.device, "mnist_cnn", initialization="by_worker").population
    data = learning("mnist_cnn", N, 8, device=args.device)[1].test
    consensus, *modules = one.models()
    apart = torch.tensor(one.batched_sums(consensus, [2, 5], *data))
    expected = torch.tensor(one.module_sums([consensus, modules[2], modules[5]], *data))
    yield {"what": "models together − alone", "is": difference(apart.numpy(), expected.numpy())}
    if args.cuda:
        step = seeds(3, args.device, "mnist_cnn")
        step()
        torch.cuda.set_sync_debug_mode("error")  # an error where the host waits for the card
        step()
        torch.cuda.set_sync_debug_mode("default")
    for kind, name, fields in list(entries())[:: 40 if args.quick else 1 if args.cuda else 8]:
        case = {"what": "device − CPU", "case": f"{kind} {name}"}
        try:
            ours, cpu = (metrics(begun(at, **fields, epochs=1.0)) for at in (args.device, "cpu"))
            yield {**case, "is": math.nan if name in DRAWN_THERE else difference(ours, cpu)}
        except UserError as error:
            yield {**case, "is": str(error)[:60]}


def seeds(count, device, model, lockstep=True, patches=True, **fields):
    """A step of as many runs of ten workers."""
    sizes = {"n": N, "b": B, "batches": 50, **fields}
    spec, problem = learning(model, device=device, **sizes)
    trainings = [Training(replace(spec, seed=k), problem) for k in range(count)]
    shared = Lockstep()

    def step():
        ConvPoolReLU2d.patches = patches
        if lockstep and count > 1:
            shared.step(trainings)
        for training in trainings:
            training.stepper.advance()

    return step


def speed(args):
    """Samples a second beside plain PyTorch with the batch of a worker; FLOPs beside the limit."""
    for model, fields in itertools.islice(
        TIMED.items(), 1 if args.quick else 4 if args.cuda else 3
    ):
        b = fields.get("b", B)
        widths = (1, 5, 10) if model == "resnet18" else (1, 5, 10, 50) if args.cuda else (1, 5)
        ways = {"plain PyTorch": (b, plain(model, 1, b, args.device))}
        if args.cuda:
            ways["torch.compile"] = (b, plain(model, 1, b, args.device, compiled=True))
        memory = {}
        ways_of = [(f"{width} seeds", width, {}) for width in widths]
        ways_of.append(("5 seeds, in turn", 5, {"lockstep": False}))
        if args.cuda:
            ways_of += [(f"10 seeds, {name}", 10, how) for name, how in OTHER_WAYS.items()]
        for way, width, how in ways_of:
            if args.cuda:
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
            step = seeds(width, args.device, model, **fields, **how)
            ways[way] = (width * N * b, step)
            if args.cuda:
                step()
                memory[way] = (torch.cuda.max_memory_allocated() - before) / 1e9
        with FlopCounterMode(display=False) as counter:
            plain(model, 1, b, args.device)()
        flops = counter.get_total_flops() / b
        seconds = times({way: step for way, (_, step) in ways.items()}, args, 2)
        rates = {way: size / seconds[way] for way, (size, _) in ways.items()}
        args.rates[model] = max(rates[f"{width} seeds"] for width in widths)
        args.memory[model] = memory.get("10 seeds", "–")
        for way, rate in rates.items():
            yield {
                "model": model,
                "way": way,
                "samples a second": rate,
                "of plain's": rate / rates["plain PyTorch"],
                "of the fp32 limit": rate * flops / args.limit["fp32"],
                "GB": memory.get(way, "–"),
            }


def workers(args):
    """Steps of a network of 100 parameters, with batches of 8; memory."""
    for n in (10,) if args.quick else (10, 100, 1000, 10_000):
        if args.cuda:
            torch.cuda.reset_peak_memory_stats()
        step = seeds(1, args.device, SMALL, n=n, b=8)
        ms = 1e3 * times({"step": step}, args, 1)["step"]
        peak = torch.cuda.max_memory_allocated() / 1e9 if args.cuda else "–"
        yield {"n": n, "ms of a step": ms, "GB": peak}


def runs_of(experiment):
    """The settings of an experiment of the paper, each with a run for each cell."""
    stated = CONFIG["training"][experiment]
    for setting in stated["settings"]:
        cells = []
        for case in stated["compare"]:
            lists = [value if isinstance(value, list) else [value] for value in case.values()]
            cells += [dict(zip(case, values, strict=True)) for values in itertools.product(*lists)]
        fields = CONFIG["defaults"] | CONFIG["settings"][setting]
        own = {key: value for key, value in fields.items() if key not in ("topology", "u")}
        yield setting, [resolve(cell, fields if "topology" in cell else own) for cell in cells]


def images(name, args):
    """The data set on the device; random images where its files are not at hand."""
    if name == "mnist" and args.data:
        return loading.load(name, args.data, args.device)
    source = DATASETS[name]
    sizes = (source.train_samples, 100 if args.quick else 10_000)
    return random_data(name, source.input_shape, sizes, args.device)


def table1(args):
    """NGO on a ring, shortened, in each setting of two halves; 28 cells of such, with 5 seeds."""
    total, most = 0.0, 400 if args.quick else 600_000 if args.cuda else 40_000
    count = 5 if args.cuda else 1  # on a CPU, one after another
    for setting, cells in list(runs_of("table1"))[: 1 if args.quick else 4]:
        (ring,) = (spec for spec in cells if (spec.method, spec.topology) == ("ngo", "ring"))
        factor = max(1, ring.samples / most)
        data = images(ring.dataset, args)
        values = {**ring.values(), "epochs": ring.epochs / factor}
        with tempfile.TemporaryDirectory() as folder:
            starts = {}
            for seed in range(count):
                spec = type(ring).of({**values, "seed": seed})
                how = {"parts": draw(spec, data.labels), "data": data, "device": args.device}
                start = partial(turns, spec, Path(folder, spec.id), Path(folder), **how)
                starts[spec] = partial(start, tell=lambda line: None)
            began = time.perf_counter()
            together(starts, count, _raise)
        seconds = time.perf_counter() - began
        total += (minutes := seconds * factor * len(cells) * 5 / count / 60)
        rate = {"samples a second": count * ring.samples / factor / seconds}
        row = {"setting": setting, "of its length": 1 / factor, "seconds": seconds, **rate}
        yield {**row, "cells": len(cells), "minutes of all": minutes}
    yield {"setting": "both halves", "minutes of all": total}


def _raise(spec, error):
    raise error


def estimate(args):
    """What Tables 1 and S2 take with all seeds of the paper's tier, by the samples a second."""
    for experiment in ("table1", "tableS2", "tableS2_codes"):
        for setting, cells in runs_of(experiment):
            spec, runs = cells[0], len(cells) * CONFIG["seeds"]
            model = spec.model.removesuffix("_20")
            rate = args.rates.get(model)
            yield {
                "experiment": experiment,
                "setting": setting,
                "model": spec.model,
                "cells": len(cells),
                "runs": runs,
                "million samples": runs * spec.samples / 1e6,
                "minutes": runs * spec.samples / rate / 60 if rate else "–",
                "GB, 10 seeds": args.memory.get(model, "–"),
                "at least": 10 * needed(spec) / 1e9,
            }


def needed(spec):
    """The least bytes of a run without its data: three matrices, and twice all layers' outputs."""
    sizes = {"n": spec.workers, "b": spec.batch_size, "local_rule": spec.local_rule}
    _, problem = learning(spec.model, **sizes)
    module, outputs = problem.model.build(torch.Generator()).eval(), []
    for layer in module.modules():
        layer.register_forward_hook(
            lambda _, inputs, output: outputs.append(getattr(output, "nbytes", 0))
        )
    with torch.no_grad():
        module(problem.test[0][0][:1].cpu())
    numbers = sum(map(torch.numel, module.parameters()))
    return spec.workers * (3 * 4 * numbers + 2 * spec.batch_size * sum(outputs))


def kernels(args):
    """The five operations that take most of the time of a step of 10 seeds; the gaps between."""
    step = seeds(1 if args.quick else 10, args.device, "mnist_cnn")
    for _ in range(3):
        step()
    card = [ProfilerActivity.CUDA] if args.cuda else []
    with profile(activities=[ProfilerActivity.CPU, *card]) as profiled:
        began = time.perf_counter()
        for _ in range(5):
            step()
        if args.cuda:
            torch.cuda.synchronize()
        whole = (time.perf_counter() - began) * 1e6

    taken = attrgetter(f"self_{'device' if args.cuda else 'cpu'}_time_total")
    events = sorted(profiled.key_averages(), key=taken, reverse=True)
    if args.cuda:
        events = [event for event in events if event.device_type.name == "CUDA"]
    for event in events[:5]:
        yield {"kernel": event.key[:60], "share of the time": taken(event) / whole}
    yield {"kernel": "gaps", "share of the time": 1 - sum(map(taken, events)) / whole}


PARTS = (device, equality, speed, workers, table1, estimate, kernels)


def main() -> int:
    """Print a table of each part, and write it to ``--out`` as it ends; 1 if something differs."""
    paths = {"data": "the folder of MNIST's files", "out": "a file for the tables"}
    args = options(__doc__, "cuda", **paths)
    args.cuda, args.limit, args.rates, args.memory = args.device == "cuda", {}, {}, {}
    began, wrong = time.perf_counter(), False
    if args.out:
        args.out.write_text(f"# {torch.cuda.get_device_name() if args.cuda else processor()}\n")
    for part in PARTS:
        rows = list(part(args))
        wrong |= any(isinstance(row.get("is"), float) and row["is"] >= 1e-3 for row in rows)
        text = f"\n## {part.__name__}\n\n{part.__doc__.split('    ')[0].strip()}\n\n{table(rows)}"
        text += f"\n{time.perf_counter() - began:.0f} seconds since the start.\n"
        print(text, flush=True)
        if args.out:
            with args.out.open("a") as file:
                file.write(text)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
