"""Browser: an address that is shown to whoever sits here, and to nobody else on the machine.

Others can read the command line of a browser, so that names a file which only this user can read, and which leads on.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from functools import partial
from html import escape
from pathlib import Path

from aerogram.state import private_directory, state_directory

__all__ = ["open_browser"]


def open_browser(address: str) -> Path | None:
    """Start a browser, which must not write where the client reads; whoever asks removes the file after a while.

    None where nothing can be written, and so nothing be shown.
    """
    try:
        door = private_directory(state_directory() / "pages") / f"{secrets.token_hex(8)}.html"
        with open(door, "x", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
            file.write(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(address)}">')
    except OSError:
        return None
    words, nothing = [sys.executable, "-P", "-m", "webbrowser", door.as_uri()], subprocess.DEVNULL
    subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603 - our own interpreter
    return door
