import logging
import sys

from running import ended, start

from ngo.cli import log


def test_messages_are_bare_lines_on_the_standard_error_of_the_moment(capsys):
    log.configure()
    log.configure()
    logging.getLogger("ngo.training").info("100% of %s")
    log.LOG.error("ngo: %s", "wrong")
    assert capsys.readouterr().err == "100% of %s\nngo: wrong\n"


def test_the_library_does_not_print_its_progress():
    code = "import logging, ngo.training.run; logging.getLogger('ngo').info('a line')"
    process = start([sys.executable, "-c", code])
    assert ended(process) == ("", "")
