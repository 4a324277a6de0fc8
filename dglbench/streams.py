"""Named random streams, so that one use of randomness never changes another.

Every draw in dglbench comes from a generator named by a seed and words such as
``"data"``, ``"split"``, ``"init"`` or ``"batches"``. Adding a draw to one
stream leaves all the others as they were.
"""

import hashlib

import numpy as np

__all__ = ["repetition", "stream", "torch_seed"]


def _sequence(seed: int, names: tuple[str, ...]) -> np.random.SeedSequence:
    digest = hashlib.sha256("/".join(names).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.SeedSequence(seed, spawn_key=words)


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of the stream that ``names`` name under ``seed``."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, names)))


def torch_seed(seed: int, *names: str) -> int:
    """Return a seed for torch's own generators, drawn from the named stream."""
    return int(_sequence(seed, names).generate_state(1, np.uint64)[0] >> np.uint64(1))


def repetition(train_seed: int) -> tuple[str, ...]:
    """Return the words that set a training seed's streams apart: none for 0."""
    return () if train_seed == 0 else (f"train seed {train_seed}",)
