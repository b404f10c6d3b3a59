"""Tiny runs: at least one for each entry of every registry that a field of a run names.

As a script, ``python tiny_runs.py FILE`` trains all of them in one process, with the package that
is on the path, and writes as JSON, by name: the results version of the run and the SHA-256 of its
metrics, or why it is refused. A run whose pulls are computed with a rounding number also has this
number, and its metrics after one step. It uses public names and the command ``ngo train`` alone, so
that it runs with the packages of earlier revisions.
"""

import hashlib
import json
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

BASE = {
    "dataset": "least_squares", "model": "linear", "task": "regression", "workers": 8,
    "batch_size": 8, "epochs": 0.04, "eval_every": 0.02, "gamma": 0.5, "backend": "loop",
}  # fmt: skip
IMAGES = {"dataset": "digits", "model": "mnist_fc", "task": "classification", "workers": 2}
IMAGES |= {"epochs": 0.03, "eval_every": 0.03}
TINY = {"workers": 2, "batch_size": 2, "epochs": 0.25, "eval_every": 0.25}
COLOURS = {**TINY, "dataset": "tiny_32", "task": "classification"}
TEXT = {"dataset": "markov_text", "task": "next_character", "workers": 2, "batch_size": 2}
TEXT |= {"epochs": 0.0005, "eval_every": 0.0005, "eval_images": 4}
GRAPH = {"graph": "graph.edgelist"}

#: Files that runs name.
FILES = {
    "graph.edgelist": "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n0 4\n",
    "churn.csv": "time,worker,event\n1.5,2,leaves\n2.5,2,comes\n",
    "links.csv": "time,sender,receiver,latency,bandwidth\n0,0,1,0.5,1000\n1,1,0,0.2,2000\n",
    "speeds.csv": "time,worker,seconds\n" + "".join(f"0,{k},{1 + k / 8}\n" for k in range(8)),
}


def each(names, **needed):
    """Entries, each with the further values that its run needs."""
    return dict.fromkeys(names.split(), needed)


#: By field: its entries. Where it can, the run of an entry differs from those of its neighbours.
ENTRIES = {
    "dataset": {
        **each("least_squares"),
        **each("digits", **IMAGES),
        **each("sine", model="toy_net"),
        **each("markov_text", **TEXT, model="gpt_char_small"),
    },
    "model": {
        **each("linear"),
        **each("toy_net", dataset="sine"),
        **each("mnist_cnn mnist_fc", **IMAGES),
        **each("mnist_vae mnist_vae_20", **{**IMAGES, "task": "vae"}),
        **each("cifar10_cnn cifar100_cnn", **COLOURS),
        **each("cifar10_vae", **{**COLOURS, "task": "vae"}),
        **each("resnet18", **{**COLOURS, "dataset": "tiny_64"}),
        **each("gpt_char gpt_char_small gpt_char_lora", **TEXT),
    },
    "task": {
        **each("regression"),
        **each("classification", **IMAGES),
        **each("vae", **{**IMAGES, "model": "mnist_vae"}),
        **each("next_character", **TEXT, model="gpt_char_small"),
    },
    "partition": {
        **each("iid equal quantity"),
        **each("shards dirichlet", **IMAGES),
        **each("cliques", **{**IMAGES, "workers": 4}, label_clique=2),
        **each("dirichlet_min", **IMAGES, beta=0.1),
        **each("natural", **TEXT, model="gpt_char_small"),
    },
    "augmentation": each("none crop_flip", **IMAGES),
    "topology": {
        **each(
            "alternating_matching chain complete empty epidemic_regular erdos_renyi "
            "exponential hypercube one_peer_hypercube ou_equi_dyn random random_matching "
            "random_regular ring small_world star torus u_equi_static"
        ),
        **each(
            "d_equi_static directed_exponential directed_ring epidemic_out od_equi_dyn "
            "one_peer_exponential",
            method="push_sum",
        ),
        **each("base_graph", workers=6),
        **each("d_cliques", clique_size=4),
        **each("graph_file", **GRAPH),
        **each("directed_graph_file", **GRAPH, method="push_sum"),
    },
    "weights": each("metropolis uniform", topology="small_world"),
    "method": {
        **each(
            "admm centralized choco clique_averaging d2 delayed dsgd dsgd_ac exact_diffusion extra "
            "gossip gossip_until gradient_tracking gt_saga momentum_tracking ngo proxskip "
            "push_sum quasi_global quasi_global_apart"
        ),
        **each("diloco gasloc local_sgd noloco outer post_local_sgd", local_steps=2),
        **each("ad_psgd async_push_sum", clock="asynchronous", speed="log_normal"),
        **each("epidemic", topology="epidemic_out"),
        **each("relay_sum", topology="chain"),
    },
    "initialization": each("same by_worker"),
    "order": each("adapt_then_combine combine_then_adapt"),
    "local_rule": each("sgd momentum nesterov adam adamw", weight_decay=0.1),
    "coupling": {
        **each("power capped", p=0.6),
        **each("clipped clipped_adaptive fixed_time median"),
        **each("trimmed_mean", topology="complete"),
        **each("implicit", topology="random_matching"),
    },
    "compression": each("none qsgd random_k sign top_k", method="choco"),
    "schedule": {
        **each("constant"),
        **each("phases", second_topology="star", third_phase=0.7, third_topology="complete"),
    },
    "attack": each("none alie dissensus noise sign_flip"),
    "lr_schedule": each("constant cosine step"),
    "short_share": {**each("error"), **each("repeat", batch_size=1000, epochs=3.0)},
    "objective": each("workers samples", partition="quantity"),
    "clock": {**each("steps waiting"), **each("asynchronous", speed="log_normal")},
    "precision": each("float32 bfloat16"),
    "backend": each("auto compiled loop threads vmap"),
    "churn": {
        **each("none", clock="waiting"),
        **each("churn_trace", clock="waiting", churn_file="churn.csv"),
    },
    "links": {
        **each("uniform", clock="waiting"),
        **each("link_trace", clock="waiting", link_file="links.csv"),
    },
    "speed": {
        **each("constant log_normal log_normal_workers", clock="waiting"),
        **each("speed_trace", clock="waiting", speed_file="speeds.csv"),
    },
    "joins": each("every_pair in_a_ring", topology="d_cliques", clique_size=2),
    "outer_rule": each("nesterov momentum", method="diloco"),
    "outer_momentum_of": each("sent pulled", method="gasloc"),
}

#: Couplings whose pulls, but for p = 1, are rounded by a number (``ngo.native.build.ROUNDING``).
ROUNDED = ("power", "capped", "implicit")
#: Epochs of a run of one step.
ONE_STEP = 2e-5

#: Entries that need files to be downloaded, or a GPU.
UNTRAINED = {
    "dataset": ("cifar10", "cifar100", "fashion_mnist", "mnist", "tinyimagenet"),
    "backend": ("graphs",),
    "precision": ("tf32",),
}


def add_data_set(side):
    """Register the data set ``tiny_SIDE``, of random colour images."""
    import numpy as np

    import ngo

    @ngo.dataset(f"tiny_{side}", train_samples=16, input_shape=(3, side, side), classes=10)
    def read(root):
        images = np.random.default_rng(side).integers(0, 256, (24, 3, side, side), np.uint8)
        labels = np.arange(24) % 10
        return ngo.Arrays(images[:16], labels[:16], images[16:], labels[16:])


def trained(values, out):
    """What the script writes of one run."""
    import numpy as np
    from pyarrow import parquet

    from ngo.cli.cli import main
    from ngo.native import build

    words = [word for k, v in values.items() for word in (f"--{k.replace('_', '-')}", str(v))]
    words += ["--device", "cpu", "--threads", "1", "--data-root", ".", "--out", out]
    try:
        main(["train", *words], standalone_mode=False)
    except Exception as error:  # also an option that an earlier revision does not have
        return {"refused": str(error)}
    table, digest = parquet.read_table(f"{out}/metrics.parquet"), hashlib.sha256()
    for name in sorted(table.column_names):
        digest.update(name.encode() + np.asarray(table[name]).tobytes())
    record = json.loads(Path(out, "run.json").read_text())
    found = {"version": record["about"]["code"], "sha256": digest.hexdigest()}
    if record["spec"]["coupling"] in ROUNDED and record["spec"]["p"] != 1:
        found["rounding"] = getattr(build, "ROUNDING", 1)
        if values["epochs"] != ONE_STEP:
            least = {**values, "epochs": ONE_STEP, "eval_every": ONE_STEP}
            found["one_step"] = trained(least, f"{out}.1").get("final", {})
        else:
            found["final"] = record["final"]
    return found


def main(file):
    add_data_set(32)
    add_data_set(64)
    found, file = {}, Path(file).resolve()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, text in FILES.items():
            Path(name).write_text(text)
        for field, entries in ENTRIES.items():
            for name, needed in entries.items():
                values = {**BASE, **needed, field: name}
                found[f"{field} {name}"] = trained(values, f"{field}.{name}")
    file.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
