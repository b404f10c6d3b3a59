import pytest

from ngo.common.registry import UserError
from ngo.training.virtual.traces import above_zero, from_zero, read_trace, worker_of

COLUMNS = {"time": from_zero, "worker": worker_of(3), "seconds": above_zero}


def read(tmp_path, text):
    path = tmp_path / "trace.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_trace(str(path), "speed_file", COLUMNS)


def test_rows_of_a_trace(tmp_path):
    text = "time,worker,seconds\n0,0,1\n\n0,2,0.5\n1.5e1,0,2\n"
    assert read(tmp_path, text) == [(0.0, 0, 1.0), (0.0, 2, 0.5), (15.0, 0, 2.0)]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("1,0", "2 values, where 3 are needed"),
        ("1,3,1", "worker 3 is not one of 0 to 2"),
        ("1,-1,1", "worker -1 is not one of 0 to 2"),
        ("1,1.5,1", "invalid literal"),
        ("nan,0,1", "nan is not 0 or more"),
        ("inf,0,1", "inf is not 0 or more"),
        ("-1,0,1", "-1 is not 0 or more"),
        ("1,0,0", "0 is not above 0"),
        ("1,0,x", "could not convert"),
        ("1," + 5000 * "9" + ",1", "Exceeds the limit"),
        ('1,0,"' + 200_000 * "1" + '"', "field larger than field limit"),
    ],
)
def test_a_wrong_row_is_named_in_one_line(tmp_path, row, wrong):
    with pytest.raises(UserError, match="speed_file: .*row 2: .*") as error:
        read(tmp_path, f"time,worker,seconds\n0,0,1\n{row}\n")
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)


def test_times_do_not_decrease(tmp_path):
    with pytest.raises(UserError, match="row 2: its time is before that of the row before"):
        read(tmp_path, "time,worker,seconds\n2,0,1\n1,0,1\n")


@pytest.mark.parametrize("content", ["", "time,worker\n", "worker,time,seconds\n"])
def test_the_first_line_has_the_columns(tmp_path, content):
    with pytest.raises(UserError, match="its first line must be time,worker,seconds"):
        read(tmp_path, content)


def test_a_file_that_is_no_text_or_is_absent_is_refused(tmp_path):
    with pytest.raises(UserError, match="speed_file: "):
        read(tmp_path, b"\xff\xfe\x00")
    with pytest.raises(UserError, match="does not exist"):
        read_trace(str(tmp_path / "none.csv"), "speed_file", COLUMNS)


def test_a_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ngo.training.virtual.traces.LARGEST", 10)
    with pytest.raises(UserError, match="at most 10"):
        read(tmp_path, "time,worker,seconds\n")
