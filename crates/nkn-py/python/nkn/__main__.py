"""The command: ``python -m nkn`` is ``nkn``."""

import sys

from ._nkn import main as _main


def main() -> None:
    """Run the command with the arguments of this process, and end it."""
    sys.exit(_main(["nkn", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
