"""The criteria by which tables compare methods: accuracy, losses, hitting time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """A number by which methods are compared."""

    name: str
    consensus: str | None
    """The metrics column with the value of the consensus model."""
    workers: str | None
    """The metrics column with the mean over the workers' models."""
    published: str | None
    """The column in the file of the paper's numbers."""
    factor: float = 1.0
    """The metrics are multiplied by it."""
    same_unit: bool = True
    """Whether the paper's numbers are known to have our unit."""
    digits: tuple[int, int] = (2, 2)
    """Decimals of our printed numbers and of the paper's."""

    @property
    def compared(self) -> str:
        """The value that claims are about: ``consensus`` if there is one, otherwise ``workers``."""
        return "consensus" if self.consensus else "workers"


ACCURACY = Criterion(
    "test accuracy (%)",
    "consensus_accuracy",
    "workers_accuracy_mean",
    "test_accuracy_percent",
    factor=100,
)
HELD_OUT = Criterion("held-out accuracy (%)", "holdout_accuracy", None, None, factor=100)
NEGATIVE_ELBO = Criterion(
    "negative ELBO (nats)", "consensus_loss", "workers_loss_mean", "negative_elbo"
)
TRAIN_NEGATIVE_ELBO = Criterion(
    "negative ELBO, training (nats)", None, "train_loss", "negative_elbo", same_unit=False
)
TEST_LOSS = Criterion("test loss", "consensus_loss", "workers_loss_mean", "value", digits=(3, 2))
TRAIN_LOSS = Criterion("training loss", None, "train_loss", None, digits=(3, 2))
HITTING_TIME = Criterion(
    "first hitting time (epochs)",
    "first_hitting",
    None,
    "first_hitting_time",
    same_unit=False,
    digits=(2, 0),
)

_LOSSES = (NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO, TEST_LOSS, TRAIN_LOSS)
CRITERIA = {each.name: each for each in (ACCURACY, HELD_OUT, *_LOSSES, HITTING_TIME)}
