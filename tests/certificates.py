"""Certificates for servers of the tests, which nobody else has signed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed (Debian: apt-get install openssl)")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test")
    names = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
    subprocess.run([program, *made, *names], check=True, capture_output=True)
    return certificate, key
