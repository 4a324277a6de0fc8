import colorsys
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from make_logs import METHODS

from dglbench.report.style.palette import (
    PHASE_COLOURS,
    family,
    is_dgl,
    method_order,
    on_dark,
    refresh_period,
    style,
)

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_families_are_told_apart_by_every_eye(vision):
    families = ["two-stage", "spo", "qptl", "dgl-none", "dgl-1"]
    seen = {name: lab(VISION[vision] @ linear(style(name).colour)) for name in families}
    for one, other in itertools.combinations(families, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 15, (one, other)


@pytest.mark.parametrize("shown", [str, on_dark], ids=["light", "dark"])
def test_every_built_in_family_has_a_colour_of_its_own(shown):
    """With many methods the best of each family stand beside each other."""
    ours = ["two-stage", "spo", "qptl", "dgl-1", "dgl-none", "rdgl-1", "rdgl-none", "lodl", "lava",
            "cave", "fenchel-young", "pyepo-spo"]  # fmt: skip
    seen = {name: lab(linear(shown(style(name).colour))) for name in ours}
    for one, other in itertools.combinations(ours, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 15, (one, other)


BUILT_IN = [
    "two-stage", "spo", "spo-cached", "spo-smoothed", "qptl", "qptl-dual", "dgl-none", "dgl-20",
    "dgl-5", "dgl-1", "dgl-auto", "rdgl-none", "rdgl-5", "rdgl-1", "rdgl-auto", "rdgl-newton",
    "fenchel-young", "lava", "lodl", "cave", "cave-plus", "cave-hybrid",
    "pyepo-dbb", "pyepo-nce", "pyepo-pfyl", "pyepo-pg",
]  # fmt: skip


@pytest.mark.parametrize("shown", [str, on_dark], ids=["light", "dark"])
def test_no_two_built_in_methods_look_alike(shown):
    """Also within a family: with --methods all of them may be lines of one panel."""
    seen = {name: lab(linear(shown(style(name).colour))) for name in BUILT_IN}
    for one, other in itertools.combinations(BUILT_IN, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 8, (one, other)
        assert style(one)[1:] != style(other)[1:]


def test_colours_stand_out_on_a_dark_page():
    card = np.array([0.2126, 0.7152, 0.0722]) @ linear("#1D2024")
    for name in BUILT_IN:
        luminance = np.array([0.2126, 0.7152, 0.0722]) @ linear(on_dark(style(name).colour))
        assert (luminance + 0.05) / (card + 0.05) > 3, name


def test_every_method_has_its_own_colour_and_marker():
    assert len({style(method).colour for method in METHODS}) == len(METHODS)
    assert len({style(method).shape for method in METHODS}) == len(METHODS)


def test_names_are_dark_enough_to_read_on_white():
    for method in [*METHODS, "lodl", "x", "another", "ltr", "mine", "yours", "theirs"]:
        luminance = np.array([0.2126, 0.7152, 0.0722]) @ linear(style(method).colour)
        assert 1.05 / (luminance + 0.05) > 2.7, method


def test_phases_darken_along_the_stack():
    lightness = [lab(linear(colour))[0] for colour in PHASE_COLOURS.values()]
    assert lightness[:-1] == sorted(lightness[:-1], reverse=True)
    assert min(-np.diff(lightness[:-1])) > 8


def test_a_plugins_look_depends_on_its_name_alone():
    program = "from dglbench.report.style.palette import style; print(style('mine'))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout.strip() == str(style("mine"))
    assert style("mine").label == "mine"
    assert not is_dgl("lodl")
    assert not is_dgl("dgl-ish")


def test_periods_and_order():
    assert refresh_period("dgl-5") == 5
    assert refresh_period("dgl-none") == float("inf")
    assert refresh_period("dgl-auto") is None
    assert sorted(["lodl", "dgl-auto", "dgl-1", "dgl-none", "dgl-20", "spo"], key=method_order) == [
        "spo",
        "dgl-none",
        "dgl-20",
        "dgl-1",
        "dgl-auto",
        "lodl",
    ]


def hue(colour):
    return colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


@pytest.mark.parametrize("kin", ["spo", "qptl", "rdgl", "pyepo", "mine"])
def test_variants_of_a_family_share_a_hue_and_differ_otherwise(kin):
    variants = [f"{kin}-{name}" for name in ("dual", "relaxed", "1", "5", "20")]
    hues = [hue(style(variant).colour) for variant in variants]
    assert max(hues) - min(hues) < 0.06
    assert {family(variant) for variant in variants} == {kin}
    looks = {(style(variant).colour, style(variant).shape) for variant in variants}
    assert len(looks) == len(variants)


def test_a_family_is_what_stands_before_the_hyphen():
    assert family("dgl-none") == family("dgl-5") == "dgl"
    assert family("two-stage") == "two-stage"
    assert family("lodl") == "lodl"
    assert style("spo-dual").label == "SPO+ dual"
    assert style("pyepo-spo").label == "PyEPO SPO+"
    assert style("pyepo-nce").label == "PyEPO NCE"


def test_families_stay_together_and_are_led_by_their_namesake():
    mixed = ["qptl-dual", "rdgl-5", "spo-dual", "dgl-1", "qptl", "rdgl-none", "spo", "dgl-none"]
    ordered = sorted(mixed, key=method_order)
    families = [family(method) for method in ordered]
    assert [kin for kin, _ in itertools.groupby(families)] == ["spo", "qptl", "dgl", "rdgl"]
    assert ordered.index("spo") < ordered.index("spo-dual")
    assert ordered.index("dgl-none") < ordered.index("dgl-1")
