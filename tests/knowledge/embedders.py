"""Embedders of one's own, where other processes can find them."""

from __future__ import annotations

import os
import signal

import numpy as np


class Fragile:
    """An embedder that ends its process over a certain word, as a broken library would."""

    name = "fragile"
    dimensions = 2

    def embed(self, texts):
        if any("dynamite" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    def coverage(self, text):
        return float(bool(text))
