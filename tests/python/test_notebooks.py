"""The notebooks in examples/ run from top to bottom; a last expression of a cell must be showable."""
import ast
import json
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
PLACES = [HERE / "examples", HERE.parents[1] / "examples"]
NOTEBOOKS = sorted(next((list(p.glob("*.ipynb")) for p in PLACES if list(p.glob("*.ipynb"))), []))


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "notebooks are committed without outputs"
        tree = ast.parse("".join(cell["source"]), str(path))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), space)
        if last:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), space)
            assert isinstance(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value), str)
