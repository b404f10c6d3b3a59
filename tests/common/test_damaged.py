import pytest

from ngo.common.damaged import removed_if_damaged
from ngo.common.registry import UserError


def test_a_file_is_removed_if_it_is_damaged_and_else_stays(tmp_path):
    path, other = tmp_path / "table.parquet", tmp_path / "other.parquet"
    path.touch()
    other.touch()
    with removed_if_damaged(str(path)):
        pass
    with pytest.raises(ValueError, match="of the program"), removed_if_damaged(path):
        raise ValueError("of the program")
    assert path.exists()
    for _ in range(2):  # also if another process has removed it
        with pytest.raises(UserError) as told, removed_if_damaged(path):
            raise UserError("table: 'table.parquet' is damaged.")
        assert str(told.value) == (
            "table: 'table.parquet' is damaged. The file is removed; the same snakemake command "
            "makes it again."
        )
        assert not path.exists()
    assert other.exists()
