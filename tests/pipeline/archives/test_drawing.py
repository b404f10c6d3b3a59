from ngo.pipeline.archives.drawing import drawn, missed


def test_a_run_is_drawn_uniformly_by_the_seed():
    names = [f"run{k}" for k in range(10)]
    assert drawn(names, 3, 1) == drawn(names[::-1], 3, 1)
    assert drawn(names, 99, 1) == names
    counts = dict.fromkeys(names, 0)
    for seed in range(3000):
        for name in drawn(names, 2, seed):
            counts[name] += 1
    assert all(500 < count < 700 for count in counts.values())  # 600 ± 4.5 standard deviations


def test_the_probability_of_missing_a_forgery_is_that_of_drawing_without_replacement():
    assert missed(20, 0, 0.5) == 1
    assert missed(20, 20, 0) == 0  # a share of 0 stands for a single one
    assert missed(20, 3, 1) == 0
    misses = sum(not any(name < 2 for name in drawn(range(20), 3, seed)) for seed in range(3000))
    assert abs(missed(20, 3, 0.1) - misses / 3000) < 0.035
