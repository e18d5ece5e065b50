"""A hospital of simulated patients: ask, test, consult, diagnose and treat, one after another.

A study of agents and no medical advice: diseases, symptoms, tests and treatments are invented.

A day has several patients. Each comes with a complaint; the doctor asks about symptoms, orders
tests that cost money, and decides on a diagnosis and a treatment. After the follow-up the doctor
learns the true disease, which is kept as a record, so that experience grows within an episode
(Agent Hospital) and the textbook may be closed (`textbook=False`). With more seats the same
consultation has a patient who speaks for themselves, and a second doctor whose opinion can be
asked once for each patient (MedAgentSim).

With `course="whole"` a visit is longer, as in Agent Hospital. A nurse (a fourth seat, or the doctor
themselves) sends the patient to one of three wings; a wrong one sends them on, and the walk costs
questions. A patient whom the treatment did not help comes back once, and what is right only then
pays half. The picture is a map of the hospital.

After Li, Lai, Li et al., "Agent Hospital: A Simulacrum of Hospital with Evolvable Medical Agents",
2024, and Almansoori, Kumar and Cholakkal, "Self-Evolving Multi-Agent Simulations for Realistic
Clinical Interactions" (MedAgentSim), 2025. A right diagnosis pays 1, a treatment that helps 0.5,
and a test costs its price over 100.

Checked: the posterior against enumeration of all cases; the Bayesian doctor's accuracy with all
symptoms and tests known equals the expected largest posterior.

Left out: cases of real patients, pictures, medical textbooks, and queues of patients who wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    Rng,
    Step,
    Talking,
    Text,
    TextAction,
    environment,
    metric,
    only,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Grid, Part, Person, Piece, RoundTable

from palestra_tasks.clinic.diseases import (
    SYMPTOMS,
    TESTS,
    TREATMENTS,
    Case,
    Knowledge,
    belief,
    draw_case,
    draw_knowledge,
)
from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, shared_end

HELP = 0.5  # what a treatment that helps pays
TEST_COST = 0.01  # of one unit of a test's price
DOCTOR, PATIENT, COLLEAGUE, NURSE = range(4)
ROLES = ("doctor", "patient", "second doctor", "nurse")
WINGS = ("east", "north", "west")
WALK = 4  # questions that a wrong wing costs
LATE = 0.5  # the share that is paid for what is right only when the patient has come back
ROOMS = (("home", "reception", "laboratory"), WINGS)


class Ask(TextAction, frozen=True):
    """Ask the patient about a symptom."""

    symptom: str


class Test(TextAction, frozen=True):
    """Order a test."""

    name: str


class Consult(TextAction, frozen=True):
    """Ask the second doctor, who reads the notes and gives an opinion."""


class Triage(TextAction, frozen=True):
    """Send the patient to a wing."""

    wing: str


class Treat(TextAction, frozen=True):
    """Decide on a diagnosis and a treatment; the patient leaves."""

    diagnosis: str
    treatment: str


class Say(TextAction, frozen=True):
    """Answer in your own words."""

    text: str


LINES = (Say("Yes."), Say("No."))


@dataclass(frozen=True, slots=True)
class Visit:
    """A patient who has left: what was known, what was decided, what was true."""

    symptoms: tuple[tuple[int, bool], ...]
    tests: tuple[tuple[int, bool], ...]
    diagnosis: int
    treatment: int
    disease: int
    first: tuple[int, int] | None = None  # diagnosis and treatment before the patient came back


def remaining(
    known: Knowledge, weights: tuple[float, ...], wing: str, failed: str
) -> tuple[float, ...]:
    """Weights of diseases, 0 for those of other wings and those that `failed` would have cured."""
    return tuple(
        weight
        * (not wing or WINGS[n % len(WINGS)] == wing)
        * (not failed or known.treatments[known.cures[n]] != failed)
        for n, weight in enumerate(weights)
    )


def worth(visit: Visit, known: Knowledge) -> dict[str, float]:
    """What a visit pays beside its tests: all for what was right at once, half if it was later."""
    decided = [(visit.diagnosis, visit.treatment)]
    if visit.first:
        decided.insert(0, visit.first)
    named, helped = [], []
    for (diagnosis, treatment), share in zip(decided, (1.0, LATE), strict=False):
        named.append(share * (diagnosis == visit.disease))
        helped.append(share * (treatment == known.cures[visit.disease]))
    return {"diagnosis": max(named), "treatment": HELP * max(helped)}


@dataclass(slots=True, kw_only=True)
class WardState(TaskState):
    """The state of a day in the clinic."""

    seed: int  # of the clinic's knowledge
    case: Case
    complaint: int  # the symptom that the patient names at once
    asked: tuple[tuple[int, bool], ...] = ()
    tested: tuple[tuple[int, bool], ...] = ()
    opinions: int = 0
    visits: tuple[Visit, ...] = ()
    spent: int = 0
    waiting: str = ""  # whom the doctor waits for: "", "patient" or "colleague"
    question: int = -1
    wing: int = -1  # where the patient is, once they have been sent to the right one
    walked: int = 0  # questions that a walk from the wrong wing has cost
    tried: tuple[int, int] | None = None  # diagnosis and treatment of the first visit


@environment(
    "tasks/Hospital-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "chance"),
    paper=(
        "Li et al. (2024), Agent Hospital: A Simulacrum of Hospital with Evolvable Medical Agents; "
        "Almansoori et al. (2025), Self-Evolving Multi-Agent Simulations for Realistic Clinical "
        "Interactions"
    ),
    splits={
        "textbook": {"textbook": True},
        "experience": {"textbook": False, "patients": 12},
        "patient-speaks": {"num_players": 2},
        "consultation": {"num_players": 3},
        "whole-course": {"course": "whole"},
    },
)
@dataclass(frozen=True)
class Hospital(Talking, TaskGame[WardState]):
    """A doctor sees simulated patients with invented diseases; a study of agents, not advice.

    Actions by number: Ask about each symptom and Test for each test, in alphabetical order, Treat
    for each disease by its number and each treatment; with several seats also Consult and Say in
    two lines; in a whole course also Triage for each wing. An observation is a float32 vector: for
    each symptom and each test 1 (yes), -1 (no) or 0 (not known), patients left, money spent; in a
    whole course also 1 for the wing where the patient is, and 1 if they have come back.
    """

    num_players: Annotated[
        int,
        Meta(ge=1, le=4, description="a doctor, the patient, a second doctor, a nurse"),
    ] = 1
    patients: Annotated[
        int, Meta(ge=1, le=50, description="patients in a day; one where the patient is a player")
    ] = 3
    diseases: Annotated[int, Meta(ge=2, le=12, description="diseases that there are")] = 6
    questions: Annotated[
        int, Meta(ge=1, le=40, description="questions, tests and opinions for each patient")
    ] = 12
    textbook: Annotated[
        bool, Meta(description="whether the doctors read the chances of symptoms and findings")
    ] = True
    course: Annotated[
        Literal["consultation", "whole"],
        Meta(description="what a visit is; whole: also triage, and coming back if not helped"),
    ] = "consultation"

    rules_text = """
        This is a simulation for the study of agents. Its diseases, tests and treatments are
        invented; nothing in it is medical advice.
    """
    payoffs = "common"
    deterministic = False
    action_types = (Ask, Test, Consult, Triage, Treat, Say)
    feature_bounds = (-1.0, 1e6)
    pays_score = False
    reward_terms = ("diagnosis", "treatment", "tests")

    def rules_for(self, seat: int) -> str:
        head = super().rules_for(seat)
        if seat == PATIENT:
            return (
                f"{head}\nYou are a patient. The doctor asks about symptoms, and you answer with "
                "Say(text='…') in your own words, truthfully: you read which symptoms you have. "
                "You do not know your disease. You are paid what the doctor is paid."
            )
        if seat == COLLEAGUE:
            return (
                f"{head}\nYou are a second doctor. When you are consulted you read the notes and "
                "give your opinion in words, with Say(text='…'). You are paid what the doctor is "
                "paid."
            )
        triage = (
            f"Triage(wing='…') sends them to one of three wings; a wrong one sends them on, which "
            f"costs {WALK} questions."
        )
        if seat == NURSE:
            return (
                f"{head}\nYou are a nurse. You read what each patient complains of, and {triage} "
                "You are paid what the doctor is paid."
            )
        lines = [
            head,
            "You are a doctor and see one patient after another. Ask(symptom='a cough') asks about "
            "a symptom, Test(name='ember test') orders a test, which costs money, and "
            "Treat(diagnosis='…', treatment='…') ends the visit; then you learn the true disease. "
            f"Each patient has time for {self.questions} questions and tests.",
            "You are paid 1 for a right diagnosis and 0.5 for a treatment that helps, less a "
            "hundredth of the price of every test.",
        ]
        if self.course == "whole":
            who = "A nurse" if self.num_players == 4 else "You"
            verb = triage if self.num_players < 4 else triage.split("; ")[1]
            start = "first: " if self.num_players < 4 else "sends each patient to a wing; "
            lines.append(
                f"{who} {start}{verb} A patient whom the treatment did not help comes back once; "
                "what is right only then pays half. The true disease is told when they leave."
            )
        if self.num_players >= 3:
            lines.append("Consult() asks a second doctor for an opinion, once for each patient.")
        return "\n".join(lines)

    @property
    def day(self) -> int:
        """Patients in an episode: a player is one patient, and no other after that."""
        return self.patients if self.num_players == 1 else 1

    @property
    def turns(self) -> int:
        """Actions of an episode, those of all seats."""
        return self.day * (2 * self.questions + (3 if self.course == "whole" else 1))

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        pairs = [(d, t) for d in range(self.diseases) for t in range(len(TREATMENTS))]
        return (
            *(Ask(s) for s in sorted(SYMPTOMS)),
            *(Test(t) for t in sorted(TESTS)),
            *(Treat(f"disease {d + 1}", sorted(TREATMENTS)[t]) for d, t in pairs),
            *((Consult(), *LINES) if self.num_players > 1 else ()),
            *((Triage(wing) for wing in WINGS) if self.course == "whole" else ()),
        )

    @property
    def num_features(self) -> int:
        return len(SYMPTOMS) + len(TESTS) + (6 if self.course == "whole" else 2)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        worst = TEST_COST * 8 * len(TESTS) * self.day
        return (-worst, (1.0 + HELP) * self.day)

    def knowledge(self, state: WardState) -> Knowledge:
        return draw_knowledge(self.diseases, state.seed)

    def names(self, state: WardState) -> dict[str, int]:
        """Diseases by what players call them: by their name, and by their number."""
        listed = self.knowledge(state).diseases
        return {
            **{name: n for n, name in enumerate(listed)},
            **{f"disease {n + 1}": n for n in range(len(listed))},
        }

    def initial_state(self, seed: int | None = None) -> WardState:
        rng = Rng.seeded(check_seed(seed))
        known_seed = rng.word()
        case = draw_case(draw_knowledge(self.diseases, known_seed), rng)
        state = WardState(rng=rng, seed=known_seed, case=case, complaint=0)
        self._admit(state, case)
        return state

    def _admit(self, state: WardState, case: Case) -> None:
        """Let the next patient in; they name one of their symptoms."""
        present = [n for n, yes in enumerate(case.symptoms) if yes]
        state.case, state.complaint = case, state.rng.choice(present)
        state.asked, state.tested, state.opinions = ((state.complaint, True),), (), 0
        state.waiting = "triage" if self.course == "whole" else ""
        state.wing, state.walked, state.tried = -1, 0, None

    def acting(self, state: WardState) -> int:
        nurse = NURSE if self.num_players == 4 else DOCTOR
        seats = {"": DOCTOR, "patient": PATIENT, "colleague": COLLEAGUE, "triage": nurse}
        return seats[state.waiting]

    # What a seat reads

    def statement(self, state: WardState, seat: int) -> str:
        known = self.knowledge(state)
        if seat == PATIENT:
            have = sorted(known.symptoms[n] for n, yes in enumerate(state.case.symptoms) if yes)
            return (
                f"You have: {', '.join(have)}. You came because of "
                f"{known.symptoms[state.complaint]}. You have no other symptoms."
            )
        lines = [
            f"Symptoms: {', '.join(sorted(known.symptoms))}.",
            "Tests and prices: "
            + ", ".join(f"{t} {p}" for t, p in sorted(zip(known.tests, known.prices, strict=True)))
            + ".",
            f"Treatments: {', '.join(sorted(known.treatments))}.",
        ]
        for n, name in enumerate(known.diseases):
            lines.append(f"Disease {n + 1}, {name}." + self._chapter(known, n))
        if self.course == "whole":
            wings = [known.diseases[n :: len(WINGS)] for n in range(len(WINGS))]
            told = [f"{w}: {', '.join(ill) or 'none'}" for w, ill in zip(WINGS, wings, strict=True)]
            lines.append(f"Wings: {'; '.join(told)}.")
        return "\n".join(lines)

    def _chapter(self, known: Knowledge, disease: int) -> str:
        """What the textbook says of a disease."""
        if not self.textbook:
            return ""
        symptoms = zip(known.symptoms, known.symptom_chances[disease], strict=True)
        tests = zip(known.tests, known.test_chances[disease], strict=True)
        told = [f"{name} {p:.0%}" for name, p in (*sorted(symptoms), *sorted(tests))]
        cure = known.treatments[known.cures[disease]]
        share = known.shares[disease]
        return f" Share of patients {share:.0%}; {', '.join(told)}. What helps: {cure}."

    def notes(self, state: WardState, seat: int) -> tuple[str, ...]:
        known = self.knowledge(state)
        if seat == PATIENT:
            if state.waiting == "patient":
                return (f"The doctor asks: do you have {known.symptoms[state.question]}?",)
            return ("The doctor has not asked you anything now.", *self._where(state))
        lines = [self._record(known, visit, n + 1) for n, visit in enumerate(state.visits)]
        number = len(state.visits) + 1
        if number > self.day:
            return tuple(lines)
        found = [
            f"{known.symptoms[n]}: {'yes' if yes else 'no'}"
            for n, yes in state.asked
            if self.num_players == 1 or n == state.complaint
        ]
        found += [f"{known.tests[n]}: {'positive' if y else 'negative'}" for n, y in state.tested]
        lines.append(f"Patient {number} of {self.day}. {'; '.join(found)}.")
        lines.append(f"Questions and tests left: {max(0, self.questions - self.used(state))}.")
        return (*lines, *self._where(state))

    def _where(self, state: WardState) -> tuple[str, ...]:
        """Where the patient is, and what did not help them."""
        if self.course != "whole" or len(state.visits) >= self.day:
            return ()
        place = f"{WINGS[state.wing]} wing" if state.wing >= 0 else "reception"
        lines = [f"The patient is in the {place}."]
        if state.tried:
            given = self.knowledge(state).treatments[state.tried[1]]
            lines.append(f"They have come back: {given} did not help.")
        return tuple(lines)

    def _record(self, known: Knowledge, visit: Visit, number: int) -> str:
        found = [f"{known.symptoms[n]}: {'yes' if y else 'no'}" for n, y in visit.symptoms]
        found += [f"{known.tests[n]}: {'positive' if y else 'negative'}" for n, y in visit.tests]
        helped = "helped" if known.cures[visit.disease] == visit.treatment else "did not help"
        return (
            f"Record {number}: {'; '.join(found)}. Diagnosed {known.diseases[visit.diagnosis]}; "
            f"it was {known.diseases[visit.disease]}; {known.treatments[visit.treatment]} {helped}."
        )

    def used(self, state: WardState) -> int:
        """Questions, tests and opinions that the patient's time went into."""
        return len(state.asked) - 1 + len(state.tested) + state.opinions + state.walked

    def options(self, state: WardState, seat: int) -> tuple[Option, ...]:
        known = self.knowledge(state)
        if state.waiting == "triage" or seat == NURSE:
            return (Option(Triage, {"wing": OneOf(WINGS)}),)
        if seat != DOCTOR:
            return (Option(Say, {"text": Text(400, ("Yes.", "No.", "I am not sure."))}),)
        options = []
        if self.used(state) < self.questions:
            asked, tested = dict(state.asked), dict(state.tested)
            symptoms = [s for n, s in enumerate(known.symptoms) if n not in asked]
            tests = [t for n, t in enumerate(known.tests) if n not in tested]
            if symptoms:
                options.append(Option(Ask, {"symptom": OneOf(tuple(sorted(symptoms)))}))
            if tests:
                options.append(Option(Test, {"name": OneOf(tuple(sorted(tests)))}))
            if self.num_players >= 3 and not state.opinions:
                options.append(Option(Consult))
        diseases = OneOf(tuple(self.names(state)))
        treatments = OneOf(tuple(sorted(known.treatments)))
        return (*options, Option(Treat, {"diagnosis": diseases, "treatment": treatments}))

    # The rules

    def respond(self, state: WardState, seat: int, action: Any) -> Reply:
        known = self.knowledge(state)
        if isinstance(action, Say):
            return self._say(state, seat, action.text)
        if isinstance(action, Triage):
            return self._send(state, WINGS.index(action.wing))
        if isinstance(action, Consult):
            state.waiting, state.opinions = "colleague", 1
            return Reply("The second doctor is consulted.", kind="consult", audience=only(0, 2))
        if isinstance(action, Ask):
            number = known.symptoms.index(action.symptom)
            yes = state.case.symptoms[number]
            state.asked = (*state.asked, (number, yes))
            if self.num_players > 1:
                state.waiting, state.question = "patient", number
                return Reply(f"The doctor asks: do you have {action.symptom}?", kind="question")
            return Reply(
                f"{'Yes' if yes else 'No'}, I have {'' if yes else 'no sign of '}{action.symptom}.",
                {"symptom": action.symptom, "yes": yes},
            )
        if isinstance(action, Test):
            return self._test(state, known.tests.index(action.name))
        return self._treat(state, action)

    def _send(self, state: WardState, wing: int) -> Reply:
        """Send a patient to a wing, from where they are sent on if it is the wrong one."""
        state.wing, state.waiting = state.case.disease % len(WINGS), ""
        if wing == state.wing:
            return Reply(f"The {WINGS[wing]} wing takes the patient.", {"sent_right": True})
        state.walked = WALK
        text = f"The {WINGS[wing]} wing sends the patient on to the {WINGS[state.wing]} wing."
        return Reply(text, {"sent_right": False})

    def _say(self, state: WardState, seat: int, text: str) -> Reply:
        state.waiting = ""
        who = "patient" if seat == PATIENT else "second doctor"
        heard = None if seat == PATIENT else only(0, 2)
        said = f"The {who} says: {self.quoted(text)}"
        return Reply(said, {"said": text}, kind="message", audience=heard)

    def _test(self, state: WardState, number: int) -> Reply:
        known = self.knowledge(state)
        positive = state.case.tests[number]
        state.tested = (*state.tested, (number, positive))
        price = known.prices[number]
        state.spent += price
        text = f"{known.tests[number]}: {'positive' if positive else 'negative'}."
        facts = {"test": known.tests[number], "positive": positive}
        doctors = only(*(s for s in range(self.num_players) if s != PATIENT))
        return Reply(text, facts, {"tests": -TEST_COST * price}, audience=doctors)

    def _treat(self, state: WardState, action: Treat) -> Reply:
        known, case = self.knowledge(state), state.case
        guess = self.names(state)[action.diagnosis]
        given = known.treatments.index(action.treatment)
        helped = known.cures[case.disease] == given
        if self.course == "whole" and not helped and not state.tried:
            state.tried = guess, given
            text = f"Follow-up: {action.treatment} did not help; the patient has come back."
            return Reply(text, {"came_back": True})
        visit = Visit(state.asked, state.tested, guess, given, case.disease, state.tried)
        state.visits = (*state.visits, visit)
        text = (
            f"Follow-up: it was {known.diseases[case.disease]}; {action.treatment} "
            f"{'helped' if helped else 'did not help'}."
        )
        facts = {"right": guess == case.disease, "helped": helped, "tests": len(state.tested)}
        if len(state.visits) < self.day:
            self._admit(state, draw_case(known, state.rng))
            text += f" The next patient comes because of {known.symptoms[state.complaint]}."
        else:
            state.closed = True
        return Reply(text, facts, {k: v for k, v in worth(visit, known).items() if v})

    def step(self, state: WardState, actions: Any) -> Step:
        """All seats are paid what the doctor is paid."""
        done = super().step(state, actions)
        paid = next(iter(done.rewards.values()), {})
        everybody = range(self.num_players) if paid else ()
        return Step(dict.fromkeys(everybody, paid), events=done.events)

    def settle(self, state: WardState) -> Final:
        known = self.knowledge(state)
        right = sum(v.diagnosis == v.disease for v in state.visits)
        helped = sum(known.cures[v.disease] == v.treatment for v in state.visits)
        paid = sum(sum(worth(visit, known).values()) for visit in state.visits)
        score = paid - TEST_COST * state.spent
        reason = f"{right} of {self.day} diagnoses were right; tests cost {state.spent}."
        facts = {"right": right, "helped": helped, "spent": state.spent}
        return shared_end(score, self.num_players, reason, facts)

    def features(self, state: WardState, seat: int) -> list[float]:
        known = self.knowledge(state)
        asked = {known.symptoms[n]: yes for n, yes in state.asked}
        if self.num_players > 1:
            asked = {known.symptoms[state.complaint]: True}
        if seat == PATIENT:
            asked = dict(zip(known.symptoms, state.case.symptoms, strict=True))
        tested = {known.tests[n]: yes for n, yes in state.tested if seat != PATIENT}
        marks = {True: 1.0, False: -1.0}
        seen = [marks[asked[s]] if s in asked else 0.0 for s in sorted(SYMPTOMS)]
        seen += [marks[tested[t]] if t in tested else 0.0 for t in sorted(TESTS)]
        spent = 0.0 if seat == PATIENT else float(state.spent)
        seen += [float(self.day - len(state.visits)), spent]
        if self.course == "whole":
            seen += [*(float(state.wing == n) for n in range(3)), float(state.tried is not None)]
        return seen

    def determinize(self, state: WardState, seat: int, rng: Rng) -> WardState:
        """Draw what the patient has from the posterior of what is known."""
        copy, known = self.copy_for(state, seat), self.knowledge(state)
        copy.rng = Rng.seeded(rng.word())
        if seat == PATIENT:
            self._imagine_clinic(copy, known, rng)
            return copy
        symptoms = dict(state.asked) if self.num_players == 1 else {state.complaint: True}
        tests = dict(state.tested)
        disease = rng.weighted(self._left(state, known, belief(known, symptoms, tests)))
        drawn = [
            tuple(
                seen[n] if n in seen else rng.random() < p for n, p in enumerate(chances[disease])
            )
            for seen, chances in (
                (symptoms, known.symptom_chances),
                (tests, known.test_chances),
            )
        ]
        copy.case = Case(disease, *drawn)
        copy.asked = tuple((n, copy.case.symptoms[n]) for n, _ in state.asked)
        return copy

    def _imagine_clinic(self, state: WardState, known: Knowledge, rng: Rng) -> None:
        """Draw all but the patient's symptoms, and what they were asked and told."""
        wing, given = self._found_out(state, known)
        weights: tuple[float, ...] = ()
        while not any(weights):  # a clinic in which this patient can be ill
            state.seed = rng.word()
            other = self.knowledge(state)
            weights = remaining(other, other.shares, wing, given)
        sign = {n: other.symptoms.index(name) for n, name in enumerate(known.symptoms)}
        state.complaint = sign[state.complaint]
        state.question = sign.get(state.question, state.question)
        state.asked = tuple((sign[n], yes) for n, yes in state.asked)
        state.tested, state.spent, state.opinions = (), 0, int(state.waiting == "colleague")
        if state.tried:
            state.tried = (rng.below(self.diseases), other.treatments.index(given))
        state.visits = tuple(self._imagine_visit(visit, sign, rng) for visit in state.visits)
        have = {sign[n] for n, yes in enumerate(state.case.symptoms) if yes}
        symptoms = tuple(n in have for n in range(len(other.symptoms)))
        disease = rng.weighted(weights)
        tests = tuple(rng.random() < chance for chance in other.test_chances[disease])
        state.case = Case(disease, symptoms, tests)

    def _imagine_visit(self, visit: Visit, sign: Mapping[int, int], rng: Rng) -> Visit:
        """An earlier visit of somebody else, of which a patient knows only that there was one."""
        named, true = rng.below(self.diseases), rng.below(self.diseases)
        symptoms = tuple((sign[n], yes) for n, yes in visit.symptoms)
        return Visit(symptoms, (), named, rng.below(len(TREATMENTS)), true)

    def _left(
        self, state: WardState, known: Knowledge, weights: tuple[float, ...]
    ) -> tuple[float, ...]:
        """The weights of diseases that the wing and what did not help leave."""
        return remaining(known, weights, *self._found_out(state, known))

    def _found_out(self, state: WardState, known: Knowledge) -> tuple[str, str]:
        """The wing where the patient is, and the treatment that did not help; "" if not known."""
        wing = WINGS[state.wing] if state.wing >= 0 else ""
        return wing, known.treatments[state.tried[1]] if state.tried else ""

    def picture(self, state: WardState, seat: int | None) -> tuple[Part, ...]:
        known, acting = self.knowledge(state), self.to_act(state)
        complaint = known.symptoms[state.complaint]
        people = [
            Person(role, number, detail=complaint * (role == "patient"), acting=number in acting)
            for number, role in enumerate(ROLES[: max(2, self.num_players)])
        ]
        done = Bar("patients seen", len(state.visits), self.day, 0)
        table = RoundTable(tuple(people), words="clinic", ground="floor")
        plan = (self._map(state, seat),) if self.course == "whole" else ()
        return (*plan, table, Bars((done,)))

    def _map(self, state: WardState, seat: int | None) -> Grid:
        """The rooms of the hospital, and the patient in one of them."""
        past = self.seen(state, seat)
        last = past[-1].action if past else None
        if len(state.visits) >= self.day:
            here = "home"
        elif state.wing < 0:
            here = "reception"
        else:
            here = "laboratory" if isinstance(last, Test) else WINGS[state.wing]
        return Grid(
            tuple(
                tuple(
                    Piece("P", 1, "disc", "patient")
                    if room == here
                    else Piece(room[0].upper(), "gold", label=room)
                    for room in row
                )
                for row in ROOMS
            ),
            style="floor",
        )


@metric("diagnoses-right", measures=("tasks/Hospital-v0",), bounds=(0.0, 1.0), better="higher")
def diagnoses_right(record: EpisodeRecord) -> float | None:
    """The share of patients whose diagnosis was right; None if nobody was seen."""
    seen = [event.data["right"] for event in record.events if "helped" in event.data]
    return sum(seen) / len(seen) if seen else None


@metric("came-back", measures=("tasks/Hospital-v0",), bounds=(0.0, 1.0), better="lower")
def came_back(record: EpisodeRecord) -> float | None:
    """The share of patients who came back; None where nobody does, and if nobody has left."""
    left = sum("helped" in event.data for event in record.events)
    whole = any("sent_right" in event.data for event in record.events)
    back = sum("came_back" in event.data for event in record.events)
    return min(back, left) / left if left and whole else None


@metric("learning-gain", measures=("tasks/Hospital-v0",), bounds=(-1.0, 1.0), better="higher")
def learning_gain(record: EpisodeRecord) -> float | None:
    """The share of right diagnoses in the second half of a day less that in the first half.

    None for fewer than four patients.
    """
    seen = [event.data["right"] for event in record.events if "helped" in event.data]
    half = len(seen) // 2
    if half < 2:
        return None
    return sum(seen[-half:]) / half - sum(seen[:half]) / half
