from model_cases import build, samples, shapes


def test_cifar100_cnn_is_that_of_cifar10_with_100_outputs():
    ours = shapes(build("cifar100_cnn"), samples("cifar100_cnn", 2))
    assert ours == [*shapes(build("cifar10_cnn"), samples("cifar10_cnn", 2))[:-1], (100,)]
