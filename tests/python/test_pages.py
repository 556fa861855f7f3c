"""The pages in docs/python are true: their blocks of `python` run, one after the other."""
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent
PAGES = sorted([*(HERE / "docs").glob("*.md")] or [*(HERE.parents[1] / "docs/python").glob("*.md")])


def test_there_are_four():
    assert len(PAGES) == 4


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_page(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), re.S | re.M):
        exec(compile(block, str(path), "exec"), space)
