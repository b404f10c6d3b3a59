"""What does a step cost with models that people bring, beside plain PyTorch, and at which limit?

Ten workers of NGO on a ring, one thread, and its processor's time. ``loop`` is a step of ten models
one after another, ``one`` that of one model with as many samples, ``vmap`` the gradients of ten at
once. The limit is all products at sgemm's rate, and X read three times and written twice at a
copy's. Where it is above the goal, the goal is 1.2 times the limit.
"""

import statistics
import time
from functools import partial
from itertools import pairwise

import torch
from common import Step, in_turn, options, plain_model, show
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import ngo
from ngo.models.layers import fully_connected
from ngo.models.transformer import Transformer

N, LR, TOGETHER = 10, 0.01, 2  # workers, the learning rate, steps of a turn


class OwnVAE(nn.Module):
    """An autoencoder as its users write it."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), *fully_connected(784, 512, 256), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(256, 20), nn.Linear(256, 20)
        self.decoder = nn.Sequential(*fully_connected(20, 256, 512, 784))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Logits, and the codes' mean and log-variance."""
        mean, log_variance = self.mean(h := self.encoder(x)), self.log_variance(h)
        z = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def elbo(outputs: tuple[torch.Tensor, ...], images: torch.Tensor) -> torch.Tensor:
    """The negative bound, the mean over samples."""
    logits, mean, log_variance = outputs
    lost = F.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
    apart = mean.square() + log_variance.exp() - 1 - log_variance
    return (lost + apart.sum() / 2) / len(images)


def next_character(outputs: torch.Tensor, characters: torch.Tensor) -> torch.Tensor:
    """The cross entropy of the characters after each."""
    return F.cross_entropy(outputs[:, :-1].flatten(0, 1), characters[:, 1:].flatten())


class Residual(nn.Module):
    """A block of ResNet-20 with group normalization."""

    def __init__(self, inputs: int, out: int) -> None:
        super().__init__()
        one = nn.Conv2d(inputs, out, 3, out // inputs, 1, bias=False), nn.GroupNorm(8, out)
        two = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.GroupNorm(8, out)
        self.body = nn.Sequential(*one, nn.ReLU(), *two)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images, of half the size where there are twice the channels."""
        y = self.body(x)
        more = y.shape[1] - x.shape[1]
        return F.relu(y + (F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, more)) if more else x))


def resnet20() -> nn.Module:
    """Three stages of three blocks."""
    blocks = [Residual(*pair) for pair in pairwise([16] * 4 + [32] * 3 + [64] * 3)]
    first = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.GroupNorm(8, 16), nn.ReLU()
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class OwnForward(nn.Module):
    """LeNet for CIFAR-10 with a forward pass of its own, as people write them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.view(-1, x.shape[1] * x.shape[2] * x.shape[3])))
        return self.fc3(F.relu(self.fc2(F.dropout(x, training=self.training))))


def lenet_tanh() -> nn.Module:
    """LeNet for 28 × 28 with padding and tanh."""
    images = nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5)
    flat = nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)
    return nn.Sequential(*images, nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), *flat)


def mlp_norm() -> nn.Module:
    """The MLP with layer normalization and GELU."""
    hidden = nn.Linear(784, 256), nn.LayerNorm(256), nn.GELU()
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(256, 10))


def lenet_norm() -> nn.Module:
    """LeNet for CIFAR-10 with group normalization."""
    one = nn.Conv2d(3, 6, 5), nn.GroupNorm(2, 6), nn.ReLU(), nn.MaxPool2d(2)
    two = nn.Conv2d(6, 16, 5), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*one, *two, nn.Flatten(), *fully_connected(400, 120, 84, 10))


def simple_cnn() -> nn.Module:
    """The CNN of pfl-research for CIFAR-10 (arXiv 2404.06430)."""
    images = nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)
    flat = nn.Linear(64 * 14 * 14, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)
    return nn.Sequential(*images, nn.Dropout(0.25), nn.Flatten(), *flat)


MLP = partial(nn.Sequential, nn.Flatten(), *fully_connected(784, 256, 10))
CHARACTERS = partial(Transformer, 64, 32, width=64, layers=2, heads=4)
#: What builds a model, the shape of an input, the batch, the goal beside ``loop``, a loss.
MODELS = {
    "MNIST's CNN": (partial(plain_model, "mnist_cnn"), (1, 28, 28), 32, 0.13, None),
    "LeNet": (partial(plain_model, "cifar10_cnn"), (3, 32, 32), 32, 0.22, None),
    "LeNet, own forward": (OwnForward, (3, 32, 32), 32, 0.22, None),
    "MLP": (MLP, (1, 28, 28), 32, 0.5, None),
    "MLP, LayerNorm, GELU": (mlp_norm, (1, 28, 28), 32, 0.5, None),
    "own VAE": (OwnVAE, (1, 28, 28), 32, 0.6, elbo),
    "LeNet, padding, tanh": (lenet_tanh, (1, 28, 28), 32, 0.45, None),
    "LeNet, GroupNorm": (lenet_norm, (3, 32, 32), 32, 0.45, None),
    "simple_cnn": (simple_cnn, (3, 32, 32), 10, 0.55, None),
    "ResNet-20": (resnet20, (3, 32, 32), 32, 0.8, None),
    "transformer": (CHARACTERS, (32,), 32, 0.9, next_character),
}


def spent(step: Step, times: int = 1) -> float:
    """The processor's seconds in the fastest of some calls."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        step()
        seconds.append(time.process_time() - start)
    return min(seconds)


def limit(module: nn.Module, loss, x: torch.Tensor, y: torch.Tensor) -> float:
    """The least seconds of a step of all workers."""
    with FlopCounterMode(display=False) as counter:
        loss(module(x), y).backward()
    a, X = torch.rand(768, 768), torch.rand(N, sum(map(torch.numel, module.parameters())))
    to, copy = torch.empty_like(a), torch.empty_like(X)
    product = spent(lambda: torch.mm(a, a, out=to), 20) / (2 * 768**3)
    return N * counter.get_total_flops() * product + 2.5 * spent(lambda: copy.copy_(X), 20)


def measured(name: str, turns: int) -> dict:
    """A row of the table."""
    make, shape, b, goal, own = MODELS[name]
    loss, tokens = own or F.cross_entropy, len(shape) == 1
    X = torch.randint(64, (N, 4 * b, *shape)) if tokens else torch.rand(N, 4 * b, *shape)
    y = X if own else torch.randint(10, (N, 4 * b))
    first = X[:, :b].contiguous(), y[:, :b].contiguous()
    own_parameters, _ = stack_module_state([make() for _ in X])
    base, all_at_once = make(), [x.flatten(0, 1)[None] for x in first]
    gradient = grad(lambda p, x, y: loss(functional_call(base, p, (x,)), y))
    ways = {
        "loop": in_turn([make() for _ in X], loss, LR, *first),
        "one": in_turn([make()], loss, LR, *all_at_once),
        "vmap": partial(vmap(gradient, randomness="different"), own_parameters, *first),
    }
    taken: dict[str, list[float]] = {way: [] for way in ("ngo", *ways)}
    start, passes = 0.0, (1 + turns) * TOGETHER / 4  # the first turn warms up

    def on_step(state: ngo.RunState) -> None:
        nonlocal start
        if state.step % TOGETHER == 0:
            taken["ngo"].append((time.process_time() - start) / TOGETHER)
            for way, step in ways.items():
                taken[way].append(sum(spent(step) for _ in range(TOGETHER)) / TOGETHER)
            start = time.process_time()

    ngo.fit(
        make, list(zip(X, y, strict=True)), (X[0, :b], y[0, :b]), loss=own, workers=N, lr=LR,
        batch_size=b, epochs=passes, eval_every=passes, threads=1, progress=False, on_step=on_step,
    )  # fmt: skip
    seconds = {way: statistics.median(each[1:]) for way, each in taken.items()}
    least = limit(base, loss, first[0][0], first[1][0]) / seconds["loop"]
    ratios = {f"of {way}'s": seconds["ngo"] / seconds[way] for way in ways}
    goal = goal if least <= goal else 1.2 * least
    return {"model": name, "ms": 1e3 * seconds["ngo"], **ratios, "limit": least, "goal": goal}


if __name__ == "__main__":
    args = options(__doc__)
    torch.set_num_threads(1)
    show([measured(name, 1 if args.quick else 5) for name in MODELS])
