"""The training step: batches, gradients, the mixing matrix of the step, the method.

Whatever takes training steps takes them here: runs, distributed runs, measurements and benchmarks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from typing import Any

import torch

from ngo.common.registries import (
    ATTACKS,
    AUGMENTATIONS,
    COMPRESSIONS,
    COUPLINGS,
    HONEST,
    LOCAL_RULES,
    METHODS,
    SAME,
)
from ngo.common.seeding import stream_seed, torch_stream
from ngo.engine.population import Population
from ngo.gossip.attack import Byzantine
from ngo.gossip.exchange import Failures, Network, unchanged
from ngo.gossip.method import GOSSIP_FIELDS
from ngo.gossip.mixing_matrix import MixingMatrix, by_shares
from ngo.gossip.schedule import ScheduledMixing, learning_rate, scheduled
from ngo.gossip.step import Step, adapt_then_combine
from ngo.native.card_streams import CardStreams
from ngo.native.elementwise import HalfStep
from ngo.training.batches import Batches, BatchStream
from ngo.training.checkpoint import State
from ngo.training.global_state import comparable, restored_streams, seed_streams, stream_states
from ngo.training.learning_problem import Problem, check_memory
from ngo.training.spec import FIELDS, RunSpec, own_entries
from verdicts.registry import UserError

log = logging.getLogger("ngo")

# The backends that take half steps.
HALF_STEPS = ("compiled", "threads", "loop")

# What a network counts.
COUNTS = ("exchanges", "messages", "bytes_sent")


#: The fields whose entries have no part in updates.
BEFORE_UPDATES = {"dataset", "partition", "model", "task"}


def own_parts(spec: RunSpec) -> list[str]:
    """The fields that name entries of the user's which take part in updates."""
    return sorted(own_entries(spec).keys() - BEFORE_UPDATES)


def named(spec: RunSpec, fields: Iterable[str]) -> str:
    """The fields and the entries that they name, for an error."""
    return ", ".join(f"{name}: {getattr(spec, name)!r}" for name in fields)


class Stepper:
    """The state of a run between two steps, and the step."""

    #: Whether all workers step together: other runs may then take the gradients with their own.
    stackable = True
    #: The losses ``[n]`` of the next step, if others have taken its gradients, and whether they
    #: have taken its update.
    losses: torch.Tensor | None = None
    updated = False

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        *,
        steps: int | None = None,
        backend: str | None = None,
        threads: int | None = None,
        workers: Sequence[int] | None = None,
    ) -> None:
        """``steps`` is the number of steps of the run, by default that of the problem.

        ``backend`` overrides the run's: it is the one that ``auto`` chose before. ``workers`` are
        the numbers of the workers in this process, by default all.
        """
        local = range(spec.workers) if workers is None else workers
        self.workers = local  # their numbers, by row
        if problem.device.type == "cpu":
            check_memory(spec, problem, len(local))
        self.population = Population(
            problem.model,
            len(local),
            spec.seed,
            task=problem.task,
            device=problem.device,
            backend=backend or spec.backend,
            precision=spec.precision,
            threads=threads,
            workers=local,
            initialization=spec.initialization or SAME,
            honest=spec.honest,
            shares=problem.shares,
        )
        X = self.population.X
        self.steps = problem.last_step if steps is None else steps
        self.t = 0  # the number of steps taken
        self.honest = sum(i < spec.honest for i in local)  # workers in this process
        self.matrices: dict[str, torch.Tensor] = {}  # the method's own
        self.warned = False  # whether a warning has been logged
        self._taken: HalfStep | None = None  # what the workers took with their gradients
        self._spec, self._fields, self._own = spec, DeclaredFields(spec), own_parts(spec)
        self._method, self._rule = METHODS[spec.method], LOCAL_RULES[spec.local_rule]
        graphs = torch_stream(spec.seed, "graphs")

        def streams(name: str, device: Any = "cpu") -> list[torch.Generator]:
            return [torch_stream(spec.seed, name, i, device) for i in local]

        drawn = list(map(BatchStream, problem.parts, repeat(spec.batch_size), streams("batches")))
        augment, compressing = AUGMENTATIONS[spec.augmentation], streams("compression", X.device)
        changes: Any = streams("augmentation")
        if there := X.is_cuda and augment is not None:
            changes = CardStreams.of(spec.seed, "augmentation", local, X.device)
        self.batches = Batches(problem.task, problem.data, drawn, augment, changes)
        self._coupling: Any = COUPLINGS[spec.coupling] if spec.coupling else None
        if self._method.decentralized and self._coupling is None:
            self._coupling = Undeclared(undeclared(spec, "coupling"))
        self._codec: Any = Undeclared(undeclared(spec, "compression"))
        if spec.compression is not None:
            make = COMPRESSIONS[spec.compression].of
            with self._drawing("start"):
                self._codec = make(self.population.d, X.dtype, self._fields, compressing)
        self._mixing = None
        if self._method.decentralized and spec.topology is not None:
            # Processes, of which some may have no GPU, draw the same graphs.
            card = X.device if X.is_cuda and workers is None else None
            with self._drawing("start"):
                self._mixing = ScheduledMixing(spec, self.steps, graphs, card)
        rates = {"link_failure": spec.link_failure or 0, "absence": spec.absence or 0}
        self._failures = Failures(spec.workers, spec.seed, **rates)
        # The workers that are absent in the current step, and the rows of those in this process.
        self._absent: list[int] = []
        self._absent_rows: list[int] = []
        # What a checkpoint holds the states of, by their names there.
        self._parts: dict[str, Any] = {"population": self.population, "batches": self.batches}
        self._streams: dict[str, Any] = {"graphs": [graphs], "failures": self._failures.streams}
        self._streams["changes"] = [changes] if there else changes
        self._streams["compression"] = compressing if spec.compression else []
        self.connect(Network(self.population.spread))

    def connect(self, network: Network) -> None:
        """Exchange through ``network`` from now on. Before that, all workers share a matrix."""
        self.network = network
        self.network.worker_shares = self.population.shares
        self.network.directed = self._mixing is not None and self._mixing.directed
        if (spec := self._spec).liars:
            attack = ATTACKS[spec.attack or HONEST]
            self.network.byzantine = Byzantine(attack, self._fields, spec.seed, spec.honest)

    @property
    def taken(self) -> int:
        """The steps of workers so far: one each in a step of the run."""
        return self.t * self._spec.workers

    @property
    def samples(self) -> int:
        """The samples of these steps."""
        return self.taken * self._spec.batch_size

    def spent(self) -> dict[str, Any]:
        """Virtual seconds and joules so far; empty without a clock."""
        return {}

    def _energy(self) -> float:
        """The energy of steps and messages so far, in joules."""
        spec = self._spec
        return spec.joules_step * self.taken + spec.joules_byte * self.network.bytes_sent

    def advance(self) -> torch.Tensor:
        """Take one step, or the rest of it; the losses of the honest workers."""
        losses = self.gradients() if self.losses is None else self.losses
        if not self.updated:
            self.update()
        self.losses, self.updated = None, False
        return losses[: self.honest]

    def gradients(self) -> torch.Tensor:
        """The first half: the gradients on the next batches; the losses ``[n]``.

        Those of absent workers have no effect.
        """
        with self.absences():
            self._taken = self._half_step()
            return self.population.gradients(self.batches, self._taken)

    def _number(self, t: int) -> int:
        """The number of step ``t`` of the run, as the method sees it."""
        return t

    def _half_step(self) -> HalfStep | None:
        """That of the next step, if each worker may take it as soon as it has its gradient."""
        population, method = self.population, self._method
        ordered = self._spec.order in (None, adapt_then_combine.__name__)
        first = method.descends and self._rule.chain and ordered and not self._spec.absence
        here = population.backend in HALF_STEPS and not population.X.is_cuda
        if not (first and here) or self._number(self.t) == 0:
            return None
        given = population.X, population.G, self.network, self.matrices
        return self.take(*given, t=self.t, update=lambda x: HalfStep.of(x.half_step(), x.G))

    @contextmanager
    def absences(self) -> Iterator[None]:
        """Draw who is absent in this step; while the gradients are taken, these do not change."""
        self._absent = self._failures.absent(self.t)
        self._absent_rows = [k for k, i in enumerate(self.workers) if i in self._absent]
        with unchanged(self._absent_rows, self.population.buffers, self.population.counts):
            yield

    def update(self) -> None:
        """The second half: the method's update with the gradients."""
        X, matrices = self.population.X, self.matrices
        self.network.set_matrix(self.next_matrix())
        with unchanged(self._absent_rows, X, *matrices.values()) as keep:
            self.take(X, self.population.G, self.network, matrices, keep)
        self._taken = None

    def next_matrix(self) -> MixingMatrix | None:
        """Begin the update of the next step: its mixing matrix, None for a centralized method."""
        self._W: MixingMatrix | None = None
        if self._mixing is not None:
            with self._drawing(f"graph {self.t}"):
                W = self._mixing.at(self.t, self.network.exchanges)
            shares = self.population.shares
            W = W if shares is None else by_shares(W, shares)
            self._W = self._failures.matrix(W, self._absent)
        self.t += 1
        return self._W

    def take(
        self,
        X: torch.Tensor,
        G: torch.Tensor,
        network: Any,
        matrices: dict[str, torch.Tensor],
        created: Callable[[torch.Tensor], None] = lambda matrix: None,
        t: int | None = None,
        update: Callable[[Step], Any] | None = None,
        descended: bool = False,
    ) -> Any:
        """The method's update of ``X`` in step ``t``, by default that which ``next_matrix`` began.

        ``matrices`` are the method's own; ``created`` is called with each new one. Another
        ``update`` may see the step, and the half step may be ``descended`` already.
        """
        t = self.t - 1 if t is None else t
        if self._mixing is None:  # the method reaches the server alone
            network = Undeclared(undeclared(self._spec, "topology"), network, "mean", "index", "W")
        if (shares := self.population.shares) is not None:
            told = f"method {self._spec.method!r} exchanges by more than gossip and network.mean"
            error = UserError(f"objective: {told}, where workers count equally.")
            network = Undeclared(error, network, "mean", "index", "pull")
        changed = scheduled(self._spec, t, self.steps)
        fields = DeclaredFields(replace(self._spec, **changed)) if changed else self._fields
        step = Step(
            self._number(t),
            self.steps,
            X,
            G,
            fields,
            learning_rate(self._fields, min(t, self.steps - 1), self.steps),
            network,
            self._rule,
            self._coupling,
            matrices,
            codec=self._codec,
            created=created,
            spread=self.population.spread,
            warn=self._warn,
            samples=self.batches.places if self.stackable else None,
            shares=shares,
            descended=descended or self._taken is not None,
        )
        with self._drawing(f"update {t}", len(X)):
            returned = (update or self._method.update)(step)
        if update is None and returned is not None:
            told = f"it returned a {type(returned).__name__}, which nothing reads"
            raise UserError(f"method {self._spec.method!r}: {told}; change step.X in place.")
        return returned

    @contextmanager
    def _drawing(self, part: str, rows: int | None = None) -> Iterator[None]:
        """Within it, global random streams are those of the seed and the ``part`` of the run.

        A UserError for a draw in an update of ``rows``, where these are not those of all workers.
        """
        if not self._own or (part.startswith("graph") and "topology" not in self._own):
            yield
            return
        shared = rows in (None, self._spec.stepping)
        with restored_streams():
            seed_streams(stream_seed(self._spec.seed, part))
            before = None if shared else comparable(stream_states())
            yield
            if before is not None and before != comparable(stream_states()):
                told = "it draws from a global random stream, which processes and steps of single"
                how = "torch_stream(step.run.seed, 'name', step.t)"
                raise UserError(
                    f"{named(self._spec, self._own)}: {told} workers don't share; use {how}."
                )

    def alike(self) -> Hashable:
        """Equal for runs whose next updates may be one: in all but seed, partition and graph.

        A run that has to be updated by itself is like no other. On a CPU, so is one whose coupling
        is not compiled: the last bits of torch's powers depend on an element's place.
        """
        spec, joint = self._spec, self._method.joint and self.population.shares is None
        if spec.coupling:
            compiled = self._coupling.fast is not None or self.population.X.is_cuda
            joint = joint and self._coupling.pull is not None and compiled
        if not joint or spec.clock != "steps" or spec.liars or spec.absence:
            return id(self)
        apart = {"seed", "topology", "partition"}
        read = {x for x, of in FIELDS.items() if of.owners in (("topology",), ("partition",))}
        same = {x: value for x, value in spec.values().items() if x not in apart | read}
        return self.t, self.steps, *sorted(same.items())

    def _warn(self, line: str) -> None:
        """Log the first warning of a run, in the process of worker 0."""
        if not self.warned and 0 in self.workers:
            log.warning(line)
        self.warned = True

    def state_dict(self) -> State:
        """All that the next steps depend on."""
        return {
            "step": self.t,
            "backend": self.population.backend,
            "reason": self.population.reason,
            **{name: part.state_dict() for name, part in self._parts.items()},
            **{name: [one.get_state() for one in each] for name, each in self._streams.items()},
            "matrices": self.matrices,
            **{name: getattr(self.network, name) for name in COUNTS},
        }

    def load_state_dict(self, state: State) -> None:
        """Restore from ``state``, which was made with the same backend."""
        self.t = state["step"]
        self.population.reason = state["reason"]
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        for name, each in self._streams.items():
            for one, saved in zip(each, state[name], strict=True):
                one.set_state(saved)
        device = self.population.X.device
        self.matrices = {name: rows.to(device) for name, rows in state["matrices"].items()}
        for name in COUNTS:
            setattr(self.network, name, state[name])


class DeclaredFields:
    """A run as its method sees it: reading a field without a meaning for it is a UserError."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._spec, name)
        if value is None and name in FIELDS:
            raise undeclared(self._spec, name)
        return value


class Undeclared:
    """Stands for an object that a method has not declared: any use of it raises ``error``."""

    def __init__(self, error: UserError, known: object = None, *allowed: str) -> None:
        """``allowed`` are the attributes that may be read: they come from ``known``."""
        self._error = error
        self._known = known
        self._allowed = allowed

    def __getattr__(self, name: str) -> object:
        if name not in self._allowed:
            raise self._error
        return getattr(self._known, name)


def undeclared(spec: RunSpec, name: str) -> UserError:
    """The error for a method that reads the field ``name`` of a run and does not declare it."""
    owner = next((key for key in FIELDS[name].owners if key != "method"), "method")
    if name in GOSSIP_FIELDS or getattr(spec, owner) is None:
        owner = "method"
    also = f"; step.gossip() reads {', '.join(GOSSIP_FIELDS)}" if name in GOSSIP_FIELDS else ""
    return UserError(
        f"{owner}: {getattr(spec, owner)!r} uses the field {name!r} of a run and does not declare "
        f"it; add {name!r} to fields=(…) where it is registered{also}."
    )
