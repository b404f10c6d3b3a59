"""The playground: consensus in rounds as one HTML file that needs no other."""

from __future__ import annotations

from markupsafe import Markup

from ngo.report.contents import text
from ngo.report.html_page import FOLDER, environment

SCRIPTS = ("mathematics", "setting", "drawing", "page", "input")
"""The parts of the script, in order."""


def play_page() -> str:
    """The page. The fragment of its address is a setting: ``play.html#graph=ring&p=0.5``."""
    play = FOLDER / "play"
    script = "\n".join(text(play / f"{name}.js") for name in SCRIPTS)
    template = environment().get_template("play/play.html.jinja")
    return template.render(style=Markup(text(play / "play.css")), script=Markup(script)) + "\n"


if __name__ == "__main__":
    print(play_page(), end="")
