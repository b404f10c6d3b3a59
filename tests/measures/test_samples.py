import numpy as np
import pytest
import torch
from kept_models import keep_models

from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.measures.samples import SamplesOptions, samples_table
from ngo.training.snapshots import restored

pytestmark = pytest.mark.filterwarnings("error")


def table_of(folder, **values):
    return samples_table(SamplesOptions(**values), [folder / "m.pt"], folder)


def image(table, kind, worker, k, step):
    chosen = (table["kind"] == kind) & (table["worker"] == worker) & (table["step"] == step)
    return table[chosen & (table["image"] == k)]["value"].to_numpy()


def test_samples_of_an_autoencoder_are_those_of_its_modules(tmp_path):
    spec, snapshots = keep_models(tmp_path / "m.pt", (1, 2), dataset="digits", model="mnist_vae")
    table = table_of(tmp_path, images=2, seed=5)
    assert len(table) == 2 * 784 * 2 * (2 + 4)
    tests = loading.load("digits", tmp_path).test_inputs[:2]
    consensus, *workers = (m.eval() for m in restored(spec, snapshots[2]).models())
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


def test_predictions_of_a_regression(tmp_path):
    spec, snapshots = keep_models(tmp_path / "m.pt", dataset="sine", model="toy_net")
    table = table_of(tmp_path, images=11, seed=0)
    data = loading.load("sine", tmp_path)
    points = table[table["kind"] == "target"]
    assert points["y"].tolist() == data.test_targets[:200, 0].tolist()
    modules = [m.eval() for m in restored(spec, snapshots[3]).models()]
    for worker, module in enumerate(modules, start=-1):
        own = table[(table["kind"] == "prediction") & (table["worker"] == worker)]
        assert set(own["who"]) == {"consensus" if worker < 0 else "worker"}
        ends = [data.test_inputs.min().item(), data.test_inputs.max().item()]
        assert [own["x"].iloc[0], own["x"].iloc[-1]] == ends
        x = torch.tensor(own["x"].to_numpy(), dtype=torch.float32)[:, None]
        assert own["y"].tolist() == pytest.approx(module(x)[:, 0].tolist(), abs=1e-6)
