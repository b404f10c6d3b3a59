"""The playground: consensus in rounds as one HTML file that needs no other."""

from __future__ import annotations

from markupsafe import Markup

from ngo.report.templates import file, rendered

#: The parts of the script, in order.
SCRIPTS = ("mathematics", "setting", "drawing", "page", "input")


def play_page() -> str:
    """The page. The fragment of its address is a setting: ``play.html#graph=ring&p=0.5``."""
    script = Markup("\n").join(file(f"play/{name}.js") for name in SCRIPTS)
    return rendered("play/play.html.jinja", style=file("play/play.css"), script=script)


if __name__ == "__main__":
    print(play_page(), end="")
