"""`python -m alice.cli` is the same as `alice-interp`."""

from alice.cli import main
from alice.cli.lazy import PROGRAM

main(prog_name=PROGRAM)
