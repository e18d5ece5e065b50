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
)
