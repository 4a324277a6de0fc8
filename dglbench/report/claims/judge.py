"""The paper's statements, checked on the logs at hand.

A claim is an entry of a TOML file: who said what where, and which kind of check
would show it (`regret_checks`, `speed_checks` and `trend_checks`). Judging it
is the same for all kinds. Of the settings in which the claim's methods were run,

- *supported*: it holds in at least ``share`` of them;
- *holds in part*: it holds in some, but could not reach that share even if it held in
  all that are open;
- *refuted*: it could not reach that share, and holds in none;
- *not decidable here*: anything else, and where no setting says anything.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol

from dglbench import options
from dglbench.errors import OptionError, ReportError
from dglbench.report.claims.evidence import Evidence, Finding
from dglbench.report.claims.regret_checks import Improves, Lowest, NotWorse, SmallSpread
from dglbench.report.claims.speed_checks import Cost, EpochRatio, LeadInPays, Sooner
from dglbench.report.claims.trend_checks import SeedsAgree, Widens

__all__ = ["KINDS", "Claim", "Judged", "judge", "read_claims"]

Verdict = Literal["supported", "holds in part", "refuted", "not decidable here"]


class Check(Protocol):
    """What every kind of check offers."""

    @property
    def rule(self) -> str:
        """What must be true in a setting, with its thresholds."""

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Look at the logs."""


KINDS: dict[str, type[Any]] = {
    "sooner": Sooner,
    "lowest": Lowest,
    "cost": Cost,
    "epoch-ratio": EpochRatio,
    "lead-in-pays": LeadInPays,
    "improves": Improves,
    "not-worse": NotWorse,
    "small-spread": SmallSpread,
    "widens": Widens,
    "seeds-agree": SeedsAgree,
}

_TEXTS = ("id", "statement", "source", "reading", "origin")


@dataclass(frozen=True)
class Claim:
    """A statement and the check that would show it."""

    id: str
    statement: str
    source: str
    reading: str
    """How the statement was made precise."""
    share: float
    check: Check
    origin: str = "paper"
    """Who says so: ``paper``, ``dglbench``, or ``own`` for a user's file that names no other."""


@dataclass(frozen=True)
class Judged:
    """A claim with what was found."""

    claim: Claim
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...]

    @property
    def rule(self) -> str:
        """Say what must hold where, for the claim to be supported."""
        share = self.claim.share
        where = "every setting" if share == 1 else f"at least {100 * share:.0f} % of the settings"
        return f"in {where}, {self.claim.check.rule}"

    @property
    def shown(self) -> list[Finding]:
        """Return the findings to read: what was not run in many settings is named once."""
        shown = [finding for finding in self.findings if finding.outcome != "absent"]
        where: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.outcome == "absent":
                where.setdefault(finding.text, []).append(finding.setting)
        for text, settings in where.items():
            names = "; ".join(settings) if len(settings) <= 2 else f"{len(settings)} settings"
            shown.append(Finding(names, "absent", text))
        return shown

    def document(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            **{name: getattr(self.claim, name) for name in _TEXTS},
            "share": self.claim.share,
            "rule": self.rule,
            "verdict": self.verdict,
            "summary": self.summary,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
        }


def read_claims(file: Path | None = None) -> list[Claim]:
    """Read the paper's claims, and a user's: a known id replaces, a new one is added."""
    own = resources.files("dglbench.report.claims").joinpath("claims.toml").read_text("utf-8")
    claims = {claim.id: claim for claim in _parse(own, "claims.toml")}
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ReportError(f"the claims file {file} cannot be read: {error}.") from error
        claims |= {claim.id: claim for claim in _parse(text, str(file))}
    return list(claims.values())


def judge(evidence: Evidence, claims: Iterable[Claim]) -> list[Judged]:
    """Check every claim."""
    listed = list(claims)
    evidence.checks = {claim.id: claim.check for claim in listed}
    return [_judge(claim, claim.check.findings(evidence)) for claim in listed]


def _judge(claim: Claim, findings: list[Finding]) -> Judged:
    counts = Counter(finding.outcome for finding in findings)
    holds, fails, unsure = counts["holds"], counts["fails"], counts["open"]
    asked = holds + fails + unsure
    verdict: Verdict = "not decidable here"
    if asked and holds >= claim.share * asked:
        verdict = "supported"
    elif asked and holds + unsure < claim.share * asked:
        verdict = "holds in part" if holds else "refuted"
    if not asked:
        summary = "no run in this folder is about it"
    else:
        parts = [f"holds in {holds} of {asked}"]
        parts += [f"fails in {fails}"] if fails else []
        parts += [f"open in {unsure}"] if unsure else []
        summary = ", ".join(parts)
        needs = f"{claim.share:.0%}".replace("%", " %") if claim.share < 1 else "all"
        if holds < asked or claim.share < 1:
            summary += f"; needs {needs}"
    if counts["absent"]:
        summary += f"; not run in {counts['absent']}"
    return Judged(claim, verdict, summary, tuple(findings))


def _parse(text: str, name: str) -> list[Claim]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReportError(f"the claims file {name} is not valid TOML: {error}.") from error
    entries = document.get("claim")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ReportError(f"the claims file {name} must hold each claim as a [[claim]] table.")
    if not entries:
        raise ReportError(f"the claims file {name} has no [[claim]] entry.")
    return [_claim(entry, name) for entry in entries]


def _claim(entry: Mapping[str, Any], name: str) -> Claim:
    where = f"claim {entry.get('id', '?')!r} in {name}"
    for key in ("id", "statement", "check"):
        if not isinstance(entry.get(key), str):
            raise ReportError(f"{where} needs the text {key!r}; it has {', '.join(entry)}.")
    if entry["check"] not in KINDS:
        raise ReportError(
            f"{where} asks for the check {entry['check']!r}; there are {', '.join(KINDS)}."
        )
    share = entry.get("share", 1.0)
    if not isinstance(share, int | float) or not 0 < share <= 1:
        raise ReportError(f"{where}: share must be a number > 0 and ≤ 1, got {share!r}.")
    kind = KINDS[entry["check"]]
    rest = {key: value for key, value in entry.items() if key not in {*_TEXTS, "check", "share"}}
    required = [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    for key in required:
        if not rest.get(key):
            raise ReportError(f"{where}: the check {entry['check']!r} needs {key!r}.")
    try:
        check: Check = options.parse(kind, rest, owner=where)
    except OptionError as error:
        raise ReportError(str(error)) from error
    texts = {key: str(entry.get(key, "")) for key in _TEXTS}
    texts["origin"] = texts["origin"] or ("paper" if name == "claims.toml" else "own")
    return Claim(**texts, share=float(share), check=check)
