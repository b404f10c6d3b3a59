"""Fields that tell runs apart."""

from ngo.analysis.apart import pooled


def test_the_error_names_the_fields_and_the_runs():
    message = str(pooled(["method", "p"], ["run-a", "run-b"]))
    assert "distinguished here by method, p and seed alone" in message
    assert "run-a, run-b" in message
    assert "\n" not in message
