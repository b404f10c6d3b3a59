"""What is measured on kept models, partitions and the engine, and the figures of it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from ngo import datasets, plots
from ngo.alignment import alignment_table
from ngo.measured_plots import (
    alignment_figure,
    class_figure,
    generations_figure,
    pixel_rows,
    samples_figure,
    throughput_figure,
)
from ngo.models import MODELS
from ngo.population import Population
from ngo.registry import UserError
from ngo.samples import _expected, samples_table
from ngo.seeding import torch_stream
from ngo.snapshots import restored, save_snapshots
from ngo.spec import resolve
from ngo.throughput import throughput_table

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def style():
    plots.house_style()
    yield
    plt.close("all")


def kept(path, steps=(3,), spread=0.1, **given):
    """A run's file of models: three workers some way apart, in place of trained ones."""
    spec = resolve({"workers": 3, "batch_size": 4, "task": MODELS[given["model"]].task, **given})
    population = Population(spec.model, spec.workers, spec.seed)
    noise = torch.randn(population.X.shape, generator=torch_stream(spec.seed, "test"))
    X = population.X + spread * noise
    snapshots = {step: {"X": X * step, "buffers": population.buffers.clone()} for step in steps}
    save_snapshots(path, spec, snapshots)
    return spec, snapshots


# Alignment


def test_the_gradients_of_least_squares_are_those_of_the_formula(tmp_path):
    """∇F(w) = 2/m Aᵀ(Aw − b) on all m samples, at w̄ + s(w_i − w̄)."""
    _, snapshots = kept(tmp_path / "m.pt", dataset="least_squares", model="linear", spread=1.0)
    data = datasets.load("least_squares", tmp_path)
    m = len(data.train_inputs)
    table = alignment_table(tmp_path / "m.pt", [0, 0.5, 2], m, 0, tmp_path)
    A, b = data.train_inputs.double(), data.train_targets.double()
    X = snapshots[3]["X"].double()
    mean = X.mean(0)

    def gradient(w):
        return 2 / m * A.T @ (A @ w[:, None] - b)[:, 0]

    at_mean = gradient(mean)
    for scale, rows in table.groupby("scale"):
        assert rows["worker"].tolist() == [-1, 0, 1, 2]
        V0 = ((X - mean) ** 2).sum().item()
        assert rows["V"].to_numpy() == pytest.approx(scale**2 * V0, rel=1e-5)
        own = torch.stack([gradient(mean + scale * (x - mean)) for x in X])
        cosines = torch.cosine_similarity(own, at_mean[None])
        assert rows["cosine"].iloc[1:].tolist() == pytest.approx(cosines.tolist(), abs=1e-5)
        norms = own.norm(dim=1) / at_mean.norm()
        assert rows["relative_norm"].iloc[1:].tolist() == pytest.approx(norms.tolist(), rel=1e-4)
        # The gradient is affine in w: the mean of the workers' is that at their mean.
        assert rows[["cosine", "relative_norm"]].iloc[0].tolist() == pytest.approx([1, 1], rel=1e-5)


def test_synced_workers_have_the_gradient_at_their_mean_with_dropout_off(tmp_path):
    kept(tmp_path / "m.pt", (2, 3), dataset="digits", model="mnist_cnn", protocol="gossip")
    table = alignment_table(tmp_path / "m.pt", [0, 1], 20, 0, tmp_path)
    assert set(table["step"]) == {3}
    synced = table[table["scale"] == 0]
    assert (synced["V"] == 0).all()
    assert synced["cosine"].to_numpy() == pytest.approx(1, abs=1e-9)
    assert synced["relative_norm"].to_numpy() == pytest.approx(1, abs=1e-9)
    assert (table.loc[table["scale"] == 1, "cosine"] < 0.999).all()
    assert table["protocol"].unique().tolist() == ["gossip"]
    pd.testing.assert_frame_equal(
        table, alignment_table(tmp_path / "m.pt", [0, 1], 20, 0, tmp_path)
    )


def test_more_samples_than_there_are_is_an_error(tmp_path):
    kept(tmp_path / "m.pt", dataset="digits", model="mnist_cnn")
    with pytest.raises(UserError, match="samples: 1438 is more than digits's 1437 training"):
        alignment_table(tmp_path / "m.pt", [1], 1438, 0, tmp_path)


# Samples


def image(table, kind, worker, k, step):
    chosen = (table["kind"] == kind) & (table["worker"] == worker) & (table["step"] == step)
    return table[chosen & (table["image"] == k)]["value"].to_numpy()


def test_samples_of_an_autoencoder_are_those_of_its_modules(tmp_path):
    spec, snapshots = kept(tmp_path / "m.pt", (1, 2), dataset="digits", model="mnist_vae")
    table = samples_table(tmp_path / "m.pt", 2, 5, tmp_path)
    assert len(table) == 2 * 784 * 2 * (2 + 4)
    tests = datasets.load("digits", tmp_path).test_inputs[:2]
    consensus, *workers = (m.eval() for m in restored(spec, snapshots[2]).modules())
    codes = torch.randn(2, 2, generator=torch_stream(5, "samples"))
    with torch.no_grad():
        again = consensus.decode(consensus.encode(tests / 255)[0]).sigmoid() * 255
        drawn = [model.decode(codes).sigmoid() * 255 for model in (consensus, *workers)]
    for k in range(2):
        assert image(table, "original", -1, k, 2).tolist() == tests[k].flatten().tolist()
        shown = image(table, "reconstruction", -1, k, 2)
        assert np.abs(shown - again[k].flatten().numpy()).max() <= 0.51
        for worker, images in enumerate(drawn, start=-1):
            shown = image(table, "generation", worker, k, 2)
            assert np.abs(shown - images[k].flatten().numpy()).max() <= 0.51
    assert not np.array_equal(
        image(table, "generation", 0, 0, 2), image(table, "generation", 1, 0, 2)
    )


def test_expected_levels():
    sure = torch.full((1, 256, 3, 1, 2), -1e4)
    sure[0, 7, 0] = sure[0, 255, 1] = sure[0, 0, 2] = 0
    assert _expected(sure).tolist() == [[[[7, 7]], [[255, 255]], [[0, 0]]]]
    even = torch.zeros(1, 256, 1, 1, 1)
    even[0, 128:] = -1e4  # levels 0 to 127 alike: 63.5
    assert _expected(even).item() == 64
    grey = torch.tensor([-1e4, 0, 1e4, float("nan")]).view(1, 1, 1, 4)
    assert _expected(grey).flatten().tolist() == [0, 128, 255, 0]


def test_predictions_of_a_regression(tmp_path):
    spec, snapshots = kept(tmp_path / "m.pt", dataset="sine", model="toy_net")
    table = samples_table(tmp_path / "m.pt", 11, 0, tmp_path)
    data = datasets.load("sine", tmp_path)
    points = table[table["kind"] == "target"]
    assert points["y"].tolist() == data.test_targets[:200, 0].tolist()
    modules = [m.eval() for m in restored(spec, snapshots[3]).modules()]
    for worker, module in enumerate(modules, start=-1):
        own = table[(table["kind"] == "prediction") & (table["worker"] == worker)]
        assert set(own["who"]) == {"consensus" if worker < 0 else "worker"}
        ends = [data.test_inputs.min().item(), data.test_inputs.max().item()]
        assert [own["x"].iloc[0], own["x"].iloc[-1]] == ends
        x = torch.tensor(own["x"].to_numpy(), dtype=torch.float32)[:, None]
        assert own["y"].tolist() == pytest.approx(module(x)[:, 0].tolist(), abs=1e-6)


def test_a_classifier_has_no_samples_to_show(tmp_path):
    kept(tmp_path / "m.pt", dataset="digits", model="mnist_cnn")
    with pytest.raises(UserError, match="'classification' is unknown; allowed: regression, vae"):
        samples_table(tmp_path / "m.pt", 2, 0, tmp_path)


# Throughput


def test_throughput_counts_all_workers_samples_in_turns(tmp_path):
    specs = [
        resolve({"dataset": "sine", "model": "toy_net", "task": "regression", "protocol": name})
        for name in ("centralized", "gossip", "ngo")
    ]
    table = throughput_table(specs, [1, 3], 2, 2, tmp_path)
    cases = [("centralized", 1), ("centralized", 3), ("gossip", 1), ("gossip", 3), ("ngo", 1)]
    cases.append(("ngo", 3))
    assert list(zip(table["protocol"], table["workers"], strict=True)) == 2 * cases
    assert table["repeat"].tolist() == [0] * 6 + [1] * 6
    trained = 2 * table["workers"] * 32
    assert (table["samples_per_second"] * table["seconds"]).tolist() == pytest.approx(
        trained.tolist()
    )
    assert (table["seconds"] > 0).all()


# Figures


@pytest.fixture
def counts():
    grid = [(w, k, 3 * (w == k)) for w in range(4) for k in range(5)]
    frame = pd.DataFrame(grid, columns=["worker", "label", "samples"])
    return frame.assign(dataset="digits", partition="shards", seed=0)


def aligned(seeds=2, diverged=()):
    rows = [
        {"run": f"r{seed}", "dataset": "digits", "protocol": "gossip", "topology": "ring",
         "seed": seed, "diverged": seed in diverged, "scale": scale, "worker": worker,
         "V": float("nan") if seed in diverged else (1 + seed) * scale**2,
         "cosine": float("nan") if seed in diverged else 1 / (1 + scale) + 0.01 * worker,
         "relative_norm": float("nan") if seed in diverged else 1 + scale}
        for seed in range(seeds) for scale in (0.0, 1.0, 2.0) for worker in range(-1, 3)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def pictures(workers, shape, steps=(2, 200), dataset="digits"):
    levels = np.random.default_rng(0)
    tables = []
    for step in steps:
        for kind, worker in [("original", -1), ("reconstruction", -1)] + [
            ("generation", i) for i in range(-1, workers)
        ]:
            names = ["image", "channel", "row", "column"]
            index = pd.MultiIndex.from_product(map(range, (3, *shape)), names=names)
            facts = {"run": f"{dataset}-0", "dataset": dataset, "seed": 0, "step": step}
            pixels = index.to_frame(index=False)
            pixels["value"] = levels.integers(0, 256, len(pixels))
            own = {"diverged": step == 2, "kind": kind, "worker": worker}
            tables.append(pd.DataFrame({**facts, **own, **pixels}))
    return pd.concat(tables, ignore_index=True)


def test_fig2_shows_means_over_seeds_against_v():
    figure = alignment_figure(aligned())
    direction, length = figure.axes
    workers, mean = (container.lines[0] for container in direction.containers)
    assert workers.get_xdata().tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert workers.get_ydata().tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert mean.get_ydata().tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert direction.lines[0].get_xdata() == pytest.approx([2**0.5] * 2)  # as trained
    assert length.containers[0].lines[0].get_ydata().tolist() == pytest.approx([1, 2, 3])
    assert direction.get_title() == "direction: digits, gossip, ring"


def test_fig2_takes_no_runs_that_differ_otherwise_for_seeds():
    with pytest.raises(UserError, match="dataset, protocol, topology and seed alone.* r0, r1;"):
        alignment_figure(aligned().assign(seed=0))


@pytest.mark.parametrize("diverged", [(1,), (0, 1)])
def test_fig2_counts_the_runs_that_diverged(tmp_path, diverged):
    figure = alignment_figure(aligned(diverged=diverged))
    assert figure.axes[0].texts[0].get_text() == f"× {len(diverged)} of 2 runs diverged"
    plots.save_figure(figure, tmp_path / "fig2", aligned())


def test_fig_s2_shows_the_counts_and_the_classes_covered(counts):
    axis = class_figure(counts).axes[0]
    assert axis.get_title() == "digits, shards,\nseed 0: 4 of 5 classes"
    assert axis.collections[0].get_array().sum() == 12
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("worker", "class")


def test_fig_s5_shows_the_last_step_in_grey_and_colour():
    grey, colour = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    figure = samples_figure(pd.concat([grey, colour], ignore_index=True))
    left, right, left_colour, right_colour = figure.axes
    assert left.images[0].get_array().shape == (4 * 5 - 1, 2 * 6 - 1)
    assert right.images[0].get_array().shape == (3 * 5 - 1, 2 * 6 - 1)
    assert right_colour.images[0].get_array().shape == (3 * 5 - 1, 3 * 6 - 1, 3)
    last = colour[(colour["step"] == 200) & (colour["kind"] == "reconstruction")]
    first = last[last["image"] == 0].sort_values(["row", "column", "channel"])["value"]
    shown = left_colour.images[0].get_array()[5:9, :5]  # below its original
    assert shown.ravel().tolist() == first.tolist()


def test_fig_a1_shows_each_step_with_a_column_for_each_worker():
    table = pictures(2, (1, 4, 5))
    early, late = generations_figure(table).axes
    assert early.get_title() == "after 2 iterations, diverged"
    assert late.get_title() == "after 200 iterations"
    own = table[(table["step"] == 200) & (table["kind"] == "generation") & (table["worker"] == 1)]
    third = own[own["image"] == 2].sort_values(["row", "column"])["value"]
    assert late.images[0].get_array()[10:14, 6:11].ravel().tolist() == third.tolist()


def test_pixels_are_written_a_row_of_an_image_at_a_time():
    table = pictures(1, (1, 4, 5), steps=(3,))
    rows = pixel_rows(table)
    assert len(rows) == 4 * 3 * 4  # kinds and models, images, rows
    last = table[(table["kind"] == "original") & (table["image"] == 2) & (table["row"] == 3)]
    chosen = rows[(rows["kind"] == "original") & (rows["image"] == 2) & (rows["row"] == 3)]
    assert chosen[[f"x{k}" for k in range(5)]].iloc[0].tolist() == last["value"].tolist()


def test_fig_a2_shows_medians_and_their_speed_up():
    rows = [
        {"protocol": protocol, "workers": n, "repeat": k, "samples_per_second": rate * n * (k + 1)}
        for protocol, rate in (("gossip", 10.0), ("ngo", 5.0))
        for n in (1, 2, 4)
        for k in range(3)
    ]
    left, right = throughput_figure(pd.DataFrame(rows)).axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "speed-up over one worker"


def test_figures_are_the_same_bytes_each_time(tmp_path, counts):
    table = pictures(2, (1, 4, 5))
    for name in ("a", "b"):
        for stem, figure, shown in (
            ("figS2", class_figure(counts), counts),
            ("figS5", samples_figure(table), pixel_rows(table)),
        ):
            plots.caption(figure, "Tier test.")
            plots.save_figure(figure, tmp_path / name / stem, shown)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"{s}.{k}" for s in ("figS2", "figS5") for k in ("csv", "pdf", "png")]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    back = pd.read_csv(tmp_path / "a/figS2.csv")
    assert back["samples"].tolist() == counts["samples"].tolist()
