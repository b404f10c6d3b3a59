import pytest
import torch

from ngo.bench import matrix_products
from ngo.bench.matrix_products import matrix_product, matrix_product_on_one_thread, multiply_adds


def test_a_convolutional_model_counts_the_weights_at_each_position():
    # Forward, weights' gradients, and inputs' gradients in all layers but the first.
    first, others = 24 * 24 * 250, 8 * 8 * 5000 + 320 * 50 + 50 * 10
    assert multiply_adds("mnist_cnn") == 2 * first + 3 * others == 1_297_500


@pytest.mark.parametrize("prepare", [matrix_product, matrix_product_on_one_thread])
def test_a_product_has_as_many_multiply_adds_as_a_step(prepare, monkeypatch):
    shapes, threads = [], torch.get_num_threads()

    def mm(a, b, out):
        shapes.append((*a.shape, b.shape[1]))

    monkeypatch.setattr(torch, "mm", mm)
    monkeypatch.setattr(matrix_products, "multiply_adds", lambda model: 500)
    try:
        assert prepare(model="mnist_fc", n=2, b=8, device="cpu")() == 0
    finally:
        torch.set_num_threads(threads)
    assert shapes == [(20, 20, 20)]
