import matplotlib.pyplot as plt
from small_theory import small_parts

from ngo.figures.theory_plots import theory_figure


def test_the_figure_has_a_panel_and_the_data_of_each_table(tmp_path):
    measured = small_parts(tmp_path)
    figure = theory_figure(*(measured[kind] for kind in ("bounds", "delays", "gaps", "floors")))
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    ratios = measured["bounds"]["measured"] / measured["bounds"]["paper"]
    assert times.get_ydata().tolist() == ratios.tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start
    plt.close(figure)
