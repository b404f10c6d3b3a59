import math

import pytest
import torch
from kept_models import keep_models
from torch import nn

from ngo.engine.population import Population
from ngo.measures.lora import LoraOptions, lora_table, merge_products
from ngo.models.model import Model
from ngo.models.transformer import SCALE, with_lora

pytestmark = pytest.mark.filterwarnings("error")


def line(*factors):
    """Workers whose models are x ↦ SCALE · b·a·x, with these pairs (a, b)."""

    def build(generator):
        linear = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(linear.weight)
        return with_lora(nn.Sequential(linear), rank=1)

    model = Model(build, input_shape=(1,), task="regression")
    population = Population(model, len(factors), seed=0)
    population.X.copy_(torch.tensor(factors))
    return population


def slope(population):
    return population.models()[0](torch.ones(1, 1)).item()


def test_the_mean_of_products_is_not_the_product_of_means():
    """Factors 1, 1 and 3, 3: the products' mean is (1 + 9)/2 = 5, and that of the means 4."""
    population = line((1.0, 1.0), (3.0, 3.0))
    assert slope(population) == pytest.approx(4 * SCALE)
    assert merge_products(population) == pytest.approx(1 / 5)
    assert slope(population) == pytest.approx(5 * SCALE)


def test_they_coincide_if_the_workers_agree_or_share_one_factor():
    for factors in ([(2.0, 3.0)] * 3, [(2.0, 1.0), (2.0, 5.0), (2.0, 3.0)]):
        population = line(*factors)
        before = slope(population)
        assert merge_products(population) == pytest.approx(0, abs=1e-12)
        assert slope(population) == pytest.approx(before) == 6 * SCALE
    assert merge_products(line((1.0, 0.0))) == 0


def table(folder, **given):
    text = {"dataset": "markov_text", "model": "gpt_char_lora", "dialects": 2, **given}
    keep_models(folder / "m.pt", **text)
    return lora_table(LoraOptions(), [folder / "m.pt"], folder)


def test_the_table_has_both_means(tmp_path):
    rows = table(tmp_path, steps=(1, 2), spread=0.3)
    assert rows["mean_of"].tolist() == ["factors", "products"] * 2
    assert rows["step"].tolist() == [1, 1, 2, 2]
    assert (rows["dialects"] == 2).all()
    assert rows["product_distance"].between(0.01, 10).all()
    assert rows.groupby("step")["loss"].nunique().tolist() == [2, 2]
    assert rows["accuracy"].between(0, 1).all()
    assert rows["loss"].between(0, math.inf).all()
