"""Step shapers: one transition in, named reward terms out, while the episode runs."""

from __future__ import annotations

from palestra_rewards.entries import Entry

HERE = "palestra_rewards.steps"


def step(
    name: str, where: str, summary: str, paper: str, check: str, needs: tuple[str, ...] = ()
) -> Entry:
    return Entry(
        name, f"{HERE}.{where}", "step", summary, paper, needs, check=check, cost="a step's own"
    )


ENTRIES = (
    step(
        "potential",
        "potential:PotentialShaper",
        "Pays for rising potential: `potential:of=module:function[,dynamic=true]`.",
        "Ng, Harada and Russell (1999), Policy invariance; Devlin and Kudenko (2012), Dynamic "
        "Potential-Based Reward Shaping",
        "test_potential_shaping_leaves_the_optimal_policy_unchanged",
        needs=("potential",),
    ),
    step(
        "novelty",
        "novelty:Novelty",
        "Pays for states seen less often: this play-through, lifetime, or both.",
        "Henaff et al. (2023), A Study of Global and Episodic Bonuses for Exploration",
        "test_novelty_pays_the_inverse_root_of_visits",
    ),
    step(
        "elliptical",
        "novelty:Elliptical",
        "Pays for directions of the observation not yet seen in this play-through.",
        "Henaff et al. (2022), Exploration via Elliptical Episodic Bonuses",
        "test_the_first_elliptical_bonus_is_the_squared_norm_over_ridge",
    ),
    step(
        "captions",
        "captions:CaptionReward",
        "Pays what a model thinks of the caption, once it has said so.",
        "Zheng et al. (2024), Online Intrinsic Rewards from LLM Feedback",
        "test_captions_pay_by_labels_that_existed_at_the_start",
        needs=("labels",),
    ),
    step(
        "schedule",
        "schedule:Schedule",
        "Another shaper's rewards, faded in or out over play-throughs.",
        "Reward-function schedules, as in Reward Design for RL Agents (2025)",
        "test_a_schedule_goes_from_start_to_end",
    ),
    step(
        "reward-design",
        "tabled:TableReward",
        "Few rewards that keep the teacher's policy and tell the most, also anew for a learner.",
        "Reward Design for Reinforcement Learning Agents (2025)",
        "test_designed_rewards_keep_the_teachers_policy_and_tell_more",
        needs=("table",),
    ),
    step(
        "self-design",
        "tabled:TableReward",
        "Rewards an agent made for itself, one a state, and a bonus for rarity.",
        "Reward Design for Reinforcement Learning Agents (2025)",
        "test_self_designed_rewards_raise_the_true_return",
        needs=("table",),
    ),
    step(
        "barfi",
        "tabled:TableReward",
        "Own and auxiliary rewards, weighted for the true return.",
        "Gupta et al. (2023), Behavior Alignment via Reward Function Optimization",
        "test_barfi_drops_what_harms_and_keeps_what_helps",
        needs=("table",),
    ),
    step(
        "multi-advisor",
        "tabled:TableReward",
        "Action values of several advisors, each of one reward, added up.",
        "Laroche et al. (2017), Multi-Advisor Reinforcement Learning",
        "test_empathic_advisors_sum_to_the_optimal_values",
        needs=("table",),
    ),
    step(
        "mce-icrl",
        "tabled:TableReward",
        "Costs that an expert avoids, read off its visits; give it a negative weight.",
        "Maximum Causal Entropy Inverse Constrained Reinforcement Learning (2023)",
        "test_constraint_costs_are_met_as_often_as_the_expert_meets_them",
        needs=("table",),
    ),
    step(
        "mamql",
        "tabled:TableReward",
        "Each seat's rewards, read off recorded play of all.",
        "Multi-Agent Inverse Q-Learning from Demonstrations (2025)",
        "test_learnt_rewards_lead_back_to_the_demonstrators_play",
        needs=("table",),
    ),
)
