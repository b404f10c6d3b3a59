"""FedAvg by pfl-research (the package pfl), round by round, as pfl_cifar10.py asks for it.

It has an environment of its own, with pfl alone. Its argument is a file with the initial model, the
data, the users' samples, and numbers of the setting. Each line of standard input is a cohort; the
answer is a round's seconds of the processor, and the accuracy where the line ends in one more
number, 1.
"""

import json
import sys
import time
from collections.abc import Iterator

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch.nn import functional as F

setting = torch.load(sys.argv[1], weights_only=False)
server, (X, y), (test_X, test_y), parts, cohort_size, batch_size, lr = setting
torch.set_num_threads(1)


class Network(torch.nn.Module):
    """What pfl trains: the module, with its loss."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def loss(self, x: torch.Tensor, y: torch.Tensor, **_: object) -> torch.Tensor:
        """The cross entropy."""
        return F.cross_entropy(self.train().module(x), y.long())

    def metrics(self, *_: object, **__: object) -> dict:
        """None: users are not evaluated."""
        return {}


class Asked(TrainingProcessCallback):
    """Waits for a cohort before each round, and answers after it."""

    cohort: Iterator[int]

    def ask(self) -> bool:
        """Whether there is another round."""
        numbers = json.loads(sys.stdin.readline() or "[]")
        self.scored, self.cohort = len(numbers) > cohort_size, iter(numbers[:cohort_size])
        self.start = time.process_time()
        return bool(numbers)

    @torch.no_grad()
    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        """Answer."""
        answer = [time.process_time() - self.start]
        if self.scored:
            module = model.pytorch_model.eval().module
            found = torch.cat([module(x).argmax(1) for x in test_X.split(500)])
            answer.append(float((found == test_y).double().mean()))
        print(json.dumps(answer), flush=True)
        return not self.ask(), Metrics()


asked = Asked()
network = Network(server)
users = {i: [X[own].numpy(), y[own].numpy()] for i, own in enumerate(parts)}
data = FederatedDataset.from_slices(users, lambda: next(asked.cohort))
central = torch.optim.SGD(network.parameters(), 1.0)
if asked.ask():
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=10**9,
            evaluation_frequency=10**9,
            train_cohort_size=cohort_size,
            val_cohort_size=None,
        ),
        SimulatedBackend(training_data=data, val_data=data),
        PyTorchModel(network, torch.optim.SGD, central),
        NNTrainHyperParams(
            local_batch_size=batch_size,
            local_num_epochs=1,
            local_learning_rate=lr,
            local_max_grad_norm=None,
        ),
        callbacks=[asked],
        send_metrics_to_platform=False,
    )
