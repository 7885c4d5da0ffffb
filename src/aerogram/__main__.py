"""Run the command line as `python -m aerogram`."""

from aerogram.cli import main

main()
