"""A thousand command lines and damaged files at random: each ends in a result or one sentence.

More of them, and others: ``python benchmarks/fuzz.py --cases 10000 --seed 7``.
"""

import pytest
from fuzz_runner import build_world, built_once, judge, run_case

CASES, CHUNKS, SEED = 1000, 10, 1


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    build_world(folder)
    return folder


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_command_ends_in_a_result_or_one_sentence(chunk, world, tmp_path):
    findings = []
    with built_once():
        for number in range(chunk, CASES, CHUNKS):
            case, outcome = run_case(world, tmp_path / "scratch", SEED, number)
            findings.append(judge(number, case, outcome))
    assert [finding for finding in findings if finding] == []
