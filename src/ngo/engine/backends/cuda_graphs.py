"""Each worker's step replayed as a CUDA graph, for models that take most time to launch kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.lazy import torch
from ngo.common.registry import UserError
from ngo.engine.backend import Batches, Gradients, Workers, backend, backward, restored

if TYPE_CHECKING:
    #: The inputs and targets that the graphs read, the losses that they write, and the graphs.
    Captured = tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.cuda.CUDAGraph]]


@backend("graphs")
def cuda_graphs(workers: Workers) -> Gradients:
    """One CUDA graph for each worker and shape of its batch; a UserError without a GPU."""
    if not workers.X.is_cuda:
        raise UserError("backend: 'graphs' needs a GPU; use auto, loop, threads or vmap here.")
    captured: dict[torch.Size, Captured] = {}  # by the shape of a batch

    def capture(*first: torch.Tensor) -> Captured:
        """Graphs of all workers, tried on the ``first`` worker's batch."""
        inputs, targets = (x.expand(workers.n, *x.shape).clone() for x in first)
        losses = torch.empty(workers.n, device=inputs.device)
        graphs, memory = [], None

        def step(i: int) -> None:
            losses[i] = backward(workers, i, inputs[i], targets[i])

        with restored(workers):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries initialize themselves outside of a capture
                for i in range(workers.n):
                    step(i)
            torch.cuda.current_stream().wait_stream(side)
        for i in range(workers.n):
            graph = torch.cuda.CUDAGraph()
            # Layers draw from the worker's stream, which each replay has to move on.
            graph.register_generator_state(workers.generators[i])
            with torch.cuda.graph(graph, pool=memory, stream=side):
                step(i)
            memory = graph.pool()
            graphs.append(graph)
        return inputs, targets, losses, graphs

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()
        rows = slice(None) if batches.workers is None else list(batches.workers)
        with torch.cuda.device_of(workers.X):  # for streams, captures and replays
            shape = inputs.shape[1:]
            if shape not in captured:
                captured[shape] = capture(inputs[0], targets[0])
            own_inputs, own_targets, losses, graphs = captured[shape]
            own_inputs[rows], own_targets[rows] = inputs, targets
            for graph in graphs if batches.workers is None else [graphs[i] for i in rows]:
                graph.replay()
        return losses[rows].clone()

    return gradients
