"""Episode shapers: one finished episode in, a reward for every turn out."""

from __future__ import annotations

from palestra_rewards.entries import Entry

HERE = "palestra_rewards.episodes"


def episode(
    name: str,
    where: str,
    summary: str,
    paper: str,
    check: str,
    needs: tuple[str, ...] = (),
    cost: str = "linear",
) -> Entry:
    return Entry(name, f"{HERE}.{where}", "episode", summary, paper, needs, check=check, cost=cost)


CLIPPING = "On Designing Effective RL Reward at Training Time for LLM Reasoning (2024)"

ENTRIES = (
    episode(
        "clip",
        "bounded:clip",
        "Process scores capped at 0: good steps earn nothing, bad ones cost.",
        CLIPPING,
        "test_repeating_good_steps_never_raises_the_sum",
        needs=("scores",),
    ),
    episode(
        "delta",
        "bounded:delta",
        "Each score less the next one, so that the sum is the first.",
        CLIPPING,
        "test_delta_telescopes_to_the_first_score",
        needs=("scores",),
    ),
    episode(
        "clip-delta",
        "bounded:clip_delta",
        "Delta of clipped scores.",
        CLIPPING,
        "test_repeating_good_steps_never_raises_the_sum",
        needs=("scores",),
    ),
    episode(
        "spa-rl",
        "progress:spa_rl",
        "The outcome shared out by estimated contribution, plus valid actions.",
        "SPA-RL: Reinforcing LLM Agents via Stepwise Progress Attribution (2025)",
        "test_contributions_sum_to_the_outcome",
        needs=("scores",),
    ),
    episode(
        "prs",
        "staged:prs",
        "Stages of an answer, each counting only once those before passed.",
        "Enhancing Agentic RL with Progressive Reward Shaping and VSPO",
        "test_later_stages_count_only_once_earlier_ones_pass",
        needs=("stage scores",),
    ),
    episode(
        "planner-r1",
        "staged:planner_r1",
        "A dial from shares of checks to the final pass.",
        "Planner-R1: Reward Shaping Enables Efficient Agentic RL (2025)",
        "test_the_dial_goes_from_shares_of_checks_to_the_final_pass",
        needs=("constraint checks",),
    ),
    episode(
        "score",
        "attempts:score",
        "Two attempts, and a bonus for the change between them.",
        "Training Language Models to Self-Correct via Reinforcement Learning (2024)",
        "test_copying_earns_no_bonus_and_spoiling_costs_more_than_it_saved",
        needs=("scores",),
    ),
    episode(
        "smart",
        "thrift:smart",
        "Success less a price on tool calls, more on needless ones.",
        "SMART: Self-Aware Agent for Tool Overuse Mitigation (2025)",
        "test_needless_calls_cost_more",
        needs=("tool calls",),
    ),
    episode(
        "agent-omit",
        "thrift:agent_omit",
        "Success plus a share of the tokens saved, on success only.",
        "Agent-Omit: Adaptive Thought and Observation Omission",
        "test_saved_tokens_pay_on_success_only",
        needs=("full contexts",),
    ),
    episode(
        "matchtir",
        "matching:matchtir",
        "Calls matched with those of a reference trace, one to one or by transport.",
        "MatchTIR: Fine-Grained Supervision via Bipartite Matching",
        "test_the_reference_trace_scores_one_a_call",
        needs=("tool calls", "reference trace"),
        cost="assignment",
    ),
    episode(
        "checklist",
        "checklist:checklist",
        "Weighted share of a checklist met on cited evidence.",
        "CM2: Reinforcement Learning with Checklist Rewards",
        "test_prerequisites_evidence_and_order_of_a_checklist",
        needs=("checklist",),
        cost="a judgement an item",
    ),
    episode(
        "spae",
        "probes:spae",
        "Rises of confidence and correctness, and a tax once they are saturated.",
        "Step Potential Advantage Estimation",
        "test_the_rises_of_spae_telescope",
        needs=("probes",),
    ),
    episode(
        "direction",
        "terms:direction",
        "The vector of named terms times a unit vector.",
        "Directional Preference Alignment (2024)",
        "test_directions_have_unit_length_and_trace_the_front",
        needs=("direction",),
    ),
    episode(
        "krc",
        "terms:krc",
        "Signed geometric mean of named terms.",
        "Lucy-SKG: Learning to Play Rocket League Efficiently (2023)",
        "test_krc_is_high_only_where_all_components_are",
    ),
    episode(
        "time-preferences",
        "terms:time_preferences",
        "Terms with discounts of their own, as one reward.",
        "Consistent Aggregation of Objectives with Diverse Time Preferences (2023)",
        "test_returns_are_sums_of_individually_discounted_returns",
        needs=("discounts",),
    ),
    episode(
        "lagrangian",
        "terms:lagrangian",
        "Terms weighted by multipliers that hold each at its point.",
        "Confronting Reward Model Overoptimization with Constrained RLHF (2023)",
        "test_multipliers_hold_a_term_at_its_point",
        needs=("multipliers",),
    ),
    episode(
        "stepagent",
        "expert:stepagent",
        "How alike each action is to the expert's at the same state.",
        "From Novice to Expert: Policy Optimization via Step-wise RL (2024)",
        "test_an_expert_beside_itself_scores_one_a_turn",
        needs=("expert",),
    ),
    episode(
        "recourse",
        "expert:recourse",
        "Outcome plus likeness to an original path.",
        "Personalized Path Recourse (2023)",
        "test_levenshtein_distances_of_known_words",
        needs=("expert",),
        cost="product of lengths",
    ),
    episode(
        "human-gain",
        "partners:human_gain",
        "Own rewards plus what the human gained over going unaided.",
        "Human-Centered Modeling Based on Positive Human Gain (2024)",
        "test_a_partner_who_adds_nothing_gains_nothing",
        needs=("unaided return",),
    ),
    episode(
        "curiosity",
        "partners:curiosity",
        "What a turn taught about the user's type.",
        "Enhancing Personalized Multi-Turn Dialogue with Curiosity Reward (2025)",
        "test_curiosity_telescopes_to_what_was_learnt",
        needs=("beliefs",),
    ),
    episode(
        "milestones",
        "marks:milestones",
        "Partial credit for milestones a program printed; success replaces it.",
        "Reinforcement Learning for Machine Learning Engineering Agents (2025)",
        "test_a_crash_after_loading_beats_one_before",
        needs=("milestones",),
    ),
    episode(
        "steve",
        "marks:steve",
        "Good and bad steps by a verifier, as plus and minus one.",
        "STEVE: A Step Verification Pipeline for Computer-use Agent Training (2025)",
        "test_steps_after_the_first_bad_one_can_be_dropped",
        needs=("verdicts",),
    ),
)
