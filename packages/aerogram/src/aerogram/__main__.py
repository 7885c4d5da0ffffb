"""The program: what `aerogram` and `python -m aerogram` start. Ctrl-C ends it quietly while its modules still load."""

from aerogram.cli.interrupt import leave, on_interrupt


def main() -> None:
    """Run the command line."""
    on_interrupt(leave)
    from aerogram.cli.program import main as run

    run()


if __name__ == "__main__":
    main()
