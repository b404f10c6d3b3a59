"""The side of decent-bench: its algorithms, agents and costs, on its NumPy backend."""

import decent_bench.algorithms.p2p as p2p
import networkx as nx
import numpy as np
from decent_array import interoperability as iop
from decent_bench.agents import Agent
from decent_bench.costs import LinearRegressionCost, LogisticRegressionCost
from decent_bench.networks import P2PNetwork
from side import Problem, answer

COSTS = {"least_squares": LinearRegressionCost, "logistic": LogisticRegressionCost}


def prepare(problem: Problem, algorithm: str, **options):
    """``options`` are those of the algorithm; one with a step size gets the problem's."""
    iop.set_backend("numpy")
    n = len(problem.A)
    kind = getattr(p2p, algorithm)
    if "step_size" in kind.__dataclass_fields__:
        options["step_size"] = problem.lr

    def run(period: int = problem.steps) -> list[Agent]:
        agents = []
        for A, b in zip(problem.A, problem.b[..., None], strict=True):
            pairs = [(iop.from_numpy(a), iop.from_numpy(t)) for a, t in zip(A, b, strict=True)]
            agents.append(Agent(COSTS[problem.loss](pairs), state_snapshot_period=period))
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from((i, j) for i, j in np.argwhere(problem.W) if i < j)
        network = P2PNetwork(graph, agents)
        network.weights = iop.from_numpy(problem.W)
        x0 = {agent: iop.from_numpy(x) for agent, x in zip(agents, problem.X0, strict=True)}
        kind(x0=x0, **options).run(network, problem.steps)
        return agents

    def states() -> np.ndarray:
        histories = [agent._x_history for agent in run(period=1)]
        times = range(problem.steps + 1)
        return np.stack([[iop.to_numpy(history[t]) for history in histories] for t in times])

    return states, run


if __name__ == "__main__":
    answer(prepare)
