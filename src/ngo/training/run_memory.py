"""How much memory a run needs, from its sizes, and whether the machine has it."""

from __future__ import annotations

import torch
from torch import nn

from ngo.common.memory_limit import in_words, memory_limit
from ngo.common.registry import UserError
from ngo.gossip.method import METHODS
from ngo.gossip.schedule import topologies
from ngo.gossip.step import LOCAL_RULES
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.pool import cores
from ngo.training.problem import Problem, batch_sizes
from ngo.training.spec import RunSpec

# Bytes of a process that has imported torch, and of a worker's module and random streams beside its
# parameters. Both are measured.
PROGRAM = 300_000_000
WORKER = 60_000

# The models of each worker that an asynchronous run in virtual time keeps, about.
KEPT = 5

# Bytes of a directed edge: its ends and weight, the same of its pair, and what makes them.
EDGE = 80

FLOAT = 4  # bytes of a parameter


def run_memory(
    spec: RunSpec, problem: Problem, workers: int | None = None, threads: int | None = None
) -> dict[str, int]:
    """The bytes that a run needs on its problem, about, by what they are for.

    ``workers`` is the number of those in this process, by default all. The model is built once,
    and passes one test sample; global random streams do not change.
    """
    n, b = workers or spec.workers, max(batch_sizes(spec, problem.parts))
    sample = problem.test[0][0][:1]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        module = problem.model.build(torch.Generator()).eval()
        outputs = _outputs(module, sample.cpu())
    rows = n * sum(map(torch.numel, module.parameters())) * FLOAT
    data, methods, rules = problem.data, METHODS[spec.method], LOCAL_RULES[spec.local_rule]
    arrays = (data.train_inputs, data.train_targets, data.test_inputs, data.test_targets)
    # Of a batch, the outputs of layers and their gradients; in an evaluation, the outputs alone.
    passes = max(2 * b, problem.model.chunk_on(problem.device)) * outputs
    return {
        "program": PROGRAM,
        "data": sum(each.nbytes for each in arrays) + len(data.test_inputs) * sample.nbytes,
        "parameters and gradients": 2 * rows,
        "matrices of the method": (methods.matrices_of(spec) + rules.matrices) * rows,
        "sent models": KEPT * rows if spec.clock == "asynchronous" else 0,
        "edges": EDGE * _edges(spec),
        "modules": n * WORKER,
        "batches": n * b * (sample.nbytes + data.train_inputs[:1].nbytes),
        "outputs of layers": min(threads or cores(), n) * passes,
    }


def check_memory(spec: RunSpec, memory: dict[str, int], device: torch.device) -> None:
    """Raise a UserError if a run needs more memory than the machine, or its GPU, has."""
    limit, where = memory_limit(), "this process may use"
    if device.type == "cuda":
        limit, where = torch.cuda.get_device_properties(device).total_memory, "the GPU has"
    total = sum(memory.values())
    if total > limit:
        largest = sorted(memory.items(), key=lambda part: -part[1])[:3]
        told = ", ".join(f"{what} {in_words(size)}" for what, size in largest)
        raise UserError(
            f"workers: {spec.workers} with model {spec.model!r} need about {in_words(total)} "
            f"({told}, …) of memory, and {where} {in_words(limit)}; use fewer "
            f"workers, a smaller model or a smaller batch_size."
        )


def _edges(spec: RunSpec) -> int:
    """The directed edges of the graph of all workers, where it is dense."""
    most = 0.0
    for topology in map(TOPOLOGIES.__getitem__, topologies(spec)):
        values = {name: getattr(spec, name) for name in topology.fields}
        most = max(most, topology.expected_edges(spec.workers, **values))
    return round(most)


def _outputs(module: nn.Module, inputs: torch.Tensor) -> int:
    """The bytes of the outputs of all layers, for ``inputs``."""
    found: list[int] = []

    def note(layer: nn.Module, given: object, outputs: object) -> None:
        if isinstance(outputs, torch.Tensor):
            found.append(outputs.nbytes)

    for layer in module.modules():
        layer.register_forward_hook(note)
    module(inputs)
    return sum(found)
