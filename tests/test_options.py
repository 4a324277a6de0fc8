"""Options: text in, a checked frozen dataclass out, or a sentence with what is allowed."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import Doc

from dglbench import options
from dglbench.errors import OptionError


@dataclass(frozen=True)
class Sample:
    n: Annotated[int, Ge(1), Doc("how many")] = 50
    rate: Annotated[float, Gt(0), Lt(2)] = 0.5
    share: Annotated[float, Ge(0), Le(1)] = 1.0
    source: Literal["here", "there"] = "here"
    fast: bool = False
    sizes: tuple[int, ...] | None = None
    weights: tuple[Annotated[int, Ge(1)], ...] = (3, 5)
    limit: Annotated[float | None, Gt(0)] = None

    def __post_init__(self):
        if self.sizes is not None and sum(self.sizes) > self.n:
            raise ValueError(f"sizes must not exceed n, got {sum(self.sizes)}.")


def parse(**given):
    return options.parse(Sample, given, owner="sample")


def test_defaults():
    assert parse() == Sample()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n": "7"}, Sample(n=7)),
        ({"n": 7}, Sample(n=7)),
        ({"rate": "1e-3"}, Sample(rate=1e-3)),
        ({"rate": 1}, Sample(rate=1.0)),
        ({"source": "there"}, Sample(source="there")),
        ({"fast": "true"}, Sample(fast=True)),
        ({"fast": "no"}, Sample(fast=False)),
        ({"sizes": "1, 2,3"}, Sample(sizes=(1, 2, 3))),
        ({"sizes": [1, 2]}, Sample(sizes=(1, 2))),
        ({"sizes": "none"}, Sample(sizes=None)),
        ({"sizes": "None"}, Sample(sizes=None)),
        ({"sizes": ""}, Sample(sizes=None)),
        ({"weights": "4"}, Sample(weights=(4,))),
        ({"limit": "2.5"}, Sample(limit=2.5)),
        ({"limit": "none"}, Sample(limit=None)),
        ({"limit": None}, Sample(limit=None)),
    ],
)
def test_values_and_their_text(given, expected):
    assert parse(**given) == expected


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n": "0"}, "sample: n must be a whole number ≥ 1, got '0'."),
        ({"n": "1.5"}, "sample: n must be a whole number ≥ 1, got '1.5'."),
        ({"n": "none"}, "sample: n must be a whole number ≥ 1, got 'none'."),
        ({"rate": "2"}, "sample: rate must be a number > 0 and < 2, got '2'."),
        ({"rate": "nan"}, "rate must be a number"),
        ({"rate": "inf"}, "rate must be a number"),
        ({"share": -0.1}, "share must be a number ≥ 0 and ≤ 1, got -0.1."),
        ({"source": "nowhere"}, "source must be one of here, there, got 'nowhere'."),
        ({"fast": "perhaps"}, "fast must be true or false, got 'perhaps'."),
        ({"sizes": "1,x"}, "sizes must be a comma-separated list, each a whole number or none"),
        ({"weights": "3,0"}, "weights must be a comma-separated list"),
        ({"limit": "-1"}, "limit must be"),
        ({"sizes": "40,40"}, "sample: sizes must not exceed n, got 80."),
        ({"colour": "red"}, "sample has no option 'colour'; it has n, rate, share, source"),
    ],
)
def test_mistakes_say_what_is_allowed(given, says):
    with pytest.raises(OptionError) as caught:
        parse(**given)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_assignments():
    words = ["slack=0.2", " n = 5 ", "location-weight=0", "note=a=b"]
    assert options.parse_assignments(words) == {
        "slack": "0.2",
        "n": "5",
        "location_weight": "0",
        "note": "a=b",
    }
    for word in ("slack", "=3", ""):
        with pytest.raises(OptionError, match="--set takes key=value"):
            options.parse_assignments([word])


def test_the_parser_of_a_class_is_built_once(monkeypatch):
    import pydantic

    built = []
    real = pydantic.TypeAdapter
    monkeypatch.setattr(pydantic, "TypeAdapter", lambda cls: built.append(cls) or real(cls))

    @dataclass(frozen=True)
    class Fresh:
        n: int = 1

    for number in ("2", "3", "4"):
        assert options.parse(Fresh, {"n": number}, owner="fresh") == Fresh(int(number))
    assert built == [Fresh]


def test_describe():
    infos = {info.name: info for info in options.describe(Sample)}
    assert list(infos) == [
        "n",
        "rate",
        "share",
        "source",
        "fast",
        "sizes",
        "weights",
        "limit",
    ]
    assert infos["n"] == ("n", "a whole number", "a whole number ≥ 1", 50, "how many")
    assert infos["source"].allowed == "one of here, there"


@given(
    n=st.integers(1, 10**6),
    rate=st.floats(0, 2, exclude_min=True, exclude_max=True),
    sizes=st.none() | st.lists(st.integers(0, 0), max_size=3).map(tuple),
    fast=st.booleans(),
)
def test_what_is_saved_is_read_back(n, rate, sizes, fast):
    sample = Sample(n=n, rate=rate, sizes=sizes, fast=fast)
    assert options.parse(Sample, options.as_dict(sample), owner="sample") == sample
