"""Files of kept models, written without training."""

import torch

from ngo.common.registries import MODELS
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.training.snapshots import save_snapshots
from ngo.training.spec_checks import resolve


def keep_models(path, steps=(3,), spread=0.1, **given):
    """Write the models of three workers that differ by noise of this spread; return the run and its
    snapshots.
    """
    spec = resolve({"workers": 3, "batch_size": 4, "task": MODELS[given["model"]].task, **given})
    population = Population(spec.model, spec.workers, spec.seed)
    noise = torch.randn(population.X.shape, generator=torch_stream(spec.seed, "test"))
    X = population.X + spread * noise
    snapshots = {step: {"X": X * step, "buffers": population.buffers.clone()} for step in steps}
    save_snapshots(path, spec, snapshots)
    return spec, snapshots
