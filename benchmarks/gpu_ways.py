"""What a card says on how many models are trained at once: ways to take each part of a step.

It starts where ``gpu_check.py`` does, writes as it does, and takes 8 minutes on a card. Beside
what is measured stands what a model of kernels, bytes and operations says (``common.Work``).
"""

import itertools
import sys
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from unittest import mock

import gpu_check
import torch
from common import Work, random_data, timed
from gpu_check import peak
from torch.func import functional_call, grad, vmap

from ngo.common.devices import set_float32
from ngo.common.registries import MODELS
from ngo.common.seeding import torch_stream
from ngo.data.augmentation import crop_flip
from ngo.engine.backends import Stacked, backward
from ngo.engine.population import Population
from ngo.gossip.card_graphs import CardGraphs, joined
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.schedule import Mixing
from ngo.models.layers import ConvPoolReLU2d, replayed
from ngo.native import triton_kernels
from ngo.native.card_streams import CardStreams

#: Models, with their numbers of workers and the batch of one.
SIZES = {"mnist_cnn": (100, 32), "cifar10_cnn": (100, 16), "mnist_vae": (100, 32)}
SIZES |= {"resnet18": (10, 32)}
PRECISIONS = ("float32", "tf32", "bfloat16")


def captured(step, generators=()):
    """The step as a CUDA graph, to be replayed."""
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    for generator in generators:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph, stream=side):
        step()
    return graph.replay


def hows(args, step, generators=()):
    """How a step may be taken, eagerly and on a card as a graph: what makes each."""
    yield "eager", lambda: step
    if args.cuda:
        yield "graph", partial(captured, step, generators)


def measured(args, make, size=0):
    """Milliseconds of a step and of the host; GB a second of ``size`` bytes; memory."""
    seconds, host = timed(make(), args)
    found = {"ms": 1e3 * seconds, "ms of the host": 1e3 * host, "GB": peak(args)}
    return found | ({"GB a second": size / seconds / 1e9} if size else {})


def launches(args):
    """What a kernel costs, alone and in a graph of 500; 200 fills."""
    x = torch.zeros(1000, device=args.device)

    def fills(count):
        for _ in range(count):
            x.fill_(1)

    for count in (1, 200, 500):
        for way, make in hows(args, partial(fills, count)):
            yield {"kernels": count, "way": way}, partial(measured, args, make)


def workers_of(args, model, precision="float32", backend="loop"):
    """The workers of a model, and their batches on the device."""
    n, b = (2, 2) if args.quick else SIZES[model]
    entry = MODELS[model]
    them = Population(model, n, 0, device=args.device, backend=backend, precision=precision)
    inputs = torch.rand(n, b, *entry.input_shape, device=args.device)
    labels = torch.randint(10, (n, b), device=args.device)
    return them, Stacked(inputs, inputs.clone() if entry.task == "vae" else labels)


def by_backend(args, model, precision, backend):
    """The gradients by one of our backends."""
    them, batches = workers_of(args, model, precision, backend)
    return partial(them.gradients, batches), ()


def forked(args, model, precision, count):
    """All workers' passes in one graph, on ``count`` streams."""
    them, batches = workers_of(args, model, precision)
    sides, (inputs, targets) = [torch.cuda.Stream() for _ in range(count)], batches.all()

    def step():
        now = torch.cuda.current_stream()
        for side in sides:
            side.wait_stream(now)
        for i in range(them.n):
            with torch.cuda.stream(sides[i % count]):
                backward(them, i, inputs[i], targets[i])
        for side in sides:
            now.wait_stream(side)

    return step, them.generators


def inductor(args, model, mode):
    """``torch.compile`` of vmap, without random layers, within a graph of ours."""
    them, batches = workers_of(args, model)
    inputs, targets = batches.all()
    module, (rows,) = them.modules[0].eval(), them.views_of(them.X)

    def loss(models, x, y):
        with replayed(module, ()):
            return them.task.loss(functional_call(module, models, (x,)), y).mean()

    return partial(torch.compile(vmap(grad(loss)), mode=mode), rows, inputs, targets), ()


@contextmanager
def choices(precision, patches, tried):
    """How convolutions are taken."""
    ConvPoolReLU2d.patches, before = patches, ConvPoolReLU2d.patches
    torch.backends.cudnn.benchmark = tried
    set_float32("tf32" if precision == "tf32" else "ieee")
    try:
        yield
    finally:
        ConvPoolReLU2d.patches, torch.backends.cudnn.benchmark = before, False
        set_float32("ieee")


def gradients(args):
    """The gradients of all workers, by ways; what the model of kernels says of each."""
    names = list(SIZES)[: 1 if args.quick else 4 if args.cuda else 1]
    for model, precision in itertools.product(names, PRECISIONS if args.cuda else PRECISIONS[:1]):
        ours = partial(by_backend, args, model, precision)
        ways = {"vmap, patches": (partial(ours, "vmap"), True, False)}
        ways["vmap, grouped"] = partial(ours, "vmap"), False, False
        if args.cuda:
            ways["vmap, grouped, cudnn.benchmark"] = partial(ours, "vmap"), False, True
            ways["a graph a worker"] = partial(ours, "graphs"), True, False
            for count in (1, 8, 16, 32):
                make = partial(forked, args, model, precision, count)
                ways[f"one graph, {count} streams"] = make, True, False
        if args.cuda and precision == "float32" and model != "mnist_vae":
            for mode in ("default", "max-autotune-no-cudagraphs"):
                ways[f"compiled, {mode}"] = partial(inductor, args, model, mode), False, False
        for way, (make, *how) in ways.items():
            row = {"model": model, "precision": precision, "way": way}
            yield row, partial(passes, args, make, precision, *how)


def passes(args, make, precision, *how):
    """A way's time, beside that of the model of its kernels."""
    with choices(precision, *how):
        step, generators = make()
        ours = step.func.__name__ == "gradients" if isinstance(step, partial) else False
        if not (args.cuda and ours):  # else the first step is run twice, and captured
            step()
        with Work() as work:
            step()
        seconds = work.seconds / (2 if args.cuda and ours else 1)
        whole = captured(step, generators) if args.cuda and not ours else step
        found = measured(args, lambda: whole)
    return {**found, "kernels": work.kernels, "ms by the model": 1e3 * seconds}


def dropout(args):
    """Two masks of 100 workers: by a generator of each, for 64 steps at once, and as today."""
    n, size = (2, 8) if args.quick else (100, 32 * 20 + 32 * 50)
    masks = torch.empty(n, size, device=args.device)
    ahead = torch.empty(n, 64 * size, device=args.device)
    streams = [torch_stream(0, "dropout", i, args.device) for i in range(n)]
    counters = CardStreams.of(0, "noise", range(n), args.device)

    def drawn(rows):
        for row, stream in zip(rows, streams, strict=True):
            row.bernoulli_(0.5, generator=stream).div_(0.5)

    def counted():
        masks.copy_((counters.uniform((size,)) < 0.5) * 2)

    ways = {"a stream a worker": partial(drawn, masks), "all of 64 steps": partial(drawn, ahead)}
    for way, step in {**ways, "CardStreams": counted}.items():
        for how, make in hows(args, step, streams):
            yield {"way": way, "how": how}, partial(measured, args, make)


def update(args):
    """The gossip step of ten workers, beside a copy of as many numbers."""
    for d in (1000,) if args.quick else (21_840, 200_000, 2_000_000, 11_000_000):
        X = torch.randn(10, d, device=args.device)
        yield {"d": d, "way": "copy"}, partial(measured, args, lambda X=X: X.clone, 2 * X.nbytes)
        for topology, p in itertools.product(("ring", "complete"), (1.0, 0.75)):
            W = Mixing(topology, 10, None).at(0)
            step = partial(gossip_step, X, W, 0.2, p, out=torch.empty_like(X))
            for way in ("eager", "graph", "256 columns")[: 1 + 2 * args.cuda]:
                make = partial(captured, step) if way == "graph" else lambda step=step: step
                row = {"d": d, "way": f"{topology}, p = {p}, {way}"}
                yield row, partial(gossip, args, make, 2 * X.nbytes, way)


def gossip(args, make, size, way):
    """A way's time; a program of Triton's takes 1,024 columns, or 256."""
    with mock.patch.object(triton_kernels, "COLUMNS", 256 if way == "256 columns" else 1024):
        return measured(args, make, size)


def drawn_there(args):
    """Random graphs of 10 workers and windows of 100, drawn on the host and on the card."""
    runs, n, b = (2, 4, 2) if args.quick else (50, 10, 16)
    on, steps, like = args.device, itertools.count(), torch.zeros(1, device=args.device)
    fields = {"workers": n, "u": 0.5, "weights": "metropolis"}
    specs = [SimpleNamespace(seed=seed, **fields) for seed in range(runs)]
    host = [Mixing("random", n, spec, torch_stream(spec.seed, "graphs")) for spec in specs]
    there = [CardGraphs(spec, torch.device(on)) for spec in specs]

    def graphs(drawn):
        t = next(steps)
        joined(*(one.at(t) for one in drawn)).on(like, "rows")

    streams = [torch_stream(0, "windows", i) for i in range(runs * n)]
    images = random_data("cifar10", (3, 32, 32), (runs * n * b, 1), on).train_inputs
    counters = CardStreams.of(0, "windows", range(runs * n), on)
    ways = {
        "graphs, host": partial(graphs, host),
        "graphs, there": partial(graphs, there),
        "windows, host": partial(crop_flip.of_workers, images, b, streams),
        "windows, there": partial(crop_flip.of_workers, images, b, counters),
    }
    for way, step in ways.items():
        yield {"way": way, "runs": runs}, partial(measured, args, lambda step=step: step)


#: The parts, and the seconds after which no row of one begins.
BUDGETS = {gradients: 260, dropout: 20, update: 60, drawn_there: 20, launches: 20}

if __name__ == "__main__":
    sys.exit(gpu_check.main(BUDGETS, __doc__))
