"""The style of figures."""

import matplotlib as mpl
from matplotlib.figure import Figure

from ngo.figures.style import METHOD_STYLES, house_style, kth_style


def test_methods_are_told_apart_without_colour():
    looks = {(look.line, look.marker) for look in METHOD_STYLES.values()}
    assert len(looks) == len(METHOD_STYLES)
    assert len({look.line for look in METHOD_STYLES.values()}) == len(looks)


def test_a_style_keeps_its_look_under_another_label():
    look = kth_style(1, "one")
    other = look.named("other")
    assert other.label == "other"
    assert (other.colour, other.line, other.marker) == (look.colour, look.line, look.marker)


def test_variants_differ_in_line_and_marker_alone():
    look = kth_style(1, "one")
    variants = [look.variant(k, str(k)) for k in range(3)]
    assert {each.colour for each in variants} == {look.colour}
    assert len({(each.line, each.marker) for each in variants}) == 3
    assert [each.label for each in variants] == ["0", "1", "2"]


def test_marks_have_no_line():
    look = kth_style(1, "one")
    (line,) = Figure().subplots().plot([0, 1], [0, 1], **look.marks)
    assert (line.get_linestyle(), line.get_marker()) == ("None", look.marker)
    assert (line.get_color(), line.get_label()) == (look.colour, "one")


def test_matplotlibs_settings_are_restored():
    before = mpl.rcParams["font.size"]
    with house_style():
        assert mpl.rcParams["font.size"] == 8 != before
    assert mpl.rcParams["font.size"] == before


def test_the_style_holds_in_each_call_of_a_function():
    sized = house_style()(lambda: mpl.rcParams["font.size"])
    assert [sized(), sized()] == [8, 8]
