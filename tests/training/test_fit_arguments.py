import numpy as np
import pytest
import torch
from conftest import REPOSITORY
from own_modules import DATA, quick, row, told
from torch import nn
from torch.nn import functional as F

from ngo.common import plugins
from ngo.common.seeding import torch_stream
from ngo.gossip.method import METHODS


@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_regression(shape):
    class Shaped(nn.Linear):
        def forward(self, x):
            return super().forward(x).reshape(len(x), *shape)

    X = DATA[0]
    targets = (X @ torch.tensor([[1.0, 0], [0, 2], [1, 1]]))[:, : max(1, *shape, 1)].reshape(
        -1, *shape
    )
    run = quick(Shaped(3, *shape or (1,)), (X, targets), epochs=10, lr=0.05)
    assert run.metrics["consensus_loss"].iloc[-1] < 0.1 * run.metrics["consensus_loss"].iloc[0]
    assert run.metrics["consensus_accuracy"].isna().all()
    expected = F.mse_loss(run.consensus(X), targets).item()
    assert run.metrics["consensus_loss"].iloc[-1] == pytest.approx(expected, rel=1e-5)


def test_a_loss_as_a_mean_or_per_sample_gives_the_same():
    runs = [
        quick(loss=loss)
        for loss in (None, nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"))
    ]
    for other in runs[1:]:
        assert np.allclose(row(runs[0].consensus).detach(), row(other.consensus).detach())
        assert np.allclose(runs[0].metrics["workers_loss_mean"], other.metrics["workers_loss_mean"])


def test_a_score_goes_into_the_columns_of_accuracy():
    def error(outputs, targets):
        return (outputs["first"] - targets).abs().mean(1)

    class Parts(nn.Linear):
        def forward(self, x):
            return {"first": super().forward(x), "others": (x, x)}

    def loss(outputs, targets):
        return F.mse_loss(outputs["first"], targets)

    each = quick(Parts(3, 3), (DATA[0],) * 2, loss=loss, score=error)
    found = error(each.consensus(DATA[0]), DATA[0]).mean().item()
    assert each.metrics["consensus_accuracy"].iloc[-1] == pytest.approx(found, rel=1e-5)
    right = quick(score=lambda outputs, targets: outputs.argmax(1) == targets)
    expected = quick().metrics["workers_accuracy_mean"]
    assert right.metrics["workers_accuracy_mean"].tolist() == pytest.approx(expected.tolist())


def test_tokens_and_sequences_of_targets():
    tokens = torch.randint(0, 5, (40, 6), generator=torch_stream(0, "test"))

    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(5, 5), nn.LSTM(5, 5, batch_first=True)

        def forward(self, x):
            return self.lstm(self.embedding(x))[0]

    def loss(outputs, targets):
        return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(1)

    run = quick(Next, (tokens, tokens.roll(-1, 1)), loss=loss, lr=1.0, epochs=5)
    assert run.metrics["consensus_loss"].iloc[-1] < run.metrics["consensus_loss"].iloc[0]


@pytest.mark.parametrize("method", ["gossip", "slowmo", "push_diging"])
@pytest.mark.usefixtures("own_entries", "examples")
def test_frozen_parameters_keep_their_bits_and_are_not_sent(method):
    module = nn.Sequential(nn.Linear(3, 5).requires_grad_(False), nn.Linear(5, 4))
    run = quick(module, method=method, topology="ring", workers=5)
    for model in (run.consensus, *run.models):
        assert torch.equal(model[0].weight, module[0].weight)
        assert not torch.equal(model[1].weight, module[1].weight)
    if method == "gossip":
        assert run.metrics["bytes_sent"].iloc[-1] == run.metrics["messages"].iloc[-1] * 4 * 24


@pytest.fixture
def examples(own_entries, monkeypatch):
    """The example plugins, until the test ends."""
    monkeypatch.setattr(plugins, "_loaded", {})
    plugins.load(sorted((REPOSITORY / "examples/plugins").glob("*.py")))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_trains(method):
    entry = METHODS[method]
    tree = {"topology": "chain"} if entry.graph == "tree" else {}
    clock = {"clock": "asynchronous"} if entry.arrivals == "pair" else {}
    size = {"batch_size": 1} if "batch_size" in entry.fixed else {}
    run = quick(method=method, **tree, **clock, **size)
    assert np.isfinite(run.metrics["consensus_loss"]).all()
    assert run.metrics["consensus_loss"].iloc[-1] < run.metrics["consensus_loss"].iloc[0]


def test_a_single_worker():
    run = quick(workers=1, method="centralized")
    assert len(run.models) == 1
    assert torch.equal(row(run.models[0]), row(run.consensus))
    assert "workers: 1 is too few for method 'ngo'" in told(workers=1)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"method": "gosip"}, "method: 'gosip' is unknown; allowed: "),
        ({"method": "gosip"}, "Did you mean 'gossip'?"),
        (
            {"method": print},
            "method: <built-in function print> is not a name; register a function with ",
        ),
        ({"topolgy": "ring"}, "fit: 'topolgy' is not an argument. Did you mean 'topology' or "),
        ({"learning_rate": 0.1}, "an argument. Did you mean 'lr'? fit takes module, train, test"),
        ({"step_size": 0.1}, "an argument. Did you mean 'lr' or 'gamma'? fit takes"),
        ({"graph": [(0, 1)]}, "graph: [(0, 1)] is not "),
        (
            {"partition": "dirichlet", "beta": 0.01},
            "partition: dirichlet with beta 0.01 leaves worker 2 without samples; use a larger "
            "beta, fewer workers, another seed, or dirichlet_min, which gives each worker at least",
        ),
        ({"topology": "rong"}, "Did you mean 'ring'?"),
        ({"lr": "fast"}, "lr: 'fast' is not a number; it must be a number, above 0"),
        ({"seed": -1}, "seed: -1 is out of range"),
        ({"threads": 0}, "threads: 0 is out of range; it must be a whole number, 1 or more"),
        ({"workers": 100}, "workers: 100 is more than own's 48 samples"),
        ({"batch_size": 20}, "batch_size: 20 is larger than worker 0's share of 16 samples"),
        ({"device": "gpu"}, "Did you mean 'cuda'?"),
        ({"shards": 4}, "shards: 4 has no effect with partition 'iid'"),
        ({"module": nn.Linear(3, 2)}, "for 4 classes they must be logits"),
        ({"loss": nn.CrossEntropyLoss(reduction="sum")}, "loss: it is the sum over samples"),
        ({"loss": "mse"}, "loss: 'mse' is not a function (outputs, targets)"),
        ({"score": "accuracy"}, "score: 'accuracy' is not a function (outputs, targets)"),
        ({"score": lambda out, y: out[:2, 0]}, "score: it returned [2] for 48 samples"),
    ],
)
def test_a_mistake_is_told_in_a_line(arguments, part):
    assert part in told(**arguments)


def test_a_gpu_that_is_missing_is_told_in_a_line(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert (
        told(device="cuda") == "device: 'cuda' needs a GPU, and none is visible; use auto or cpu."
    )
    assert quick(device="auto").consensus.weight.device.type == "cpu"
