import pytest
import torch
from conftest import apart, batch


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_give_the_bytes_of_the_loop(threads):
    expected = apart("mnist_cnn", 3, "loop")
    found = apart("mnist_cnn", 3, "threads", threads=threads)
    for step in range(2):
        given = batch("mnist_cnn", 3, seed=step)
        assert torch.equal(found.gradients(given), expected.gradients(given))
        assert torch.equal(found.G, expected.G)
