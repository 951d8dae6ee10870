"""What a training shows while it runs: a bar where tqdm is installed, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

#: Depth, epochs in all, epochs done, loss, validation and test error.
Place = tuple[int, int, int, Optional[float], Optional[float], Optional[float]]

#: Seconds between two plain lines.
INTERVAL = 5.0


class Progress:
    """Is called with where a training is and with what there is to say."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm = tqdm
        self._bar: Any = None
        self._depth: int | None = None
        self._spoken = time.monotonic()

    def __call__(self, place: Place | None, lines: list[str]) -> None:
        for line in lines:
            self._say(line)
        if place is None:
            return
        depth, epochs, epoch, loss, validation, test = place
        named = {"loss": loss, "validation": validation, "test": test}
        figures = {name: f"{value:.2e}" for name, value in named.items() if value is not None}
        if self._tqdm is None:
            if time.monotonic() - self._spoken >= INTERVAL:
                words = "  ".join(f"{name} {value}" for name, value in figures.items())
                self._say(f"L = {depth}  epoch {epoch}/{epochs}  {words}")
            return
        if depth != self._depth:
            self.close()
            self._depth = depth
            self._bar = self._tqdm(total=epochs, desc=f"L = {depth}", unit="epoch", file=sys.stderr)
        self._bar.set_postfix(figures, refresh=False)
        self._bar.update(epoch - self._bar.n)

    def _say(self, line: str) -> None:
        self._spoken = time.monotonic()
        if self._tqdm is None:
            print(line, file=sys.stderr)
        else:
            self._tqdm.write(line, file=sys.stderr)

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
