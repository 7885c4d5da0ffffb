"""A server as a real process, for the benchmarks that ask it something."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "samples"


class Server:
    """A server that has been started; its address is known when it is ready."""

    def __init__(self, index, *arguments, documents=SAMPLES):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
        line = [sys.executable, "-m", "aerogram", "serve", str(documents), "--index", str(index), "--port", "0"]
        self.process = subprocess.Popen(
            [*line, "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**kept, "AEROGRAM_STATE": str(Path(index).with_name("state"))},
        )
        self.address = next(line.split()[2] for line in self.process.stdout if line.startswith("Ready at "))

    @property
    def mcp(self):
        return f"{self.address}/mcp"

    @property
    def memory(self):
        """The resident memory of the process, in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


@contextmanager
def serving(index, *arguments, documents=SAMPLES):
    """A server over the sample documents or others, ended in the end."""
    server = Server(index, *arguments, documents=documents)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def place_for_index():
    """A place where no index is yet."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "index"
