from ngo.measures.theorems.parts import PARTS


def test_each_part_is_the_function_of_the_module_of_its_name():
    assert all(measure.__module__.endswith(f".{measure.__name__}") for measure in PARTS.values())
    assert len(set(PARTS.values())) == len(PARTS) == 20
