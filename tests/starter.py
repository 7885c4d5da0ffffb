"""A starter: it stands for a process that a nursery forks, wherever something is started by its command.

    python -IS starter.py SOCKET script.py arguments…       or -m and a module in the place of the script

It gives its streams, its folder and its environment away, passes signals on, and ends as that process does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Ask for the process at the socket, and be it to all others."""
    address, *words = sys.argv[1:]
    wanted = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 - loads quickly
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asking.connect(address)
    socket.send_fds(asking, [json.dumps(wanted).encode()], [0, 1, 2])
    pid, (end,), _, _ = socket.recv_fds(asking, 100, 1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # who reads them hears of the end of the process, and not of this one
        os.dup2(nothing, stream)
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, lambda number, _: os.kill(int(pid), number))
    code = int(os.read(end, 100))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
