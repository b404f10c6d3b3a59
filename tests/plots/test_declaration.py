"""The facts of a figure's file, read without importing it."""

import pytest

from ngo.common.registry import UserError
from ngo.plots.declaration import check_values, read_declared

FILE = '''"""What it shows."""

raise RuntimeError("it is not imported")


@figure("own", section="5.2", title="Own", {more})
def numbers({parameters}):
    pass
'''


def facts(path, more="", parameters="metrics"):
    (path / "own.py").write_text(FILE.format(more=more, parameters=parameters))
    return read_declared(path / "own.py")


def test_facts_are_literals_of_the_file(tmp_path):
    found = facts(
        tmp_path,
        'reads={"a": "fig1", "b": "fig2"}, tables=("more",), reference="t", values={"x": (0, 1)}',
        "a, b, reference, network, x",
    )
    assert found.text == "What it shows."
    assert found.parameters == ("a", "b", "reference", "network", "x", "tier", "out")
    assert found.outputs() == [
        *(f"figures/own.{kind}" for kind in ("png", "pdf", "csv")),
        *(f"tables/more.{kind}" for kind in ("csv", "md", "tex", "html")),
        "captions/own.rst",
    ]
    assert facts(tmp_path).reads == {"metrics": "own"}


@pytest.mark.parametrize(
    ("more", "parameters", "message"),
    [
        ("apart=f()", "metrics", "takes a name and literal values"),
        ("size=3", "metrics", "'size' is unknown; allowed: section, title"),
        ("", "metrics, other", "has the parameter 'other', which nothing provides"),
        ("", "metrics, reference", "has the parameter 'reference', which nothing provides"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, more, parameters, message):
    with pytest.raises(UserError, match=message) as error:
        facts(tmp_path, more, parameters)
    assert "\n" not in str(error.value)


def test_a_file_without_a_figure_or_a_text_is_one_line(tmp_path):
    for text in (
        "def numbers():\n    pass\n",
        "def (",
        '@figure("a")\ndef numbers(m):\n    pass\n',
    ):
        (tmp_path / "own.py").write_text(text)
        with pytest.raises(UserError, match=r"^figure: '.*own.py'"):
            read_declared(tmp_path / "own.py")


def test_the_figure_of_an_experiment_is_named_after_it(tmp_path):
    found = facts(tmp_path, 'tables=("own",)').of("mine")
    assert (found.name, found.title, found.reads) == ("mine", "mine", {"metrics": "mine"})
    assert found.figures == found.tables == ("mine",)
    assert found.default


def test_numbers_of_the_config_are_above_the_first_and_at_most_the_second(tmp_path):
    found = facts(tmp_path, 'values={"x": (0, 1)}', "metrics, x")
    check_values("k", found, {"x": 1}, asked=True)
    check_values("k", found, {}, asked=False)
    for given, message in (
        ({"x": 0}, "k.x: 0 is not"),
        ({"y": 1}, "'y' is unknown"),
        ({}, "missing"),
    ):
        with pytest.raises(UserError, match=message):
            check_values("k", found, given, asked=True)
