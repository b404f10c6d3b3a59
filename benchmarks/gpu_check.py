"""What a card does: its own limits, this package on it against the CPU, and samples a second.

``python benchmarks/gpu_check.py`` needs torch and the source of the package, and installs nothing.
Each part is written to ``gpu_check.json`` and ``gpu_check.md`` when it ends; a part that fails is
written with its error, and the next one starts. The exit status is 1 if a part failed.
"""

import argparse
import importlib.util
import json
import logging
import os
import platform
import statistics
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
from ngo.common.devices import deterministic
from ngo.common.seeding import torch_stream
from ngo.data.dataset import Dataset, Source
from ngo.gossip.attack import ATTACKS
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.method import METHODS
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topology import TOPOLOGIES
from ngo.gossip.weights import mixing_matrix
from ngo.models.model import MODELS
from ngo.training.problem import make_problem
from ngo.training.resolve import resolve
from ngo.training.stepper import Stepper

N, B = 10, 32  # workers, and the samples in a batch
ENTRIES = {"method": METHODS, "coupling": COUPLINGS, "compression": COMPRESSIONS,
           "topology": TOPOLOGIES, "local_rule": LOCAL_RULES, "attack": ATTACKS}  # fmt: skip
# What an entry, or each of its kind, needs.
MORE = {
    "coupling": {"method": "ngo"},
    "compression": {"method": "choco"},
    "attack": {"liars": 2},
    "implicit": {"topology": "alternating_matching"},
    "relay_sum": {"topology": "chain"},
    "ad_psgd": {"clock": "asynchronous"},
    "gt_saga": {"batch_size": 1, "epochs": 1 / 16},
    **{name: {"workers": 8} for name in ("hypercube", "one_peer_hypercube")},
}


def mnist_cnn(*dropout: nn.Module) -> nn.Sequential:
    """The paper's classifier of MNIST, in torch's own layers."""
    first = (nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), *dropout[:1])
    second = (nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(320, 50))
    return nn.Sequential(*first, *second, nn.ReLU(), *dropout[1:], nn.Linear(50, 10))


def lenet() -> nn.Sequential:
    """The paper's classifier of CIFAR-10."""
    first = (nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120))
    third = (nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    return nn.Sequential(*first, *second, *third)


PLAIN = {"mnist_cnn": lambda: mnist_cnn(nn.Dropout2d(), nn.Dropout()), "cifar10_cnn": lenet}


class Check:
    """The parts of the check, on one device; each yields the rows of its table."""

    def __init__(self, device: str, quick: bool) -> None:
        self.device, self.quick = device, quick
        self.on_card = device == "cuda"

    def seconds(self, step) -> float:
        """The median over turns of the mean seconds of a step, after a warm-up."""
        turns = 2 if self.quick else 5
        return statistics.median([self.turn(step) for _ in range(turns + 1)][1:])

    def turn(self, step) -> float:
        """The mean seconds of a step, over a third of a second."""
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < (0.05 if self.quick else 0.3):
            for _ in range(1 if self.quick else 10):
                step()
                count += 1
            if self.on_card:
                torch.cuda.synchronize()
        return (time.perf_counter() - start) / count

    def machine(self):
        """Device, driver and versions."""
        if self.on_card:
            query = "nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader"
            yield {"what": "card, driver, memory", "value": os.popen(query).read().strip()}
            yield {"what": "CUDA of torch", "value": torch.version.cuda}
        yield {"what": "processor", "value": f"{platform.machine()}, {os.cpu_count()} cores"}
        yield {"what": "python", "value": platform.python_version()}
        for name in filter(importlib.util.find_spec, ("torch", "numpy", "triton")):
            yield {"what": name, "value": importlib.import_module(name).__version__}

    def limits(self):
        """The card's own rates of matrix products and copies."""
        k = 8192 if self.on_card and not self.quick else 512
        kinds = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
        for name, dtype in kinds.items():
            a, b = (torch.randn(k, k, device=self.device).to(dtype) for _ in range(2))
            torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
            taken = self.seconds(lambda a=a, b=b: a @ b)
            yield {"what": f"{name} product of {k} × {k}", "Tflop/s": 2 * k**3 / taken / 1e12}
        torch.backends.cuda.matmul.allow_tf32 = False
        x = torch.randn(2**20 if self.quick else 2**28, device=self.device)
        y = torch.empty_like(x)
        taken = self.seconds(lambda: y.copy_(x))
        yield {"what": "copy, read and written", "GB/s": 8 * x.numel() / taken / 1e9}

    def kernels(self):
        """The gossip step against float64 on the CPU."""
        d = 2_000_000 if self.on_card and not self.quick else 1000
        for name, graph in (("ring", nx.cycle_graph(N)), ("complete", nx.complete_graph(N))):
            dense = mixing_matrix(graph)
            W = MixingMatrix.of(dense)
            for p in (0.5, 0.75, 0.95, 1.0):
                X = torch.randn(N, d, generator=torch_stream(0, "check"))
                expected = gossip_step(X[:, :1000].double(), dense.double(), 0.3, p)
                X = X.to(self.device)
                found = gossip_step(X, W, 0.3, p)
                error = float((found[:, :1000].cpu() - expected).abs().max())
                drift = float((found.double().mean(0) - X.double().mean(0)).abs().max())
                taken = self.seconds(lambda X=X, W=W, p=p: gossip_step(X, W, 0.3, p))
                row = {"graph": name, "p": p, "largest error": error, "drift of the mean": drift}
                yield {**row, "ms": 1e3 * taken, "GB/s": 8 * N * d / taken / 1e9}
                assert max(error, drift) < 1e-5, "the step is not that of float64"

    def trained(self, device: str, steps: int, **values):
        """The metrics of a run of the MNIST CNN without dropout, on images with some structure."""
        generator = torch_stream(0, "images")
        targets = torch.randint(10, (N * 64,), generator=generator)
        inputs = torch.randn(10, 1, 28, 28, generator=generator)[targets]
        inputs = inputs + torch.randn(len(targets), 1, 28, 28, generator=generator)
        size = {"workers": N, "batch_size": 16, "epochs": steps / 4, "eval_every": 1.0, "lr": 0.05}
        data = (inputs, targets), (inputs[:200], targets[:200])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a run that was stopped
            made = ngo.fit(mnist_cnn, *data, device=device, progress=False, **(size | values))
        return made.metrics.astype({"step": float}).set_index("step")[["consensus_loss", "V"]]

    def equality(self):
        """Twenty steps on the device and on the CPU; and a run that was stopped and resumed."""

        def stop(state) -> None:
            if state.step == 10:
                raise StopIteration

        runs = {"ngo": {"gamma": 0.3, "p": 0.75}, "gossip": {"gamma": 0.5}}
        runs |= {"local_sgd": {"local_steps": 4}, "centralized": {}}
        for method in list(runs)[: 1 if self.quick else None]:
            run = {"method": method, **runs[method]}
            ours, cpu = (self.trained(device, 20, **run) for device in (self.device, "cpu"))
            with tempfile.TemporaryDirectory() as out:
                self.trained(self.device, 20, **run, out=out, on_step=stop)
                resumed = self.trained(self.device, 20, **run, out=out)
            scale = cpu.abs().max().clip(lower=1e-9)
            row = {
                f"{name}: device − CPU": v for name, v in ((ours - cpu).abs().max() / scale).items()
            }
            row["resumed − whole"] = ((ours - resumed).abs().max() / scale).max()
            yield {"method": method, **row}
            assert max(row.values()) < 1e-3, "twenty steps differ by more than rounding"

    def entries(self):
        """Each method, coupling, … for four steps on the device and on the CPU."""
        bad = []
        for kind, entries in ENTRIES.items():
            for name in [name for name in entries if name != "none"][: 2 if self.quick else None]:
                directed = kind == "topology" and entries[name].directed
                values = {"method": "push_sum" if directed else "gossip", **MORE.get(kind, {})}
                values |= {kind: name, **MORE.get(name, {})}
                row = {"kind": kind, "name": name}
                try:
                    ours, cpu = (self.trained(at, 4, **values) for at in (self.device, "cpu"))
                    row["loss: device − CPU"] = abs(ours / cpu - 1)["consensus_loss"].max()
                    failed = name != "noise" and not row["loss: device − CPU"] < 1e-3  # own draws
                except ngo.UserError as error:
                    row["not tried"], failed = str(error)[:100], False
                except Exception as error:
                    row["error"], failed = f"{type(error).__name__}: {error}"[:200], True
                bad += [name] if failed else []
                yield row
        assert not bad, f"other results than on the CPU: {', '.join(bad)}"

    def plain(self, model: str, compiled: bool):
        """A step of one model in plain PyTorch, with the data on the device."""
        module = PLAIN[model]().to(self.device)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
        inputs = torch.randn(B, *MODELS[model].input_shape, device=self.device)
        targets = torch.randint(10, (B,), device=self.device)
        forward = torch.compile(module, mode="reduce-overhead") if compiled else module

        def step() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(inputs), targets).backward()
            optimizer.step()

        return step

    def ours(self, model: str, backend: str, precision: str) -> Stepper:
        """N workers on a ring, with NGO, on random images."""
        shape, m = MODELS[model].input_shape, N * B * 16
        images = [torch.randint(256, (k, *shape), dtype=torch.uint8) for k in (m, B)]
        classes = [torch.randint(10, (k,)) for k in (m, B)]
        norm = [torch.full((shape[0], 1, 1), value) for value in (0.5, 0.3)]
        tensors = (images[0], classes[0], images[1], classes[1], *norm)
        data = Dataset("check", 10, *(each.to(self.device) for each in tensors))
        given = {"dataset": "check", "model": model, "method": "ngo", "p": 0.9, "gamma": 0.1}
        given |= {"workers": N, "batch_size": B, "epochs": 1.0, "precision": precision}
        spec = resolve(given, source=Source(None, None, m, shape, 10), model=MODELS[model])
        return Stepper(spec, make_problem(spec, data), steps=1, backend=backend)

    def speed(self):
        """Samples a second of plain PyTorch with one model, and of this package with N workers."""
        deterministic()
        full, half = "float32", "bfloat16"
        on_card = [("loop", full), ("graphs", full), ("vmap", full), ("auto", half)]
        for model in PLAIN:
            eager = None
            for compiled in (False,) if self.quick else (False, True):
                rate = B / self.seconds(self.plain(model, compiled))
                eager = eager or rate
                what = "torch.compile, one model" if compiled else "plain PyTorch, one model"
                yield {"model": model, "what": what, "samples/s": rate, "of plain": rate / eager}
            for backend, precision in on_card if self.on_card else [("auto", full)]:
                if self.on_card:
                    torch.cuda.reset_peak_memory_stats()
                stepper = self.ours(model, backend, precision)
                rate = N * B / self.seconds(stepper.advance)
                what = f"{N} workers, {stepper.population.backend}, {precision}"
                row = {"model": model, "what": what, "samples/s": rate, "of plain": rate / eager}
                peak = torch.cuda.max_memory_allocated() / 2**20 if self.on_card else None
                yield {**row, "peak MiB": peak} if peak else row


PARTS = ("machine", "limits", "kernels", "equality", "entries", "speed")


def table(name: str, rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    for row in rows:
        cells = (row.get(key, "") for key in columns)
        lines.append([f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells])
    return "\n".join([f"## {name}", "", *(f"| {' | '.join(line)} |" for line in lines), "", ""])


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
    check, results = Check(args.device, args.quick), {}
    for part in args.parts:
        rows, start = [], time.perf_counter()
        try:
            for row in getattr(check, part)():
                rows.append(row)
                print(part, row, flush=True)
        except Exception as error:
            traceback.print_exc()
            rows.append({"error": f"{type(error).__name__}: {error}"[:300]})
        results[part] = {"seconds": time.perf_counter() - start, "rows": rows}
        text = json.dumps(results, indent=1, ensure_ascii=False, default=float)
        (args.out / "gpu_check.json").write_text(text + "\n")
        tables = (table(name, each["rows"]) for name, each in results.items())
        (args.out / "gpu_check.md").write_text("".join(tables).rstrip() + "\n")
    return int(any("error" in row for each in results.values() for row in each["rows"]))


if __name__ == "__main__":
    sys.exit(main())
