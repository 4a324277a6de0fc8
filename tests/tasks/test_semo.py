"""The released file: where it is looked for, how it is fetched, what is refused."""

import hashlib
import http.server
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dglbench.errors import DatasetError, DownloadError
from dglbench.plugins import find_task
from dglbench_tasks import semo

DAYS = (3, 2)

needs_release = pytest.mark.skipif(
    not os.environ.get("DGLBENCH_SEMO_FILE"),
    reason="DGLBENCH_SEMO_FILE does not name a copy of the released SEMO data",
)


def released_layout() -> bytes:
    """A small file with the arrays of the released one."""
    rng = np.random.default_rng(0)
    train, test = (days * semo.SLOTS for days in DAYS)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        X_1gtrain=np.column_stack([np.arange(train) // 48, rng.random((train, 8))]),
        X_1gtest=np.column_stack([np.arange(test) // 48, rng.random((test, 8))]),
        y_train=rng.random(train),
        y_test=rng.random(test),
        weights=np.resize([3, 5, 7], semo.SLOTS),
    )
    return buffer.getvalue()


FILE = released_layout()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the first word of the path: a good file, a foreign one, half of one, none."""

    def do_GET(self) -> None:
        kind = self.path.strip("/")
        if kind == "missing":
            self.send_error(404)
            return
        body = b"not the file" if kind == "foreign" else FILE
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # A server that dies half-way promised more bytes than it sends.
        self.wfile.write(body[: len(body) // 2] if kind == "cut" else body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep the tests' output to themselves."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and the small file in place of the released one."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DGLBENCH_CACHE", str(folder))
    monkeypatch.delenv("DGLBENCH_SEMO_FILE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(semo, "SHA256", hashlib.sha256(FILE).hexdigest())
    return folder


def serve_from(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    monkeypatch.setattr(semo, "URLS", urls)


def test_a_download_is_read_and_kept(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_from(monkeypatch, f"{server}/good")
    first = semo.load()
    assert first.features.shape == (5, 48, 8)
    assert first.values.shape == (5, 48)
    assert [path.name for path in cache.iterdir()] == [semo.FILE_NAME]
    serve_from(monkeypatch, f"{server}/missing")  # the second time needs no server
    np.testing.assert_array_equal(first.features, semo.load().features)


def test_the_second_address_is_tried(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_from(monkeypatch, f"{server}/missing", f"{server}/good")
    assert semo.load().values.shape == (5, 48)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing", "the server answered 404"),
        ("foreign", "another sha256"),
        ("cut", "the connection failed"),
    ],
)
def test_a_failed_download_leaves_nothing_behind(
    kind: str, reason: str, server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_from(monkeypatch, f"{server}/{kind}")
    with pytest.raises(DownloadError) as caught:
        semo.load()
    message = str(caught.value)
    assert reason in message
    assert f"{server}/{kind} (sha256 {semo.SHA256})" in message
    assert "set DGLBENCH_SEMO_FILE" in message
    assert "\n" not in message
    assert list(cache.iterdir()) == []


def test_without_a_network_the_message_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_from(monkeypatch, "http://127.0.0.1:1/none")  # nothing listens on port 1
    with pytest.raises(DownloadError, match="set DGLBENCH_SEMO_FILE to that copy"):
        semo.load()


def test_a_damaged_cached_copy_is_fetched_again(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (cache / semo.FILE_NAME).write_bytes(FILE[:100])
    serve_from(monkeypatch, f"{server}/good")
    assert semo.load().values.shape == (5, 48)


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("DGLBENCH_CACHE", str(blocked / "cache"))
    with pytest.raises(DownloadError, match="a file"):
        semo.load()


def test_ones_own_copy_needs_no_download(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "mine.npz"
    copy.write_bytes(FILE)
    monkeypatch.setenv("DGLBENCH_SEMO_FILE", str(copy))
    assert semo.load().weights.tolist() == [3, 5, 7] * 16
    assert not cache.exists()


def test_ones_own_copy_must_be_the_released_file(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "mine.npz"
    copy.write_bytes(FILE + b"!")
    monkeypatch.setenv("DGLBENCH_SEMO_FILE", str(copy))
    with pytest.raises(DatasetError, match=r"mine\.npz.*is not the released file"):
        semo.load()


@pytest.mark.parametrize("path", ["nowhere.npz", "."])
def test_ones_own_copy_must_be_readable(
    path: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DGLBENCH_SEMO_FILE", str(tmp_path / path))
    with pytest.raises(DatasetError, match="cannot be read"):
        semo.load()


def test_the_addresses_are_pinned_and_public() -> None:
    assert all(url.startswith("https://raw.githubusercontent.com/PredOpt/") for url in semo.URLS)
    assert "/1caa07bcf7bc6cbdff22651900a9cb79a8ed688f/" in semo.URLS[0]


@needs_release
def test_the_released_file_has_the_days_the_paper_speaks_of() -> None:
    days = semo.load()
    assert days.features.shape == (789, 48, 8)
    assert days.weights.sum() == 240
    assert np.bincount(days.weights).tolist() == [0, 0, 0, 16, 0, 16, 0, 16]
    assert (days.values == 0).any()  # noise below zero was cut


@needs_release
def test_24_slots_are_the_first_half_hours() -> None:
    task = find_task("knapsack")
    half = task.generate(task.parse_settings({"source": "semo", "n": 24}), 25)
    full = task.generate(task.parse_settings({"source": "semo", "n": 48}), 25)
    np.testing.assert_array_equal(half.features, full.features[:, ::2])
    np.testing.assert_array_equal(half.labels, full.labels[:, ::2])
    np.testing.assert_array_equal(half.split, full.split)
    assert half.constants["weights"] == full.constants["weights"][::2]
    assert full.constants["capacity"] == 120
