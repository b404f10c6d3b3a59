"""The side of gossipy: its simulator, nodes and handlers of PyTorch models, on one thread.

A worker's step here is a timestep there: each node sends its model to one peer, merges the one that
it receives, and trains. Nodes also train before the first message. So the states that are the same
on both sides are those between the merge and the training, when a gradient is taken.
"""

import itertools

import numpy as np
import torch
from gossipy.core import AntiEntropyProtocol, CreateModelMode, P2PNetwork
from gossipy.data import DataDispatcher
from gossipy.data.handler import ClassificationDataHandler
from gossipy.model import TorchModel
from gossipy.model.handler import TorchModelHandler
from gossipy.node import GossipNode
from gossipy.simul import GossipSimulator
from side import Problem, answer, one_peer
from torch.nn.functional import binary_cross_entropy_with_logits


def half_squares(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean of ½(a·x − b)²."""
    return (outputs - targets).square().mean() / 2


LOSSES = {"least_squares": half_squares, "logistic": binary_cross_entropy_with_logits}


class Linear(TorchModel):
    """a·x; a node's one starts at the state ``start``."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(d, 1, bias=False)
        self.start = torch.zeros(d)

    def init_weights(self) -> None:
        """Set the initial state."""
        self.layer.weight.data.copy_(self.start)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The outputs ``[m, 1]``."""
        return self.layer(inputs)


class OnePeer(P2PNetwork):
    """Graphs in turn, in each of which a node has one peer: it asks for a peer in each timestep."""

    def __init__(self, peers: np.ndarray) -> None:
        super().__init__(peers.shape[1])
        self.turns = [itertools.cycle(column.tolist()) for column in peers.T]

    def get_peers(self, node_id: int) -> list[int]:
        """The peer of this timestep."""
        return [next(self.turns[node_id])]


def prepare(problem: Problem, algorithm: str, local_epochs=1, optimizer="SGD", **options):
    """``algorithm`` is how a node uses a model that arrives; ``options`` are the optimizer's."""
    torch.set_num_threads(1)
    n, m, d = problem.A.shape
    rounds = problem.steps // local_epochs
    samples = torch.from_numpy(problem.A).reshape(n * m, d)
    targets = torch.from_numpy(problem.b).reshape(n * m, 1)
    owned = [list(range(i * m, (i + 1) * m)) for i in range(n)]
    peers = one_peer(problem.W)

    def run(kind: type[TorchModelHandler] = TorchModelHandler) -> dict[int, GossipNode]:
        handler = ClassificationDataHandler(samples, targets, test_size=0)
        data = DataDispatcher(handler, n, eval_on_user=False, auto_assign=False)
        data.set_assignments(owned, None)
        prototype = kind(
            net=Linear(d),
            optimizer=getattr(torch.optim, optimizer),
            optimizer_params={"lr": problem.lr, **options},
            criterion=LOSSES[problem.loss],
            local_epochs=local_epochs,
            batch_size=0,
            create_model_mode=CreateModelMode[algorithm],
        )
        nodes = GossipNode.generate(data, OnePeer(peers), prototype, round_len=1, sync=True)
        for i, x in enumerate(torch.from_numpy(problem.X0)):
            nodes[i].model_handler.model.start = x
        simulator = GossipSimulator(nodes, data, delta=1, protocol=AntiEntropyProtocol.PUSH)
        simulator.init_nodes()
        simulator.start(n_rounds=rounds)
        return nodes

    def states() -> np.ndarray:
        found: dict[int, list[np.ndarray]] = {}  # by the memory of the samples, which a node keeps

        class Recorded(TorchModelHandler):
            def _update(self, data: tuple[torch.Tensor, torch.Tensor]) -> None:
                x = self.model.layer.weight.detach().flatten().numpy().copy()
                found.setdefault(data[0].data_ptr(), []).append(x)
                super()._update(data)

        nodes = run(Recorded)
        return np.stack([found[node.data[0][0].data_ptr()] for node in nodes.values()], 1)

    return states, run


if __name__ == "__main__":
    answer(prepare)
