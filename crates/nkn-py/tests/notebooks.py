"""Executes the code of notebooks, cell by cell, and keeps nothing: what they show must work.

    python notebooks.py FOLDER…
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path


def execute(path: Path) -> None:
    """Runs the code cells in one namespace; the value of a cell's last expression is shown as a notebook would."""
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, object] = {"__name__": "__main__"}
    begun = time.monotonic()
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        try:
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
        except Exception:
            print(f"{path}: cell {number} failed", file=sys.stderr)
            raise
    print(f"{path.name}: {len(cells)} cells in {time.monotonic() - begun:.0f} s")


def main() -> None:
    paths = [path.resolve() for folder in sys.argv[1:] for path in sorted(Path(folder).glob("*.ipynb"))]
    if not paths:
        sys.exit("there are no notebooks")
    os.environ.setdefault("MPLBACKEND", "agg")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path in paths:
            execute(path)
        os.chdir("/")


if __name__ == "__main__":
    main()
