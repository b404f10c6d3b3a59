import pytest
import torch

from ngo.common.registry import UserError
from ngo.gossip.parts import parts
from ngo.gossip.topology import TOPOLOGIES

TORUS = TOPOLOGIES["torus"]


def of_a_ring(length):
    """The eigenvalues of a ring's Laplacian; two workers have a single edge."""
    k = torch.arange(length, dtype=torch.float64)
    return 2 * k if length == 2 else 2 - 2 * torch.cos(2 * torch.pi * k / length)


@pytest.mark.parametrize(
    ("n", "rows", "degree"), [(4, 2, 2), (6, 2, 3), (9, 3, 4), (12, 3, 4), (16, 4, 4), (20, 4, 4)]
)
def test_the_eigenvalues_of_a_torus(n, rows, degree):
    """W = I − L/(degree + 1), and L has the sums of the eigenvalues of a row and of a column."""
    L = (of_a_ring(rows)[:, None] + of_a_ring(n // rows)).flatten()
    W = TORUS.matrix(n).dense()
    assert ((W != 0).sum(1) == degree + 1).all()
    expected = (1 - L / (degree + 1)).sort().values
    assert torch.allclose(torch.linalg.eigvalsh(W), expected, atol=1e-12)


def test_what_is_said_of_it_is_true_of_small_ones():
    said = next(part.summary for part in parts("topology") if part.name == "torus")
    assert said.endswith("four neighbours each, from three rows on")
    most = {n: int((TORUS.matrix(n).dense() != 0).sum(1).max()) - 1 for n in (4, 6, 8, 9, 10, 12)}
    assert most == {4: 2, 6: 3, 8: 3, 9: 4, 10: 3, 12: 4}


def test_the_neighbours_of_a_worker():
    """Rows 0–3, 4–7 and 8–11: worker 7 is at the end of the second."""
    assert TORUS.matrix(12).dense()[7].nonzero().flatten().tolist() == [3, 4, 6, 7, 11]


@pytest.mark.parametrize(("n", "possible"), [(2, 4), (3, 4), (7, 8)])
def test_a_prime_number_of_workers_is_refused(n, possible):
    message = f"workers can't be {n}; {possible} is possible"
    with pytest.raises(UserError, match=message):
        TORUS.check_values(n)
    with pytest.raises(UserError, match=message):
        TORUS.edges(n)
