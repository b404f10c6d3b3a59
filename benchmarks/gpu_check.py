"""What a card does: its own limits, this package on it against the CPU, and samples a second.

``python benchmarks/gpu_check.py`` needs torch and the source of the package, and installs nothing.
Each part is written to ``gpu_check.json`` and ``gpu_check.md`` when it ends; a part that fails is
written with its error, and the next one starts. The exit status is 1 if a part failed.
"""

import argparse
import contextlib
import importlib.util
import json
import logging
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

if not all(map(importlib.util.find_spec, ("ziglang", "platformdirs"))):
    os.environ.setdefault("NGO_MARCH", "none")  # no compiler for the CPU's kernels
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import networkx as nx
import torch
from torch import nn

import ngo
from ngo.common.seeding import torch_stream
from ngo.data.dataset import Dataset, Source
from ngo.gossip.attack import ATTACKS
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.method import METHODS
from ngo.gossip.topology import TOPOLOGIES
from ngo.gossip.weights import mixing_matrix
from ngo.models.model import MODELS
from ngo.training.problem import make_problem
from ngo.training.resolve import resolve
from ngo.training.stepper import Stepper

N, B = 10, 32  # workers, and the samples in a batch
RUNS = {
    "ngo": {"gamma": 0.3, "p": 0.75},
    "gossip": {"gamma": 0.5},
    "local_sgd": {"local_steps": 4},
    "centralized": {},
}


def mnist_cnn() -> nn.Module:
    """The paper's classifier of MNIST, in torch's own layers."""
    first = (nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Dropout2d())
    second = (nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(320, 50))
    return nn.Sequential(*first, *second, nn.ReLU(), nn.Dropout(), nn.Linear(50, 10))


def lenet() -> nn.Module:
    """The paper's classifier of CIFAR-10."""
    first = (nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120))
    return nn.Sequential(
        *first, *second, nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
    )


# What an entry, or each of its kind, needs.
MORE = {
    "coupling": {"method": "ngo"},
    "compression": {"method": "choco"},
    "attack": {"liars": 2},
    "implicit": {"topology": "alternating_matching"},
    "relay_sum": {"topology": "chain"},
    "ad_psgd": {"clock": "asynchronous"},
    "gt_saga": {"batch_size": 1},
    **{name: {"workers": 8} for name in ("hypercube", "one_peer_hypercube")},
}

PLAIN = {"mnist_cnn": mnist_cnn, "cifar10_cnn": lenet}


class Check:
    """The parts of the check, on one device."""

    def __init__(self, device: str, quick: bool) -> None:
        self.device, self.quick = device, quick

    def seconds(self, step, least: float | None = None) -> float:
        """The median over five turns of the seconds of a step, after a warm-up."""
        turns, least = (2, 0.05) if self.quick else (5, least or 0.4)
        self.repeat(step, least)
        return statistics.median(self.repeat(step, least) for _ in range(turns))

    def repeat(self, step, least: float) -> float:
        """The mean seconds of a step, in steps that take at least ``least`` seconds."""
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < least:
            for _ in range(1 if self.quick else 10):
                step()
                count += 1
            self.wait()
        return (time.perf_counter() - start) / count

    def wait(self) -> None:
        """Wait for the card."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def machine(self):
        """Device, driver and versions."""
        packages = ("torch", "numpy", "triton")
        found = [name for name in packages if importlib.util.find_spec(name)]
        versions = {name: importlib.import_module(name).__version__ for name in found}
        yield {"what": "device", "value": platform.processor() or platform.machine()}
        if self.device == "cuda":
            query = [
                "nvidia-smi",
                "--query-gpu=name,driver_version,memory.total",
                "--format=csv,noheader",
            ]
            said = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
            yield {"what": "card, driver, memory", "value": said}
            yield {"what": "CUDA of torch", "value": torch.version.cuda}
        for name, version in {"python": platform.python_version(), **versions}.items():
            yield {"what": name, "value": version}

    def limits(self):
        """The card's own rates of matrix products and copies."""
        k = 512 if self.quick or self.device == "cpu" else 8192
        for name, dtype, tf32 in (
            ("fp32", torch.float32, False),
            ("tf32", torch.float32, True),
            ("bf16", torch.bfloat16, False),
        ):
            a, b = (torch.randn(k, k, device=self.device).to(dtype) for _ in range(2))
            c = torch.empty_like(a)
            torch.backends.cuda.matmul.allow_tf32 = tf32
            taken = self.seconds(lambda a=a, b=b, c=c: torch.mm(a, b, out=c))
            torch.backends.cuda.matmul.allow_tf32 = False
            yield {"what": f"{name} product of {k} × {k}", "Tflop/s": 2 * k**3 / taken / 1e12}
        x = torch.randn(2**20 if self.quick else 2**28, device=self.device)
        y = torch.empty_like(x)
        taken = self.seconds(lambda: y.copy_(x))
        yield {"what": "copy, read and written", "GB/s": 2 * x.numel() * 4 / taken / 1e9}

    def kernels(self):
        """The gossip step against float64 on the CPU: errors, and its share of a copy's rate."""
        n, d = (10, 1000) if self.quick else (N, 2_000_000)
        for name, graph in (("ring", nx.cycle_graph(n)), ("complete", nx.complete_graph(n))):
            W = mixing_matrix(graph)
            for p in (0.5, 0.75, 0.95, 1.0):
                X = torch.randn(n, d, generator=torch_stream(0, "check"))
                expected = gossip_step(X[:, :1000].double(), W.double(), 0.3, p)
                X = X.to(self.device)
                found = gossip_step(X, W, 0.3, p)
                taken = self.seconds(lambda X=X, p=p, W=W: gossip_step(X, W, 0.3, p), 0.1)
                error = (found[:, :1000].cpu() - expected).abs().max()
                drift = (found.double().mean(0) - X.double().mean(0)).abs().max()
                yield {"graph": name, "p": p, "largest error": float(error),
                       "drift of the mean": float(drift), "ms": 1e3 * taken,
                       "GB/s": 2 * 4 * n * d / taken / 1e9}  # fmt: skip
                assert max(error, drift) < 1e-5, "the step is not that of float64"

    def trained(self, device: str, steps: int, **values):
        """The metrics of a run of the MNIST CNN without dropout, on images with some structure."""
        generator = torch_stream(0, "images")
        targets = torch.randint(10, (N * 64,), generator=generator)
        inputs = torch.randn(10, 1, 28, 28, generator=generator)[targets]
        inputs = inputs + torch.randn(len(targets), 1, 28, 28, generator=generator)

        def module() -> nn.Module:
            kept = [each for each in mnist_cnn() if not isinstance(each, nn.Dropout | nn.Dropout2d)]
            return nn.Sequential(*kept)

        data = (inputs, targets), (inputs[:200], targets[:200])
        common = {
            "workers": N,
            "batch_size": 16,
            "epochs": steps / 4,
            "eval_every": 1.0,
            "lr": 0.05,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a run that was stopped
            made = ngo.fit(module, *data, device=device, progress=False, **(common | values))
        columns = ["step", "consensus_loss", "consensus_accuracy", "V"]
        return made.metrics[columns].astype(float).set_index("step")

    def equality(self):
        """A run on the device against the CPU, and a run that was stopped and resumed."""
        for method in list(RUNS)[: 1 if self.quick else None]:
            run = {"method": method, **RUNS[method]}
            ours, cpu = (self.trained(device, 20, **run) for device in (self.device, "cpu"))
            loss = abs(ours["consensus_loss"] / cpu["consensus_loss"] - 1).max()
            V = abs(ours["V"] - cpu["V"]).max() / cpu["V"].max() if cpu["V"].max() else 0.0
            with tempfile.TemporaryDirectory() as out:

                def stop(state) -> None:
                    if state.step == 10:
                        raise StopIteration

                self.trained(self.device, 20, **run, out=out, on_step=stop)
                resumed = self.trained(self.device, 20, **run, out=out)
            again = abs(resumed / ours.replace(0, 1) - ours / ours.replace(0, 1)).max().max()
            yield {
                "method": method,
                "loss: card − CPU, relative": float(loss),
                "V: card − CPU, relative": float(V),
                "resumed − whole, relative": float(again),
            }
            assert max(loss, V / 10, again / 10) < 1e-3, "20 steps differ by more than rounding"

    def plain(self, model: str, compiled: bool):
        """A step of one model in plain PyTorch, with the data on the device."""
        module = PLAIN[model]().to(self.device)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
        inputs = torch.randn(64, B, *MODELS[model].input_shape, device=self.device)
        targets = torch.randint(10, (64, B), device=self.device)
        forward = torch.compile(module, mode="reduce-overhead") if compiled else module
        t = 0

        def step() -> None:
            nonlocal t
            t = (t + 1) % 64
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(inputs[t]), targets[t]).backward()
            optimizer.step()

        return step

    def ours(self, model: str, backend: str, precision: str = "float32"):
        """N workers on a ring, with NGO."""
        shape, m = MODELS[model].input_shape, N * B * 16
        images = [torch.randint(256, (k, *shape), dtype=torch.uint8) for k in (m, B)]
        classes = [torch.randint(10, (k,)) for k in (m, B)]
        norm = [torch.full((shape[0], 1, 1), value) for value in (0.5, 0.3)]
        tensors = (images[0], classes[0], images[1], classes[1], *norm)
        data = Dataset("check", 10, *(each.to(self.device) for each in tensors))
        run = {"method": "ngo", "p": 0.9, "gamma": 0.1, "lr": 0.05, "epochs": 1.0}
        size = {"workers": N, "batch_size": B, "precision": precision}
        given = {"dataset": "check", "model": model, **run, **size}
        spec = resolve(given, source=Source(None, None, m, shape, 10), model=MODELS[model])
        return Stepper(spec, make_problem(spec, data), steps=1, backend=backend)

    def speed(self):
        """Samples a second: plain PyTorch with one model, and N workers of this package."""
        for model in PLAIN:
            eager = None
            for compiled in (False,) if self.quick else (False, True):
                step = self.plain(model, compiled)
                rate = B / self.seconds(step)
                eager = eager or rate
                name = "plain PyTorch, compiled" if compiled else "plain PyTorch"
                yield {"model": model, "what": name, "samples/s": rate, "of plain": rate / eager}
            on_card = (
                ("loop", "float32"),
                ("graphs", "float32"),
                ("vmap", "float32"),
                ("auto", "bfloat16"),
            )
            for backend, precision in on_card if self.device == "cuda" else (("auto", "float32"),):
                row = {"model": model, "what": f"{N} workers, {backend}, {precision}"}
                try:
                    if self.device == "cuda":
                        torch.cuda.reset_peak_memory_stats()
                    stepper = self.ours(model, backend, precision)
                    rate = N * B / self.seconds(stepper.advance)
                    row |= {"what": f"{N} workers, {stepper.population.backend}, {precision}"}
                    row |= {"samples/s": rate, "of plain": rate / eager}
                    if self.device == "cuda":
                        row["peak MiB"] = torch.cuda.max_memory_allocated() / 2**20
                except Exception as error:
                    row["error"] = f"{type(error).__name__}: {error}"[:200]
                yield row

    def entries(self):
        """Each method, coupling, … for four steps on the device and on the CPU."""
        kinds = {"method": METHODS, "coupling": COUPLINGS, "compression": COMPRESSIONS,
                 "topology": TOPOLOGIES, "local_rule": LOCAL_RULES, "attack": ATTACKS}  # fmt: skip
        bad = []
        for kind, names in kinds.items():
            for name in [name for name in names if name != "none"][: 2 if self.quick else None]:
                directed = kind == "topology" and names[name].directed
                method = {"method": "push_sum" if directed else "gossip"}
                values = {**method, **MORE.get(kind, {}), kind: name, **MORE.get(name, {})}
                row = {"kind": kind, "name": name}
                try:
                    pair = [self.trained(device, 4, **values) for device in (self.device, "cpu")]
                    apart = abs(pair[0]["consensus_loss"] / pair[1]["consensus_loss"] - 1).max()
                    row["card − CPU, relative"] = float(apart)
                    bad += [name] if not apart < 1e-3 else []
                except ngo.UserError as error:
                    row["not tried"] = str(error)[:100]
                except Exception as error:
                    row["error"] = f"{type(error).__name__}: {error}"[:200]
                    bad.append(name)
                yield row
        assert not bad, f"other results than on the CPU: {', '.join(bad)}"


PARTS = ("machine", "limits", "kernels", "equality", "entries", "speed")


def table(name: str, rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    said = [
        [f"{v:.4g}" if isinstance(v := row.get(key, ""), float) else str(v) for key in columns]
        for row in rows
    ]
    lines = [
        f"## {name}",
        "",
        *(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *said)),
    ]
    return "\n".join([*lines, "", ""])


def main() -> int:
    """Run the parts one after another; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes: does every part run?")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    args = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    args.out.mkdir(parents=True, exist_ok=True)
    check, results, failed = Check(args.device, args.quick), {}, False
    for part in args.parts:
        rows, start = [], time.perf_counter()
        try:
            for row in getattr(check, part)():
                rows.append(row)
                print(part, row, flush=True)
        except Exception as error:
            traceback.print_exc()
            failed = True
            rows.append({"error": f"{type(error).__name__}: {error}"[:300]})
        results[part] = {"seconds": time.perf_counter() - start, "rows": rows}
        (args.out / "gpu_check.json").write_text(json.dumps(results, indent=1, ensure_ascii=False))
        text = "".join(table(name, each["rows"]) for name, each in results.items() if each["rows"])
        (args.out / "gpu_check.md").write_text(text)
    return int(failed)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
