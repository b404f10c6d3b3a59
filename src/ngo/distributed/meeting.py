"""How the processes of a run find each other before the first step.

They exchange values through a store, which exists before any connection between them.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ngo.common.registry import UserError, in_a_line
from ngo.distributed.environment import Place, read_place
from ngo.distributed.process_group import POLL_SECONDS, Group, PeerUnreachable, exit_reason
from ngo.distributed.processes import MISTAKE
from ngo.distributed.store import Store, connect

# The key of the store under which the first process that refuses the run for all puts the reason.
REFUSAL = "refusal"

# The longest time, in seconds, for which the process that holds the store waits for the others to
# read why it ends.
PARTING_SECONDS = 5.0


class Meeting:
    """The processes of a run before the first step, as seen by one of them."""

    def __init__(self, store: Store, place: Place) -> None:
        """Come to the meeting; a UserError if another process has come with this number."""
        self.store, self.place = store, place
        self.me, self.size = place.me, place.size
        if store.add(f"came/{self.me}", 1) > 1:
            raise UserError(
                f"RANK: another process has started as {self.me} of {self.size}; the processes "
                f"must have different numbers, 0 to {self.size - 1}."
            )
        store.add("came", 1)

    def gather(self, name: str, value: object, timeout: float = math.inf) -> list[object]:
        """Publish ``value`` under ``name``, and return the values of all processes.

        Values are sent as JSON; text that is not JSON arrives as None. Raises a UserError if a
        process exits or refuses the run before all have published, or if values are missing after
        ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        keys = [f"{name}/{q}" for q in range(self.size)]
        self.store.set(keys[self.me], json.dumps(value))
        while not self.store.check(keys):
            reasons = {q: exit_reason(self.store, q) for q in range(self.size)}
            if self.store.check([REFUSAL]):  # which comes before the exits that it causes
                raise UserError(self.store.get(REFUSAL))
            for q, reason in reasons.items():
                if reason is not None:
                    raise UserError(f"distributed: before the first step, process {q} {reason}.")
            if time.monotonic() > deadline:
                raise self.refusal(f"{self._not_met(timeout)}: {self._absent(keys)}.")
            time.sleep(POLL_SECONDS)
        return [_parsed(self.store.get(key)) for key in keys]

    def refusal(self, message: str) -> UserError:
        """The error that all processes in the meeting raise: the first refusal counts."""
        return UserError(self.store.compare_set(REFUSAL, "", message))

    @contextmanager
    def failure_published(self) -> Iterator[None]:
        """Publish a failure of the block, so that processes in ``gather`` stop waiting."""
        try:
            yield
        except Exception as error:
            reason = f"stopped with a {type(error).__name__}"
            with suppress(UserError):  # the store may be what has failed
                if isinstance(error, UserError):
                    reason = f"stopped: {str(error).rstrip('.')}"
                    # Before the other processes fail because of this one.
                    self.store.compare_set(MISTAKE, "", str(error))
                self.store.set(f"ended/{self.me}", reason)
                self.leave()
            raise

    def leave(self) -> None:
        """Leave the meeting before the first step. The process that holds the store leaves last,
        so that the others can read why it ends.
        """
        self.store.add("left", 1)
        deadline = time.monotonic() + PARTING_SECONDS
        while self.place.holds_store and time.monotonic() < deadline:
            if self.store.add("left", 0) == self.store.add("came", 0):
                return
            time.sleep(POLL_SECONDS)

    def join_group(self, *, backend: str, timeout: float) -> Group:
        """Connect to the group of all processes; a UserError after ``timeout`` seconds."""
        try:
            return Group(self.store, self.me, self.size, backend=backend, timeout=timeout)
        except (RuntimeError, PeerUnreachable) as error:
            raise UserError(f"{self._not_met(timeout)}: {in_a_line(error)}.") from None

    def _absent(self, keys: list[str]) -> str:
        """The processes that have not published these ``keys``, in words."""
        absent = [str(q) for q in range(self.size) if not self.store.check([keys[q]])]
        twice = [str(q) for q in range(self.size) if self.store.add(f"came/{q}", 0) > 1]
        more = f" ({', '.join(twice)} was started more than once)" if twice else ""
        return f"process {', '.join(absent)} did not come{more}"

    def _not_met(self, timeout: float) -> str:
        address = f"{self.place.address}:{self.place.port}"
        return f"distributed: not all processes met at {address} in {timeout:g} s"


def open_meeting(timeout: float) -> Meeting:
    """The meeting that the environment names; a UserError after ``timeout`` seconds."""
    place = read_place()
    return Meeting(connect(place, timeout), place)


def _parsed(text: str) -> object:
    """The value of JSON text; None if it is something else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
