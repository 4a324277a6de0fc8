import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make_logs import make_folder, make_run
from record_files import change_record, replace_table

from dglbench.errors import ReportError
from dglbench.report import Report, load
from dglbench.report.claims.evidence import Evidence, Finding
from dglbench.report.claims.judge import Claim, Judged, _judge, judge, read_claims
from dglbench.runs import schemas

OWN_IDS = ["reactive-near-qptl", "reactive-sooner-than-qptl", "reactive-beats-frozen"]
PAPER_IDS = [
    "sooner-than-spo",
    "sooner-than-qptl",
    "qptl-lowest",
    "qptl-cost",
    "none-near-two-stage",
    "light-refresh",
    "lead-in-pays",
    "gap-widens",
    "epoch-gap-widens",
    "seeds-agree",
    "repeats-vary-little",
]


def judged(report: Report, file: Path | None = None) -> dict[str, Judged]:
    return {item.claim.id: item for item in judge(Evidence(report), read_claims(file))}


def plain_run(out: Path, method: str, regrets: Sequence[float], epoch_s: float, **rest) -> Path:
    """Write a run with these test and validation regrets after epochs 0, 1, …, evenly spaced."""
    run = make_run(out, method, epochs=len(regrets) - 1, **rest)
    epochs = np.arange(len(regrets), dtype=np.int32)
    elapsed = epoch_s * epochs + 1e-3
    seconds = np.full(len(regrets), epoch_s)
    seconds[0] = 1e-3
    timing = {name: np.zeros(len(regrets)) for name in schemas.TIMING.names}
    timing |= {"epoch": epochs, "other_s": seconds, "epoch_s": seconds, "elapsed_s": elapsed}
    timing |= {name: epochs.astype(np.int64) for name in schemas.TIMING.names if "solves" in name}
    replace_table(run, "timing", pa.table(timing, schema=schemas.TIMING))
    both = {
        "epoch": np.tile(epochs, 2),
        "elapsed_s": np.tile(elapsed, 2),
        "split": ["val"] * len(regrets) + ["test"] * len(regrets),
        "instances": [200] * (2 * len(regrets)),
        **{
            name: np.tile(np.asarray(regrets, dtype=float), 2)
            for name in ("relative_regret", "pooled_regret", "absolute_regret", "mse")
        },
        "optimum_gap": np.zeros(2 * len(regrets)),
    }
    replace_table(run, "regret", pa.table(both, schema=schemas.REGRET))
    # The same difficulty for every method, so that pairs differ by their means alone.
    hard = np.random.default_rng(0).uniform(0.9, 1.1, 200)
    lost = 10 * min(regrets) * hard / hard.mean()
    decisions = {
        "instance": np.arange(200),
        "optimal_value": np.full(200, 10.0),
        "achieved_value": 10 - lost,
        "regret": lost,
        "optimum_gap": np.zeros(200),
    }
    replace_table(
        run,
        "decisions",
        pa.table(
            {**decisions, "options": [[0]] * len(decisions["instance"])}, schema=schemas.DECISIONS
        ),
    )
    best = int(np.argmin(regrets))

    def retell(record):
        summary = record["summary"]
        for split in ("val", "test"):
            summary["selected"][split]["relative_regret"] = float(regrets[best])
        summary["selected"] |= {"epoch": best, "elapsed_s": float(elapsed[best])}
        if summary["warm_start"]:
            summary["warm_start"]["test_relative_regret"] = float(regrets[0])

    change_record(run, retell)
    return run


def paper_world(out: Path, n: int = 50, seed: int = 25, **changed: Sequence[float]) -> Path:
    """Write runs that are as the paper says; ``changed`` replaces a method's regrets."""
    scale = n / 10
    curves = {
        "two-stage": ([0.4, 0.3, 0.2], 0.01),
        "spo": ([0.2, 0.18, 0.15, 0.12], 0.05 * scale**2),
        "qptl": ([0.2, 0.15, 0.11, 0.09], 1.0 * scale**2),
        "dgl-none": ([0.2, 0.12, 0.118, 0.118], 0.011),
        "dgl-1": ([0.2, 0.11, 0.1, 0.09 if "qptl" in changed else 0.0899], 0.015),
        "dgl-auto": ([0.2, 0.11, 0.1, 0.0899], 0.014),
    }
    for method, (regrets, epoch_s) in curves.items():
        given = changed.get(method.replace("-", "_"), regrets)
        plain_run(out, method, given, epoch_s, n=n, seed=seed)
    return out


@pytest.fixture(scope="module")
def as_in_the_paper(tmp_path_factory) -> Report:
    out = tmp_path_factory.mktemp("paper")
    for n in (10, 50):
        for seed in (10, 25):
            paper_world(out, n, seed, qptl=[0.2, 0.15, 0.11, 0.08])
            led = ([0.2, 0.1, 0.08, 0.079], (n / 10) ** 2)
            plain_run(out, "qptl-after-dgl-none-5", *led, n=n, seed=seed)
    return load(out)


def test_a_world_as_in_the_paper_supports_every_claim(as_in_the_paper):
    found = judged(as_in_the_paper)
    assert [name for name in found if found[name].claim.origin == "paper"] == PAPER_IDS
    assert [name for name in found if name not in PAPER_IDS] == OWN_IDS
    # QPTL ends below DGL everywhere here, so nobody can be sooner at what only QPTL reaches.
    never = {"sooner-than-qptl", "gap-widens", "repeats-vary-little", *OWN_IDS}
    verdicts = {name: item.verdict for name, item in found.items() if name not in never}
    assert set(verdicts.values()) == {"supported"}, verdicts
    assert found["sooner-than-qptl"].verdict == "refuted"
    assert "DGL-1 never" in found["sooner-than-qptl"].findings[0].text
    assert found["repeats-vary-little"].verdict == "not decidable here", "nothing was repeated"


@pytest.mark.parametrize(
    ("regrets", "epoch_s", "outcome"),
    [
        ([0.2, 0.1, 0.08], 1.0, "holds"),
        ([0.2, 0.1, 0.08], 3.0, "fails"),  # as good, and later
        ([0.2, 0.1, 0.09], 0.1, "fails"),  # quick, and never there
        (None, 0.0, "absent"),
    ],
)
def test_a_lead_in_pays_if_it_is_sooner_and_ends_no_higher(tmp_path, regrets, epoch_s, outcome):
    plain_run(tmp_path, "qptl", [0.2, 0.15, 0.11, 0.08], 1.0)
    plain_run(tmp_path, "dgl-5", [0.2, 0.07], 0.1)
    if regrets:
        plain_run(tmp_path, "qptl-after-dgl-none-5", regrets, epoch_s)
    found = judged(load(tmp_path))
    assert [finding.outcome for finding in found["lead-in-pays"].findings] == [outcome]
    # With a lead-in it is another method, which claims of DGL or of QPTL do not mean.
    assert all("after" not in finding.text for finding in found["sooner-than-qptl"].findings)


def scattered(run: Path, mean: float, spread: float) -> None:
    """Give a run test decisions whose regrets scatter by themselves, apart from other runs'."""
    noise = np.random.default_rng(1).normal(size=200)
    regrets = 10 * mean + spread * (noise - noise.mean())
    decisions = {
        "instance": np.arange(200),
        "optimal_value": np.full(200, 10.0),
        "achieved_value": 10 - regrets,
        "regret": regrets,
        "optimum_gap": np.zeros(200),
    }
    replace_table(
        run,
        "decisions",
        pa.table(
            {**decisions, "options": [[0]] * len(decisions["instance"])}, schema=schemas.DECISIONS
        ),
    )


def test_validation_chooses_who_stands_for_the_reactive_methods(tmp_path):
    plain_run(tmp_path, "qptl", [0.2, 0.1], 1.0)
    plain_run(tmp_path, "rdgl-1", [0.2, 0.12], 0.01)
    lucky = plain_run(tmp_path, "rdgl-none", [0.2, 0.05], 0.01)

    def worse_on_validation(record):
        record["summary"]["selected"]["val"]["relative_regret"] = 0.19

    change_record(lucky, worse_on_validation)
    (finding,) = judged(load(tmp_path))["reactive-near-qptl"].findings
    assert finding.outcome == "fails"
    assert "rdgl-1" in finding.numbers
    assert "rdgl-none" not in finding.numbers


@pytest.mark.parametrize(
    ("mean", "spread", "outcome"),
    [
        (0.1, 0.1, "holds"),
        (0.1, 3.0, "open"),  # holds 0 because it is wide
        (0.09, 3.0, "open"),
        (0.12, 0.1, "fails"),
        (0.08, 0.1, "holds"),
    ],
)
def test_a_wide_interval_alone_matches_nobody(tmp_path, mean, spread, outcome):
    plain_run(tmp_path, "qptl", [0.2, 0.1], 1.0)
    scattered(plain_run(tmp_path, "rdgl-1", [0.2, mean], 0.01), mean, spread)
    (finding,) = judged(load(tmp_path))["reactive-near-qptl"].findings
    assert finding.outcome == outcome, finding.text
    assert ("too wide to tell, needs an end of at most +1.00" in finding.text) == (
        outcome == "open"
    )


def test_sooner_than_qptl_through_cvxpylayers_is_asked_of_large_matchings_only(tmp_path):
    for n in (10, 50):
        plain_run(tmp_path, "qptl", [0.2, 0.1], 1.0, n=n)
        plain_run(tmp_path, "rdgl-1", [0.2, 0.1], 0.01 if n == 50 else 0.5, n=n)
    item = judged(load(tmp_path))["reactive-sooner-than-qptl"]
    assert item.verdict == "supported"
    assert [finding.setting for finding in item.findings] == ["matching-50"]
    assert "Looked at: matching from 50." in item.rule


def test_of_many_lead_ins_the_one_that_validation_takes_is_judged(tmp_path):
    """One that happens to be quick decides nothing."""
    plain_run(tmp_path, "qptl", [0.2, 0.15, 0.11, 0.08], 1.0)
    plain_run(tmp_path, "qptl-after-dgl-none-2", [0.2, 0.1, 0.08], 1.0)  # alone it would hold
    plain_run(tmp_path, "qptl-after-dgl-none-5", [0.2, 0.1, 0.07], 9.0)  # better, and later
    (finding,) = judged(load(tmp_path))["lead-in-pays"].findings
    assert finding.outcome == "fails"
    assert "QPTL after DGL-none×5 (taken of 2 by validation)" in finding.text


def test_numbers_are_those_of_the_logs(as_in_the_paper):
    (finding,) = (
        finding
        for finding in judged(as_in_the_paper)["sooner-than-spo"].findings
        if finding.setting == "matching-10"
    )
    # SPO+ takes 3 epochs of 0.05 s to 0.12, DGL-none one of 0.011 s; both with 1 ms of set-up.
    assert finding.numbers["dgl-none"] == pytest.approx((3 * 0.05 + 1e-3) / (0.011 + 1e-3))
    ratio = judged(as_in_the_paper)["none-near-two-stage"].findings[0].numbers["ratio"]
    assert ratio == pytest.approx(1.1)


def test_dgl_that_matches_qptl_is_sooner(tmp_path):
    found = judged(load(paper_world(tmp_path)))
    # DGL-1 and DGL-auto reach QPTL's 0.09, DGL-none never does: two of three.
    item = found["sooner-than-qptl"]
    assert item.verdict == "supported"
    assert "DGL-none never" in item.findings[0].text
    assert found["qptl-lowest"].verdict != "supported"
    assert found["qptl-cost"].verdict == "not decidable here", "no edge, so no price of it"


def test_with_one_setting_against_it_a_claim_holds_in_part(tmp_path):
    late = {name: [0.2, 0.19, 0.19] for name in ("dgl_none", "dgl_1", "dgl_auto")}
    paper_world(tmp_path / "sizes", n=50)
    paper_world(tmp_path / "sizes", n=60, **late)
    found = judged(load(tmp_path / "sizes"))
    assert found["sooner-than-spo"].verdict == "holds in part"
    assert found["sooner-than-spo"].summary == "holds in 1 of 2, fails in 1; needs all"
    paper_world(tmp_path / "seeds", seed=10)
    paper_world(tmp_path / "seeds", seed=25, **late)
    found = judged(load(tmp_path / "seeds"))
    assert len(found["sooner-than-spo"].findings) == 1, "two data seeds are one setting"
    assert found["seeds-agree"].verdict == "refuted"


def test_times_that_cannot_be_compared_decide_nothing(tmp_path):
    plain_run(tmp_path, "spo", [0.2, 0.1], 1.0)
    plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, environment={"concurrency": 4})
    item = judged(load(tmp_path))["sooner-than-spo"]
    assert item.verdict == "not decidable here"
    assert "different concurrency" in item.findings[0].text


def test_a_setting_without_comparable_times_keeps_a_claim_open(tmp_path):
    plain_run(tmp_path, "spo", [0.2, 0.1], 1.0, seed=10)
    plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, seed=10)
    plain_run(tmp_path, "spo", [0.2, 0.1], 1.0, seed=25)
    plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, seed=25, environment={"machine": "other"})
    assert judged(load(tmp_path))["sooner-than-spo"].verdict == "not decidable here"


def test_a_method_that_failed_keeps_a_claim_open_one_never_run_does_not(tmp_path):
    plain_run(tmp_path, "spo", [0.2, 0.1], 1.0, seed=10)
    plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, seed=10)
    plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, seed=25)
    item = judged(load(tmp_path))["sooner-than-spo"]
    assert item.verdict == "supported"
    assert item.summary == "holds in 1 of 1"
    make_run(tmp_path, "spo", seed=25, status={"state": "failed", "message": "no"})
    item = judged(load(tmp_path))["sooner-than-spo"]
    assert item.verdict == "not decidable here"
    assert item.findings[0].text.startswith("SPO+ has no result on data seed 25 (failed); ")


def test_differences_within_the_interval_decide_nothing(tmp_path):
    make_folder(tmp_path, ["dgl-none", "dgl-1", "dgl-auto"], [("matching", 50, 25)])
    # The invented decisions are drawn alike for all methods.
    item = judged(load(tmp_path))["light-refresh"]
    assert item.verdict == "not decidable here"


def test_nothing_to_say_is_not_decidable(tmp_path):
    make_run(tmp_path, "two-stage")
    found = judged(load(tmp_path))
    assert {item.verdict for item in found.values()} == {"not decidable here"}
    assert found["sooner-than-spo"].summary == ("no run in this folder is about it; not run in 1")


@pytest.mark.parametrize(
    ("outcomes", "share", "verdict"),
    [
        ("hhh", 1.0, "supported"),
        ("hhf", 1.0, "holds in part"),
        ("hho", 1.0, "not decidable here"),
        ("foo", 1.0, "refuted"),
        ("hhf", 0.66, "supported"),
        ("hoo", 0.66, "not decidable here"),
        ("hff", 0.66, "holds in part"),
        ("hha", 1.0, "supported"),
        ("a", 1.0, "not decidable here"),
        ("", 1.0, "not decidable here"),
    ],
)
def test_the_rule_of_judgement(outcomes, share, verdict):
    names = {"h": "holds", "f": "fails", "o": "open", "a": "absent"}
    findings = [Finding(str(at), names[sign], "") for at, sign in enumerate(outcomes)]
    claim = Claim("x", "s", "", "", share, check=None)
    assert _judge(claim, findings).verdict == verdict


def test_what_was_not_run_in_many_settings_is_told_once():
    claim = read_claims()[0]
    absent = [Finding(f"matching-{n}", "absent", "QPTL was not run") for n in (10, 20, 30)]
    other = Finding("knapsack-24", "absent", "SPO+ was not run")
    item = _judge(claim, [*absent[:1], other, Finding("top-k-50", "holds", "3×"), *absent[1:]])
    assert [(found.setting, found.text) for found in item.shown] == [
        ("top-k-50", "3×"),
        ("3 settings", "QPTL was not run"),
        ("knapsack-24", "SPO+ was not run"),
    ]
    assert len(item.document()["findings"]) == 5, "a file of findings has them one by one"


def test_a_users_claims_are_added_and_replace(tmp_path, as_in_the_paper):
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        [[claim]]
        id = "one-near-two-stage"
        statement = "DGL-1 too."
        check = "epoch-ratio"
        method = "dgl-1"
        against = "two-stage"
        max_ratio = 1.2

        [[claim]]
        id = "none-near-two-stage"
        statement = "Stricter."
        check = "epoch-ratio"
        method = "dgl-none"
        against = "two-stage"
        max_ratio = 1.05
        """
    )
    found = judged(as_in_the_paper, file)
    assert list(found) == [*PAPER_IDS, *OWN_IDS, "one-near-two-stage"]
    assert found["one-near-two-stage"].verdict == "refuted"
    assert found["none-near-two-stage"].verdict == "refuted"
    assert found["none-near-two-stage"].claim.statement == "Stricter."


HEAD = '[[claim]]\nid = "x"\nstatement = "s"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[claim", "not valid TOML"),
        ("a = 1", r"each claim as a \[\[claim\]\] table"),
        ("claim = []", r"no \[\[claim\]\] entry"),
        ('[[claim]]\nid = "x"', "needs the text 'statement'"),
        (HEAD + 'check = "guess"', "there are sooner, lowest"),
        (HEAD + 'check = "sooner"\nmethods = ["a"]', "needs 'against'"),
        (HEAD + 'check = "sooner"\nmethods = ["a"]\nagainst = "b"\nfoo = 1', "no option 'foo'"),
        (
            HEAD + 'check = "sooner"\nmethods = ["a"]\nagainst = "b"\nmin_speedup = -1',
            "a number > 0",
        ),
        (HEAD + 'check = "improves"\nmethods = ["a"]\nagainst = "b"\nshare = 2', "share must be"),
    ],
)
def test_mistakes_in_a_claims_file_are_told(tmp_path, text, words):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ReportError, match=words):
        read_claims(file)


def test_a_missing_claims_file_and_an_unknown_claim_are_told(tmp_path, as_in_the_paper):
    with pytest.raises(ReportError, match="cannot be read"):
        read_claims(tmp_path / "none.toml")
    file = tmp_path / "mine.toml"
    file.write_text(HEAD + 'check = "seeds-agree"\nclaims = ["nonsense"]')
    with pytest.raises(ReportError, match="'nonsense' for single data seeds; there are sooner-"):
        judged(as_in_the_paper, file)


def test_documents_are_json_ready(as_in_the_paper):
    for item in judged(as_in_the_paper).values():
        assert json.loads(json.dumps(item.document()))["verdict"] == item.verdict


@pytest.mark.parametrize(
    ("apart", "outcome"), [(0.0005, "holds"), (0.006, "open"), (0.05, "fails")]
)
def test_spread_over_repeats_is_judged_against_the_gaps_between_methods(tmp_path, apart, outcome):
    for place, method in enumerate(("spo", "dgl-1", "dgl-5")):
        for repeat, step in enumerate((-1.5, -0.5, 0.5, 1.5)):
            end = 0.1 + 0.03 * place + apart * step
            plain_run(tmp_path, method, [0.4, end], 0.1, train_seed=repeat)
    (finding,) = judged(load(tmp_path))["repeats-vary-little"].findings
    assert finding.outcome == outcome, finding.text
    assert finding.numbers["gap"] == pytest.approx(0.03)
    assert finding.numbers["spread"] == pytest.approx(apart * (5 / 3) ** 0.5)


def test_a_slow_method_with_few_repeats_keeps_no_other_from_being_judged(tmp_path):
    for place, method in enumerate(("spo", "dgl-1", "dgl-5", "qptl")):
        for repeat in range(2 if method == "qptl" else 4):
            step = 0.0 if method == "qptl" else repeat - 1.5
            end = 0.1 + 0.03 * place + 0.0005 * step
            plain_run(tmp_path, method, [0.4, end], 0.1, train_seed=repeat)
    (finding,) = judged(load(tmp_path))["repeats-vary-little"].findings
    assert finding.outcome == "holds", finding.text
    assert finding.numbers["spread"] == pytest.approx(0.0005 * (5 / 3) ** 0.5)


def test_claims_look_at_a_setting_once_whatever_its_repeats(tmp_path):
    for seed in (10, 25):
        for repeat in range(2):
            plain_run(tmp_path, "spo", [0.2, 0.1], 1.0, seed=seed, train_seed=repeat)
            plain_run(tmp_path, "dgl-1", [0.2, 0.1], 0.1, seed=seed, train_seed=repeat)
    item = judged(load(tmp_path))["sooner-than-spo"]
    assert item.summary == "holds in 1 of 1"
