"""What a card gives and costs: equality, samples a second, memory, workers, Table 1, a profile.

It starts where torch, numpy, pyyaml, pyarrow, filelock and networkx are, and installs nothing. A
row is written as it is measured; one that fails has its error, and one for which the time of its
part is over is named. All take 8 minutes on a card, and 5 with ``--device cpu``, where sizes are
smaller. The exit status is 1 if something differs by more than rounding, else 2 if something could
not be measured; the first lines of ``--out`` say so.
MNIST's files are read below ``--data``, in torchvision's layout; without it, images are random.
"""

import itertools
import math
import os
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("torch", "numpy", "yaml", "pyarrow", "filelock", "networkx")
if missing := [name for name in NEEDED if find_spec(name) is None]:
    print("gpu_check.py needs what is not installed here:", *missing)
    sys.exit(2)
if not all(map(find_spec, ("ziglang", "platformdirs"))):
    os.environ.setdefault("NGO_MARCH", "none")  # no compiler for the kernels of a CPU
sys.path.insert(0, str(ROOT / "src"))

import common
import numpy as np
import torch
import yaml
from common import SMALL, Report, free, learning, options, plain, timed
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from ngo import UserError, reference
from ngo.common.devices import set_float32
from ngo.common.registries import DATASETS, MODELS
from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.engine.population import Stack
from ngo.gossip.card_graphs import CardGraphs
from ngo.gossip.gossip_step import gossip_step
from ngo.models.layers import ConvPoolReLU2d
from ngo.models.model import Model
from ngo.native.build import available
from ngo.native.card_streams import CardStreams
from ngo.pipeline.experiments import training_runs
from ngo.training.lockstep import Lockstep, together
from ngo.training.run import Training, turns
from ngo.training.run_folder import processor
from ngo.training.spec_checks import draw
from verdicts.registry import in_a_line

CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())
DRIVER = "timeout 10 nvidia-smi --query-gpu=driver_version --format=csv,noheader"
N, B = 10, 32
#: What is timed, with the fields of the paper's runs.
TIMED = {
    "mnist_cnn": {},
    "cifar10_cnn": {"batch_size": 16, "augmentation": "crop_flip", "local_rule": "momentum"},
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
DRAWN_THERE = ("noise", "random_k", "qsgd", "random")
WITHOUT_DROPOUT = Model(
    lambda _: common.plain_model("mnist_cnn", dropout=False), (1, 28, 28), "classification"
)


def device(args):
    """The device, and the rate of a matrix product: its own limit."""
    yield {"what": "device"}, lambda: {"value": args.name}
    yield {"what": "torch"}, lambda: {"value": torch.__version__}
    if args.cuda:
        yield {"what": "driver"}, lambda: {"value": os.popen(DRIVER).read().strip()}
    for name in ("fp32", "bf16", "tf32"):
        yield {"what": f"matrix product, {name}"}, partial(product, args, name)


def product(args, name):
    """The rate of a product of square matrices."""
    size = 256 if args.quick else 8192 if args.cuda else 1024
    kind = torch.bfloat16 if name == "bf16" else torch.float32
    a, b = torch.randn(2, size, size, device=args.device).to(kind)
    set_float32("tf32" if name == "tf32" else "ieee")
    args.limit[name] = 2 * size**3 / timed(partial(torch.matmul, a, b), args)[0]
    set_float32("ieee")
    return {"value": f"{args.limit[name] / 1e12:.3g} TFLOP/s"}


def begun(device, model=WITHOUT_DROPOUT, **values):
    """A training of 20 steps, evaluated after each fifth, on random images."""
    given = {"epochs": 5.0, "eval_every": 1.25, "workers": N, "batch_size": 8, **values}
    return Training(*learning(model, device=device, **given))


def metrics(training):
    """Losses and V of a training, evaluation by evaluation."""
    training.proceed()
    return np.array([[row.consensus_loss, row.V] for row in training.rows])


def difference(ours, theirs):
    """The largest difference, as a share of the largest number in its column."""
    return float((abs(ours - theirs) / abs(theirs).max(0).clip(1e-9)).max())


def trained(device, *model, **values):
    """The metrics of such a training."""
    return metrics(begun(device, *model, **values))


def resumed(device, **values):
    """Those of one that is stopped at half of its steps, and goes on in another object."""
    half = begun(device, **values)
    list(itertools.islice(half.turns(), 11))
    rest = begun(device, backend=half.population.backend, **values)
    rest.load_state_dict(half.state_dict())
    return metrics(rest)


def in_lockstep(device, model, count, fits, on_purpose=True, **values):
    """Seeds in lockstep, against each alone; at most as many as fit train together.

    More fail ``on_purpose``, or by themselves, and the width is halved.
    """
    gradients, ends, found = Stack.gradients, {}, []

    def failing(stack, batches):
        if on_purpose and stack.runs > fits:
            raise torch.OutOfMemoryError("on purpose")
        return gradients(stack, batches)

    def start(seed, signals):
        ends[seed] = begun(device, model, seed=seed, **values)
        for _ in ends[seed].turns():
            yield ends[seed]

    runs = {seed: learning(model, N, 8, seed=seed)[0] for seed in range(count)}
    for width in (count, 1):
        with mock.patch.object(Stack, "gradients", failing):
            together({run: partial(start, seed) for seed, run in runs.items()}, width, _raise)
        found.append(np.concatenate([metrics(ends[seed]) for seed in runs]))
        if ends[0].width != min(width, fits):
            raise RuntimeError(f"{ends[0].width} runs train together, and {fits} should")
    return {"is": difference(*found)}


def apart(ours, theirs):
    """By how much the results of two functions differ."""
    return {"is": difference(ours(), theirs())}


def equality(args):
    """Kernels, the device, runs in lockstep, backends, resumption, each entry."""
    at = args.device
    for p in (0.5, 0.75, 0.95, 1):
        yield {"what": "kernel − reference", "case": f"p = {p}"}, partial(kernel, at, p)
    for case, what in (("random numbers", drawn), ("random graphs", graphs)):
        pair = (partial(what, place) for place in (at, "cpu"))
        yield {"what": "device − CPU", "case": case}, partial(apart, *pair)
    for method in ({"method": "ngo", "p": 0.75}, {"method": "local_sgd", "local_steps": 4}):
        name, whole = method["method"], partial(trained, at, **method)
        for steps in (1, 20):
            length = {"epochs": steps / 4, "eval_every": steps / 16}
            pair = (partial(trained, place, **method, **length) for place in (at, "cpu"))
            yield {"what": "device − CPU", "case": f"{name}, {steps} steps"}, partial(apart, *pair)
        again = partial(resumed, at, **method)
        yield {"what": "resumed − whole", "case": name}, partial(apart, again, whole)
    whole = {} if args.cuda or available() else {"backend": "vmap"}  # which takes runs together
    for count, fits in ((3, 3), (4, 1)):
        case = {"what": "lockstep − alone", "case": f"{count} seeds, {fits} fit"}
        yield case, partial(in_lockstep, at, "mnist_cnn", count, fits, topology="random", **whole)
    loop = partial(trained, at, "mnist_cnn", backend="loop")
    for backend in ("graphs", "vmap") if args.cuda else ("compiled", "vmap")[not available() :]:
        pair = partial(trained, at, "mnist_cnn", backend=backend), loop
        yield {"what": "backend − loop", "case": backend}, partial(apart, *pair)
    yield {"what": "models together − alone", "case": ""}, partial(evaluated, at)
    for backend in ("graphs", "vmap") if args.cuda else ():
        yield {"what": "waits for the card", "case": backend}, partial(waits, at, backend)
    every = 40 if args.quick else 1 if args.cuda else 8
    for kind, name, fields in list(common.entries())[::every]:
        case = {"what": "device − CPU", "case": f"{kind} {name}"}
        yield case, partial(entry, at, name, {**fields, "epochs": 1.0})


def kernel(device, p):
    """The gossip step against the slow reference."""
    X = torch.randn(N, 1000, generator=torch_stream(0, "X"))
    W = reference.mixing_matrix(N, reference.ring(N))
    new = gossip_step(X.to(device), torch.from_numpy(W), 0.2, p).cpu().numpy()
    return {"is": difference(new, X.numpy() + 0.2 * reference.pulls(X.double().numpy(), W, p))}


def drawn(device):
    """Numbers of workers' streams on a card."""
    return CardStreams.of(0, "noise", range(N), device).uniform((2000,)).cpu().numpy()


def graphs(device):
    """Mixing matrices of random graphs on a card."""
    run = SimpleNamespace(seed=0, workers=N, u=0.4, weights="metropolis")
    return CardGraphs(run, torch.device(device)).at(0).there[0].cpu().numpy()


def evaluated(device):
    """The scores of several models by vmap, against those of one after another."""
    one = begun(device, "mnist_cnn", initialization="by_worker").population
    data = learning("mnist_cnn", N, 8, device=device)[1].test
    consensus, *modules = one.models()
    together = torch.tensor(one.batched_sums(consensus, [0, 1], *data))
    alone = torch.tensor(one.module_sums([consensus, *modules[:2]], *data))
    return {"is": difference(together.numpy(), alone.numpy())}


def waits(device, backend):
    """An error if the host waits for the card within a step."""
    count, graph = 1 if backend == "graphs" else 3, {"topology": "random"}
    step = seeds(count, device, "mnist_cnn", backend=backend, **graph)
    step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return {"is": 0.0}


def entry(device, name, fields):
    """An entry of a registry on the device and on the CPU."""
    try:
        ours, cpu = (trained(at, **fields) for at in (device, "cpu"))
    except UserError as error:
        return {"is": str(error)[:60]}
    return {"is": "draws on the device" if name in DRAWN_THERE else difference(ours, cpu)}


def seeds(count, device, model, lockstep=True, patches=True, **fields):
    """A step of as many runs of ten workers."""
    sizes = {"workers": N, "batch_size": B, "batches": 50, **fields}
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
    for model, fields in list(TIMED.items())[: 1 if args.quick else 4 if args.cuda else 3]:
        b = fields.get("batch_size", B)
        ours = partial(seeds, device=args.device, model=model, **fields)
        ways = {"plain PyTorch": (b, partial(plain, model, 1, b, args.device))}
        widths = (10, 1, 5) if model == "resnet18" else (10, 1, 5, 50)
        for width in widths if args.cuda else (1, 5):
            ways[f"{width} seeds"] = width * N * b, partial(ours, width)
        if args.cuda:
            for name, how in OTHER_WAYS.items():
                ways[f"10 seeds, {name}"] = 10 * N * b, partial(ours, 10, **how)
            ways["torch.compile"] = b, partial(plain, model, 1, b, args.device, compiled=True)
        ways["5 seeds, in turn"] = 5 * N * b, partial(ours, 5, lockstep=False)
        for way, (samples, make) in ways.items():
            yield {"model": model, "way": way}, partial(rate, args, model, way, samples, make)


def rate(args, model, way, samples, make):
    """Samples a second of a way to train, whose step ``make`` makes."""
    try:
        seconds, host = timed(make(), args)
    finally:
        ConvPoolReLU2d.patches = True
    if way == "plain PyTorch":
        with FlopCounterMode(display=False) as counter:
            make()()
        args.plain[model] = samples / seconds, counter.get_total_flops() / samples
    elif way.endswith("seeds"):
        args.rates[model] = max(samples / seconds, args.rates.get(model, 0))
    if way == "10 seeds":
        args.memory[model] = peak(args)
    beside, flops = args.plain.get(model, (math.nan, math.nan))
    found = {"samples a second": (speed := samples / seconds), "of plain's": speed / beside}
    found |= {"of the fp32 limit": speed * flops / args.limit.get("fp32", math.nan)}
    return {**found, "ms of the host": 1e3 * host, "GB": peak(args)}


def peak(args):
    """The most GB of a card that this row took."""
    return torch.cuda.max_memory_allocated() / 1e9 if args.cuda else "–"


def memory(args):
    """Eight runs with half more memory than two need: do two train together, as they do alone?"""
    for model in ("mnist_cnn", "resnet18")[: 1 if args.quick else 2] if args.cuda else ():
        yield {"model": model}, partial(halved, args, model)


def halved(args, model):
    """Eight runs in a part of the card's memory."""
    runs, total = partial(in_lockstep, args.device, model, epochs=0.5), torch.cuda.mem_get_info()[1]
    runs(2, 2)
    most = 1.5 * torch.cuda.max_memory_reserved()
    free(args)
    torch.cuda.set_per_process_memory_fraction(min(most / total, 1.0))
    try:
        return {"GB allowed": most / 1e9, **runs(8, 2, on_purpose=False)}
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def workers(args):
    """Steps of a network of 100 parameters, with batches of 8; memory."""
    for n in (10,) if args.quick else (10, 100, 1000, 10_000):
        yield {"n": n}, partial(network, args, n)


def network(args, n):
    """A step of n workers."""
    seconds, host = timed(seeds(1, args.device, SMALL, workers=n, batch_size=8), args)
    return {"ms of a step": 1e3 * seconds, "ms of the host": 1e3 * host, "GB": peak(args)}


def runs_of(experiment):
    """The settings of an experiment of the paper, each with a run for each cell."""
    cells = {}
    entry = {**CONFIG["training"][experiment], "seeds": 1}
    for spec, setting in training_runs(experiment, CONFIG, entry).items():
        cells.setdefault(setting, []).append(spec)
    return cells.items()


def images(name, args):
    """The data set on the device; random images where its files are not at hand."""
    if name == "mnist" and args.data:
        return loading.load(name, args.data, args.device)
    source = DATASETS[name]
    sizes = (source.train_samples, 100 if args.quick else 10_000)
    return common.random_data(name, source.input_shape, sizes, args.device)


def table1(args):
    """NGO on a ring, shortened, in each setting of two halves; 28 cells of such, with 5 seeds."""
    for setting, cells in list(runs_of("table1"))[: 1 if args.quick else 4]:
        yield {"setting": setting}, partial(shortened, args, cells)
    yield {"setting": "both halves"}, lambda: {"minutes of all": sum(args.minutes)}


def shortened(args, cells):
    """The seconds of a cell, of which a part is trained, and what all cells would take."""
    most = 400 if args.quick else 600_000 if args.cuda else 40_000
    count = 5 if args.cuda else 1  # on a CPU, one after another
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
    args.minutes.append(seconds * factor * len(cells) * 5 / count / 60)
    done = {"of its length": 1 / factor, "seconds": seconds}
    done |= {"samples a second": count * ring.samples / factor / seconds}
    return {**done, "cells": len(cells), "minutes of all": args.minutes[-1]}


def _raise(spec, error):
    raise error


def estimate(args):
    """What Tables 1 and S2 take with all seeds of the paper's tier, by the samples a second."""
    for experiment in ("table1", "tableS2", "tableS2_codes", "tableS2_codes_likeliest"):
        for setting, cells in list(runs_of(experiment))[: 1 if args.quick else None]:
            yield {"experiment": experiment, "setting": setting}, partial(cost, args, cells)


def cost(args, cells):
    """The time and the memory of these cells."""
    spec, runs = cells[0], len(cells) * CONFIG["seeds"]
    model = spec.model.removesuffix("_20")
    rate, samples = args.rates.get(model), runs * spec.samples
    found = {"model": spec.model, "cells": len(cells), "runs": runs}
    found |= {"million samples": samples / 1e6, "minutes": samples / rate / 60 if rate else "–"}
    least = 10 * needed(spec) / 1e9
    return {**found, "GB, 10 seeds": args.memory.get(model, "–"), "at least": least}


def needed(spec):
    """The least bytes of a run without its data: three matrices, and twice all layers' outputs."""
    entry, outputs = MODELS[spec.model], []
    module = entry.build(torch.Generator()).eval()
    for layer in module.modules():
        layer.register_forward_hook(
            lambda _, inputs, output: outputs.append(getattr(output, "nbytes", 0))
        )
    with torch.no_grad():
        module(torch.zeros(1, *entry.input_shape))
    numbers = sum(map(torch.numel, module.parameters()))
    return spec.workers * (3 * 4 * numbers + 2 * spec.batch_size * sum(outputs))


def kernels(args):
    """The five operations that take most of the time of a step of 10 seeds; the gaps between."""
    count = 1 if args.quick else 10
    make = partial(seeds, count, args.device, "mnist_cnn")
    yield {"seeds": count}, lambda: profiled(args, make())


def profiled(args, step):
    """Shares of the time."""
    for _ in range(3):
        step()
    card = [ProfilerActivity.CUDA] if args.cuda else []
    with profile(activities=[ProfilerActivity.CPU, *card]) as made:
        began = time.perf_counter()
        for _ in range(5):
            step()
        if args.cuda:
            torch.cuda.synchronize()
        whole = (time.perf_counter() - began) * 1e6

    taken, events = f"self_{'device' if args.cuda else 'cpu'}_time_total", made.key_averages()
    own = [event for event in events if event.device_type.name == ("CUDA" if args.cuda else "CPU")]
    own.sort(key=attrgetter(taken), reverse=True)
    shares = [(event.key[:60], getattr(event, taken) / whole) for event in own]
    return {**dict(shares[:5]), "gaps": 1 - sum(share for _, share in shares)}


#: The parts, and the seconds after which no row of one begins.
BUDGETS = {device: 20, equality: 130, speed: 150, memory: 50, workers: 30, table1: 60}
BUDGETS |= {estimate: 10, kernels: 20}
UNFINISHED = "This run has not ended."
VERDICTS = ("Nothing differs.", "SOMETHING DIFFERS.", "Nothing differs; not all was measured.")
SO_FAR = "GPU_CHECK_STATUS"  # of a process whose card failed, for the next one


def take(part, args):
    """Write the rows of a part, each as it is measured; whether the card still answers."""
    began = time.perf_counter()
    args.report.tell(f"\n## {part.__name__}\n\n{part.__doc__}\n")
    for row, measure in part(args):
        late = not args.quick and time.perf_counter() - began > args.budgets[part]
        try:
            row |= {"error": "skipped: the time of the part is over"} if late else measure()
        except Exception as error:
            row |= {"error": f"{type(error).__name__}: {in_a_line(error)[:150]}"}
        args.report.row(row)
        if isinstance(row.get("is"), float) and not row["is"] < 1e-3:
            args.status = 1
        elif "error" in row:
            args.status = args.status or 2
        if not free(args):
            return False
    args.report.tell(f"\n{time.perf_counter() - began:.0f} seconds.\n")
    return True


def main(budgets=BUDGETS, description=__doc__) -> int:
    """Write the parts; 1 if something differs, 2 if something could not be measured."""
    parts = {part.__name__: part for part in budgets}
    paths = {"data": "the folder of MNIST's files", "out": "a file for the tables"}
    args = options(description, "cuda", list(parts), **paths)
    args.budgets = budgets
    args.status, args.minutes = int(os.environ.get(SO_FAR, 0)), []
    args.limit, args.plain, args.rates, args.memory = {}, {}, {}, {}
    args.name = torch.cuda.get_device_name() if args.cuda else processor()
    args.report = Report(args.out)
    if SO_FAR not in os.environ:
        if args.out:
            args.out.write_text("")
        args.report.tell(f"# {args.name}\n\n{UNFINISHED}\n")
    for k, name in enumerate(args.parts, 1):
        if not take(parts[name], args) and args.parts[k:]:  # goes on in another process
            os.environ[SO_FAR] = str(args.status)
            os.execv(sys.executable, [sys.executable, *sys.argv, "--parts", *args.parts[k:]])
    args.report.tell(f"\n{VERDICTS[args.status]}\n")
    if args.out:
        args.out.write_text(args.out.read_text().replace(UNFINISHED, VERDICTS[args.status]))
    return args.status


if __name__ == "__main__":
    sys.exit(main())
