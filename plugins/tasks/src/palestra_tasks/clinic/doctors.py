"""Scripted agents of `tasks/Hospital-v0`: a Bayesian one, one who learns from records, others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from palestra import PalestraError, ScriptedAgent, Turn, agent

from palestra_tasks.clinic.diseases import Knowledge, belief
from palestra_tasks.clinic.hospital import (
    TEST_COST,
    WINGS,
    Ask,
    Consult,
    Hospital,
    Say,
    Test,
    Treat,
    Triage,
    remaining,
)

_PATIENT = re.compile(r"Patient \d+ of \d+\. (.*)\.\nQuestions and tests left: (\d+)")
_DISEASE = re.compile(
    r"Disease (\d+), (.*?)\. Share of patients (\d+)%; (.*?)\. What helps: (.*)\."
)
_RECORD = re.compile(
    r"Record \d+: (.*?)\. Diagnosed .*?; it was (.*?); (.*?) (helped|did not help)"
)
_YES = {"yes": True, "positive": True, "no": False, "negative": False}


def read_textbook(position: str) -> Knowledge:
    """The textbook in a position, with chances as rounded as they are printed."""
    symptoms = _names(position, r"Symptoms: (.*)\.")
    priced = dict(pair.rsplit(" ", 1) for pair in _names(position, r"Tests and prices: (.*)\."))
    tests, treatments = tuple(priced), _names(position, r"Treatments: (.*)\.")
    rows = _DISEASE.findall(position)
    chances = [
        {name: int(p) / 100 for name, p in (part.rsplit(" ", 1) for part in _parts(row[3]))}
        for row in rows
    ]
    shares = [max(1, int(row[2])) for row in rows]
    return Knowledge(
        tuple(row[1] for row in rows),
        symptoms,
        tests,
        treatments,
        tuple(s / sum(shares) for s in shares),
        tuple(tuple(c[s] for s in symptoms) for c in chances),
        tuple(tuple(c[t] for t in tests) for c in chances),
        tuple(int(price) for price in priced.values()),
        tuple(treatments.index(row[4]) for row in rows),
    )


def _names(position: str, pattern: str) -> tuple[str, ...]:
    found = re.search(pattern, position)
    return tuple(found[1].split(", ")) if found else ()


def _parts(text: str) -> list[str]:
    return [part.rstrip("%") for part in text.split(", ")]


def findings(text: str) -> dict[str, bool]:
    """Symptoms and tests with their findings in a line of notes."""
    pairs = (part.rsplit(": ", 1) for part in text.split("; "))
    return {name: _YES[value] for name, value in pairs}


@agent("hospital-bayes", kind="solver")
class BayesDoctor(ScriptedAgent[Hospital]):
    """Reads the textbook and asks or tests what tells most; patients and colleagues answer too.

    A test is ordered while the information that it gives, in nats, is worth more than its price.
    As a patient it answers truthfully, as a colleague it says that it has no opinion.
    """

    def choose(self, turn: Turn[Hospital]) -> Any:
        position = turn.position
        if "Say(" in turn.legal_text:
            return Say(_answer(position))
        known = self.knowledge(position)
        found = _PATIENT.search(position)
        assert found is not None  # a doctor in turn has a patient
        seen = findings(found[1]) | _heard(turn)
        symptoms = {known.symptoms.index(n): y for n, y in seen.items() if n in known.symptoms}
        tests = {known.tests.index(n): y for n, y in seen.items() if n in known.tests}
        weights = _left(known, belief(known, symptoms, tests), position)
        if "Triage(" in turn.legal_text:
            return Triage(max(WINGS, key=lambda w: sum(remaining(known, weights, w, ""))))
        best = max(range(len(weights)), key=weights.__getitem__)
        if int(found[2]) and max(weights) < 0.97:
            action = _most_telling(known, weights, symptoms, tests)
            if action is not None:
                return action
        return Treat(known.diseases[best], known.treatments[known.cures[best]])

    def knowledge(self, position: str) -> Knowledge:
        """What the doctor knows of diseases."""
        known = read_textbook(position)
        if not known.diseases:
            raise PalestraError(
                "this agent reads the textbook, which is closed (textbook=False); open it, or use "
                "hospital-evolving, which learns from records"
            )
        return known


def _left(known: Knowledge, weights: tuple[float, ...], position: str) -> tuple[float, ...]:
    """The belief that is left by the wing of the patient and by what did not help them."""
    wing = re.search(r"The patient is in the (\w+) wing", position)
    failed = re.search(r"They have come back: (.*) did not help", position)
    left = remaining(known, weights, wing[1] if wing else "", failed[1] if failed else "")
    total = sum(left)
    return tuple(w / total for w in left) if total else weights


def _answer(position: str) -> str:
    """A truthful answer of a patient; a second doctor knows no more than the first."""
    asked = re.search(r"do you have (.*)\?", position)
    have = re.search(r"You have: (.*)\. You came", position)
    if not asked or not have:
        return "I have no other opinion."
    return "Yes." if asked[1] in have[1].split(", ") else "No."


def _heard(turn: Turn[Hospital]) -> dict[str, bool]:
    """What a patient has answered in words that begin with yes or no."""
    heard, question = {}, ""
    for event in turn.transcript:
        if event.kind == "question":
            question = event.text.split("do you have ", 1)[1].rstrip("?")
        elif event.kind == "message" and event.data["player"] == 1:
            word = str(event.data["said"]).strip().lower()
            if word.startswith(("yes", "no")):
                heard[question] = word.startswith("yes")
    return heard


def _entropy(weights: Any) -> float:
    return -math.fsum(w * math.log(w) for w in weights if w > 0)


def _most_telling(
    known: Knowledge,
    weights: tuple[float, ...],
    symptoms: Mapping[int, bool],
    tests: Mapping[int, bool],
) -> Any:
    """The question or test that lowers the entropy most for its price; None if none does."""
    best: tuple[float, Any] = (0.002, None)
    for n, name in enumerate(known.symptoms):
        if n not in symptoms:
            gain = _gain(weights, [row[n] for row in known.symptom_chances])
            best = max(best, (gain, Ask(name)), key=lambda pair: pair[0])
    for n, name in enumerate(known.tests):
        if n not in tests:
            gain = _gain(weights, [row[n] for row in known.test_chances])
            worth = gain - 2 * TEST_COST * known.prices[n]
            best = max(best, (worth, Test(name)), key=lambda pair: pair[0])
    return best[1]


def _gain(weights: tuple[float, ...], chances: list[float]) -> float:
    """The expected fall of the entropy by a finding."""
    yes = [w * p for w, p in zip(weights, chances, strict=True)]
    no = [w - y for w, y in zip(weights, yes, strict=True)]
    gain = _entropy(weights)
    for part in (yes, no):
        share = sum(part)
        if share > 0:
            gain -= share * _entropy([w / share for w in part])
    return gain


@agent("hospital-records", kind="scripted")
class RecordDoctor(ScriptedAgent[Hospital]):
    """Has no textbook: asks six questions, then goes by the record most like this patient."""

    def choose(self, turn: Turn[Hospital]) -> Any:
        position = turn.position
        if "Say(" in turn.legal_text:
            return Say(_answer(position))
        found = _PATIENT.search(position)
        assert found is not None
        seen = findings(found[1]) | _heard(turn)
        if "Triage(" in turn.legal_text:
            return Triage(WINGS[0])
        symptoms = _names(position, r"Symptoms: (.*)\.")
        fresh = [s for s in symptoms if s not in seen]
        if len(seen) < 7 and fresh and int(found[2]):
            return Ask(fresh[0])
        return self._by_record(turn, position, seen)

    def _by_record(self, turn: Turn[Hospital], position: str, seen: dict[str, bool]) -> Treat:
        best, diagnosis, helped = -1, "disease 1", dict[str, str]()
        for notes, disease, treatment, effect in _RECORD.findall(position):
            old = findings(notes)
            if effect == "helped":
                helped[disease] = treatment
            alike = sum(old.get(name) == yes for name, yes in seen.items())
            if alike > best:
                best, diagnosis = alike, disease
        treatments = _names(position, r"Treatments: (.*)\.")
        return Treat(diagnosis, helped.get(diagnosis) or self.rng.choice(treatments))


@agent("hospital-consulting", kind="solver")
class ConsultingDoctor(BayesDoctor):
    """As `hospital-bayes`, and asks the second doctor once where there is one."""

    def choose(self, turn: Turn[Hospital]) -> Any:
        if "Consult()" in turn.legal_text:
            return Consult()
        return super().choose(turn)


@agent("hospital-evolving", kind="solver")
class EvolvingDoctor(BayesDoctor):
    """Has no textbook and learns all of it from records, as the day goes on.

    The chance of a symptom or a finding is estimated from the records of a disease, right and wrong
    diagnoses alike, with half a case of each kind added (Jeffreys' prior). A treatment that did not
    help is not given again for that disease.
    """

    def knowledge(self, position: str) -> Knowledge:
        return read_experience(position)


def read_experience(position: str) -> Knowledge:
    """The knowledge that the records in a position give, without what a textbook says."""
    symptoms = _names(position, r"Symptoms: (.*)\.")
    priced = dict(pair.rsplit(" ", 1) for pair in _names(position, r"Tests and prices: (.*)\."))
    tests, treatments = tuple(priced), _names(position, r"Treatments: (.*)\.")
    diseases = tuple(re.findall(r"^Disease \d+, (.*?)\.", position, re.MULTILINE))
    records = [(findings(r[0]), r[1], r[2], r[3]) for r in _RECORD.findall(position)]

    def chances(disease: str, names: tuple[str, ...]) -> tuple[float, ...]:
        seen = [found for found, true, *_ in records if true == disease]
        return tuple(_jeffreys([found[name] for found in seen if name in found]) for name in names)

    def cure(disease: str) -> int:
        tried = {given: effect for _, true, given, effect in records if true == disease}
        helped = [given for given, effect in tried.items() if effect == "helped"]
        fresh = [name for name in treatments if name not in tried]
        return treatments.index((helped or fresh or list(treatments))[0])

    cases = [1 + sum(true == disease for _, true, *_ in records) for disease in diseases]
    return Knowledge(
        diseases,
        symptoms,
        tests,
        treatments,
        tuple(count / sum(cases) for count in cases),
        tuple(chances(disease, symptoms) for disease in diseases),
        tuple(chances(disease, tests) for disease in diseases),
        tuple(int(price) for price in priced.values()),
        tuple(cure(disease) for disease in diseases),
    )


def _jeffreys(seen: list[bool]) -> float:
    return (sum(seen) + 0.5) / (len(seen) + 1)
