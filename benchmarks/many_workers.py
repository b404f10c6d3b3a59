"""What do many workers cost: steps with up to 10,000, virtual time, the set-up?

The network has 100 parameters and batches of 8. A step is one of all workers.
"""

import time

from common import SMALL, Step, compare, options, show, stepper

WAYS = {
    "ngo": {},
    "dsgd": {"method": "dsgd"},
    "push_sum": {"method": "push_sum", "topology": "one_peer_exponential"},
    "gradient_tracking": {"method": "gradient_tracking"},
    "waiting": {"clock": "waiting", "speed": "log_normal", "latency": 0.1},
    "asynchronous": {"clock": "asynchronous", "speed": "log_normal", "latency": 0.1},
}
TOGETHER = 8  # steps of all workers that are measured together


def steps(n: int, device: str, **fields: object) -> Step:
    """The next steps of all workers, in virtual time too."""
    run = stepper(SMALL, n, 8, device=device, **fields)

    def step() -> None:
        end = run.t + TOGETHER
        while run.t < end:
            run.advance()

    return step


def main() -> None:
    """Print a table of each number of workers."""
    args = options(__doc__)
    for n in (100,) if args.quick else (10, 100, 1000, 10_000):
        start = time.perf_counter()
        stepper(SMALL, n, 8, device=args.device)
        made = {"n": n, "way": "set-up", "ms": 1e3 * (time.perf_counter() - start)}
        ways = {way: steps(n, args.device, **fields) for way, fields in WAYS.items()}
        show([*compare(ways, "ngo", args, TOGETHER, n=n), made])


if __name__ == "__main__":
    main()
