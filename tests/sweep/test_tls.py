"""A sweep over an encrypted cluster, whose certificates are made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme
from sweep_helpers import Silent, regrets, tiny_plan, wait_for, words
from test_cluster import free_port

from dglbench.errors import SweepError
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.jobs import TlsFiles

ONE = {"tasks": "matching-4", "methods": "two-stage", "seeds": "1"}


def certificates(folder: Path) -> TlsFiles:
    """Write an authority and a certificate that it signed, for both ends."""
    folder.mkdir()
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", common_name="127.0.0.1")
    files = TlsFiles(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(files.ca)
    issued.private_key_pem.write_to_path(files.key)
    for blob in issued.cert_chain_pems:
        blob.write_to_path(files.cert, append=True)
    return files


@pytest.fixture
def secured(start: Any, tmp_path: Path) -> tuple[str, TlsFiles]:
    """Start a scheduler and a worker that accept encrypted connections only."""
    files = certificates(tmp_path / "tls")
    address = f"tls://127.0.0.1:{free_port()}"
    flags = ("--tls-ca-file", files.ca, "--tls-cert", files.cert, "--tls-key", files.key)
    port, dask = address.rpartition(":")[2], ("-m", "dask")
    listen = ("--protocol", "tls", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    start("scheduler", *listen, *flags, program=dask)
    place = ("--local-directory", tmp_path / "dask", "--no-dashboard", "--nthreads", "1")
    start("worker", address, *flags, *place, program=dask)
    wait_for(lambda: _connects(address, files))
    return address, files


def test_a_sweep_over_tls_gives_the_same_regrets_and_strangers_are_refused(
    start: Any, tmp_path: Path, secured: tuple[str, TlsFiles]
) -> None:
    address, files = secured
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    run_sweep(tiny_plan(alone, **ONE), Silent())
    given = {"tls_ca": files.ca, "tls_cert": files.cert, "tls_key": files.key}
    process = start("sweep", *words(**ONE, out=spread, scheduler=address, **given))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert regrets(spread) == regrets(alone)

    stranger = certificates(tmp_path / "stranger")
    theirs = {"tls_ca": files.ca, "tls_cert": stranger.cert, "tls_key": stranger.key}
    for without in ({}, theirs):
        process = start("sweep", *words(**ONE, out=tmp_path / "x", scheduler=address, **without))
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2
        assert "give certificates that it trusts" in errors
        assert "Traceback" not in errors


def test_certificates_need_a_scheduler_that_uses_them(tmp_path: Path) -> None:
    files = certificates(tmp_path / "tls")
    with pytest.raises(SweepError, match="for a scheduler with TLS"):
        run_sweep(tiny_plan(tmp_path / "out", **ONE), Silent(), tls=files)
    missing = files._replace(key=tmp_path / "no.pem")
    with pytest.raises(SweepError, match="does not exist"):
        run_sweep(tiny_plan(tmp_path / "out", **ONE), Silent(), scheduler="tls://x:1", tls=missing)


def _connects(address: str, files: TlsFiles) -> bool:
    import socket

    host, port = address.removeprefix("tls://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0
