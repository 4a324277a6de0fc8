"""A sweep of several predictors: each is searched alone, named, saved and resumed."""

import json
import tomllib

SMALL = """
methods = ["two-stage"]
search = "full"
epochs = 2
predictor = ["linear", "mlp:layers=1,hidden=4"]

[[setting]]
task = "knapsack-10"
seeds = [1]
set = { train = 12, val = 6, test = 6 }
space = { two-stage = { lr = [0.001, 0.1] } }
"""


def test_each_predictor_is_searched_alone_and_its_choice_is_kept(cli, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("sweep", "--config", "small.toml", "--solver", "batched", "--json", "--out", "out")
    done = json.loads(cli(*words).out)
    assert done["counts"] == {"done": 4}
    chosen = {group["predictor"]: group for group in done["groups"]}
    assert set(chosen) == {"linear", "mlp:hidden=4"}
    assert all(group["configurations"] == 2 for group in chosen.values())
    assert json.loads(cli(*words).out)["counts"] == {"skipped": 4}
    (file,) = (tmp_path / "out").glob("chosen-*.toml")
    settings = tomllib.loads(file.read_text("utf-8"))["setting"]
    assert {each["predictor"]: each["option"]["two-stage"]["lr"] for each in settings} == {
        name: group["options"]["lr"] for name, group in chosen.items()
    }
    again = cli("sweep", "--config", str(file), "--json", "--out", "out")
    assert json.loads(again.out)["counts"] == {"skipped": 2}


def test_the_command_line_wins_over_the_file(cli, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("sweep", "--config", "small.toml", "--predictor", "mlp:hidden=3,layers=2", "--plan")
    plan = json.loads(cli(*words, "--json").out)
    assert {group["predictor"] for group in plan["groups"]} == {"mlp:hidden=3,layers=2"}
    shown = cli(*words)
    assert "two-stage · mlp:hidden=3,layers=2" in shown.out


def test_a_report_names_the_predictors_that_it_compares(cli):
    few = ("--set", "train=12", "--set", "val=6", "--set", "test=6", "--epochs", "1")
    for predictor in ("linear", "mlp:hidden=4"):
        words = ("train", "knapsack-10", "--method", "two-stage", "--predictor", predictor)
        assert cli(*words, *few, "--solver", "batched").code == 0
    report = cli("report", "results")
    assert report.code == 0, report.err
    assert "linear" in report.out
    assert "mlp:hidden=4" in report.out


def test_what_is_no_predictor_is_refused(cli, tmp_path):
    (tmp_path / "bad.toml").write_text(SMALL.replace('"linear", ', "3, "))
    outcome = cli("sweep", "--config", "bad.toml", "--plan")
    assert outcome.code == 2
    assert "predictor" in outcome.err
    (tmp_path / "bad.toml").write_text(SMALL.replace("seeds = [1]", "seeds = [1]\npredictor = 3"))
    assert "must be a text such as" in cli("sweep", "--config", "bad.toml", "--plan").err
