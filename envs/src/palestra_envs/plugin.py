"""What this plugin gives: the reference environments, by id."""

from __future__ import annotations

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec, RewardSpec


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            "grid/Foraging-v0",
            "palestra_envs.grid.foraging:Foraging",
            players=(1, 20),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("cooperation", "competition", "partial-view", "chance"),
            paper="Albrecht and Ramamoorthy (2013); Christianos et al. (2020); "
            "Papoudakis et al. (2021)",
            splits={
                "8x8-2p-2f-coop": {"max_food": 2, "force_coop": True},
                "2s-8x8-2p-2f-coop": {"max_food": 2, "force_coop": True, "sight": 2},
                "10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3},
                "2s-10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3, "sight": 2},
                "15x15-3p-5f": {"rows": 15, "columns": 15, "num_players": 3, "max_food": 5},
                "15x15-4p-3f": {"rows": 15, "columns": 15, "num_players": 4},
                "15x15-4p-5f": {"rows": 15, "columns": 15, "num_players": 4, "max_food": 5},
                "held-out-12x12-5p-6f": {
                    "rows": 12,
                    "columns": 12,
                    "num_players": 5,
                    "max_food": 6,
                },
            },
        ),
        EnvSpec(
            "grid/Harvest-v0",
            "palestra_envs.grid.harvest:Harvest",
            players=(1, 10),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("commons", "social-dilemma", "partial-view", "chance"),
            paper="Perolat et al. (2017), A multi-agent reinforcement learning model of "
            "common-pool resource appropriation; Hughes et al. (2018), Inequity aversion improves "
            "cooperation in intertemporal social dilemmas",
            splits={
                "16x38-5p": {
                    "rows": 16,
                    "columns": 38,
                    "num_players": 5,
                    "sight": 7,
                    "max_steps": 1000,
                },
                "time-out": {"fine": 0.0, "fine_cost": 0.0, "time_out": 25},
                "random": {"map": "random"},
                "held-out-24x36": {
                    "map": "random",
                    "rows": 24,
                    "columns": 36,
                    "patches": 18,
                    "num_players": 6,
                },
            },
        ),
        EnvSpec(
            "grid/CleanUp-v0",
            "palestra_envs.grid.clean_up:CleanUp",
            players=(1, 10),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("public-good", "social-dilemma", "partial-view", "chance"),
            paper="Hughes et al. (2018), Inequity aversion improves cooperation in intertemporal "
            "social dilemmas",
            splits={
                "25x18-5p": {
                    "rows": 25,
                    "columns": 18,
                    "num_players": 5,
                    "sight": 7,
                    "max_steps": 1000,
                },
                "random": {"map": "random"},
                "held-out-20x28": {
                    "map": "random",
                    "rows": 20,
                    "columns": 28,
                    "initial_waste": 0.7,
                    "num_players": 6,
                },
            },
        ),
        EnvSpec(
            "grid/Pursuit-v0",
            "palestra_envs.grid.pursuit:Pursuit",
            players=(1, 30),
            moves="simultaneous",
            payoffs="common",
            family="grid",
            tags=("cooperation", "partial-view", "chance"),
            paper="Gupta, Egorov and Kochenderfer (2017), Cooperative multi-agent control using "
            "deep reinforcement learning",
            splits={
                "random": {"map": "random"},
                "held-out-24x24": {
                    "map": "random",
                    "rows": 24,
                    "columns": 24,
                    "density": 0.3,
                    "num_players": 12,
                    "num_evaders": 40,
                },
            },
        ),
        EnvSpec(
            "grid/PathFinding-v0",
            "palestra_envs.grid.path_finding:PathFinding",
            players=(1, 48),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("planning", "coordination", "partial-view", "chance"),
            paper="Skrynnik et al. (2024), Learn to Follow: Decentralized Lifelong Multi-Agent "
            "Pathfinding via Planning and Learning",
            splits={
                "random": {"rows": 20, "columns": 20, "num_players": 16, "sight": 5},
                "maze": {
                    "map": "maze",
                    "rows": 21,
                    "columns": 21,
                    "num_players": 16,
                    "sight": 5,
                },
                "held-out-warehouse": {
                    "map": "warehouse",
                    "rows": 22,
                    "columns": 31,
                    "num_players": 32,
                    "sight": 5,
                    "max_steps": 512,
                },
            },
        ),
        EnvSpec(
            "grid/Particles-v0",
            "palestra_envs.grid.particles:Particles",
            players=(1, 10),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("cooperation", "competition", "continuous", "messages", "hidden-information"),
            paper="Lowe et al. (2017), Multi-Agent Actor-Critic for Mixed Cooperative-Competitive "
            "Environments",
            splits={
                "spread": {"scenario": "spread", "num_players": 3},
                "tag": {"scenario": "tag", "num_players": 4},
                "adversary": {"scenario": "adversary", "num_players": 3},
                "speaker-listener": {"scenario": "speaker-listener", "num_players": 2},
                "near-sighted": {"scenario": "spread", "num_players": 3, "sight": 0.6},
                "near-sighted-tag": {"scenario": "tag", "num_players": 4, "sight": 0.6},
                "held-out-5-players": {"scenario": "spread", "num_players": 5},
                "held-out-two-prey": {"scenario": "tag", "num_players": 7, "num_prey": 2},
            },
        ),
        EnvSpec(
            "grid/XLand-v0",
            "palestra_envs.grid.xland:XLand",
            players=(1, 4),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("cooperation", "competition", "partial-view", "generated-goals"),
            paper="Open Ended Learning Team et al. (2021), Open-Ended Learning Leads to Generally "
            "Capable Agents",
            splits={
                "shared": {"relation": "shared"},
                "rival": {"relation": "rival"},
                "held-out-tag": {"game": "tag", "num_players": 3},
                "held-out-hide-and-seek": {"game": "hide-and-seek", "num_players": 4},
                "held-out-capture-the-flag": {"game": "capture-the-flag", "num_players": 4},
            },
        ),
        EnvSpec(
            "grid/Fruit-v0",
            "palestra_envs.grid.fruit:Fruit",
            players=(1, 4),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("reward-terms", "known-optimum"),
            paper="Laroche et al. (2017), Multi-Advisor Reinforcement Learning",
            splits={
                "10x10": {"rows": 10, "columns": 10, "sight": 9, "max_steps": 300},
                "near-sighted": {"sight": 1, "max_steps": 100},
                "held-out-8-fruits": {"rows": 8, "columns": 8, "sight": 7, "num_fruits": 8},
            },
        ),
        EnvSpec(
            "grid/Fetch-v0",
            "palestra_envs.grid.fetch:Fetch",
            players=(1, 4),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("hidden-information", "costs", "known-optimum"),
            paper="ESearch-R1 (2025), Learning Cost-Aware MLLM Agents for Interactive Embodied "
            "Search via Reinforcement Learning",
            splits={
                "small": {"num_spots": 4, "distractors": 1},
                "hard": {"num_spots": 8, "distractors": 4, "rows": 12, "columns": 12},
                "held-out-stale": {"stale": 0.6, "num_spots": 7, "distractors": 3},
            },
        ),
        EnvSpec(
            "grid/Delivery-v0",
            "palestra_envs.grid.delivery:Delivery",
            players=(1, 8),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("economics", "costs", "safety", "partial-view", "chance"),
            paper="CostNav (2025), A Navigation Benchmark for Real-World Economic-Cost Evaluation "
            "of Physical AI Agents",
            splits={
                "empty": {"pedestrians": 0, "litter": 0.0},
                "downtown": {"rows": 17, "columns": 17, "num_players": 6, "pedestrians": 24},
                "held-out-crowd": {"rows": 13, "columns": 13, "pedestrians": 30, "litter": 0.5},
            },
        ),
        EnvSpec(
            "grid/SignalForaging-v0",
            "palestra_envs.grid.signal_foraging:SignalForaging",
            players=(2, 4),
            moves="simultaneous",
            payoffs="common",
            family="grid",
            tags=("cooperation", "messages", "emergent-language", "partial-view"),
            paper="From Grunts to Grammar: Emergent Language from Cooperative Foraging (2025)",
            splits={
                "score": {"game": "score"},
                "order": {"game": "order", "max_steps": 40},
                "held-out-spelling": {"rows": 9, "columns": 9, "vocabulary": 3, "max_steps": 40},
            },
        ),
        EnvSpec(
            "text/Negotiation-v0",
            "palestra_envs.text.negotiation:Negotiation",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("negotiation", "hidden-information", "messages"),
            paper="Lewis et al. (2017), Deal or No Deal? End-to-End Learning of Negotiation "
            "Dialogues",
        ),
        EnvSpec(
            "text/Commons-v0",
            "palestra_envs.text.commons:Commons",
            players=(2, 10),
            moves="phased",
            payoffs="general",
            family="social",
            tags=("commons", "social-dilemma", "messages"),
            paper="Piatti et al. (2024), Cooperate or Collapse: Emergence of Sustainable "
            "Cooperation in a Society of LLM Agents",
            splits={
                "pasture": {"scenario": "pasture"},
                "pollution": {"scenario": "pollution"},
                "newcomer": {"newcomer": 3},
                "german": {"language": "de"},
                "japanese": {"language": "ja"},
            },
        ),
        EnvSpec(
            "text/Trash-v0",
            "palestra_envs.text.trash:Trash",
            players=(2, 10),
            moves="phased",
            payoffs="general",
            family="social",
            tags=("commons", "social-dilemma", "messages", "public-good", "deterministic"),
            paper="Reproducibility Study of Cooperate or Collapse: Emergence of Sustainable "
            "Cooperation in a Society of LLM Agents (2025)",
        ),
        EnvSpec(
            "text/CollaborationMaze-v0",
            "palestra_envs.text.collaboration_maze:CollaborationMaze",
            players=(1, 8),
            moves="sequential",
            payoffs="common",
            family="text",
            tags=("cooperation", "hidden-information", "messages"),
            paper="Davidson et al. (2025), The Collaboration Gap",
            splits={
                "solo": {"num_players": 1},
                "3p-10x10": {"num_players": 3, "rows": 10, "columns": 10, "max_turns": 200},
                "held-out-8x8-dense": {
                    "rows": 8,
                    "columns": 8,
                    "wall_density": 0.4,
                    "max_turns": 150,
                },
            },
        ),
        EnvSpec(
            "grid/Kitchen-v0",
            "palestra_envs.grid.kitchen:Kitchen",
            players=(1, 4),
            moves="simultaneous",
            payoffs="common",
            family="grid",
            tags=("cooperation", "coordination", "partial-view", "generated-levels"),
            paper="Carroll et al. (2019), On the Utility of Learning about Humans for Human-AI "
            "Coordination",
            splits={
                "asymmetric-advantages": {"layout": "asymmetric_advantages"},
                "coordination-ring": {"layout": "coordination_ring"},
                "forced-coordination": {"layout": "forced_coordination"},
                "counter-circuit": {"layout": "counter_circuit"},
                "random": {"layout": "random"},
                "near-sighted": {"layout": "random", "sight": 2},
                "held-out-random": {
                    "layout": "random",
                    "rows": 8,
                    "columns": 9,
                    "density": 0.25,
                },
                "held-out-near-sighted": {
                    "layout": "random",
                    "rows": 8,
                    "columns": 9,
                    "density": 0.25,
                    "sight": 2,
                },
            },
        ),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "forager",
            "palestra_envs.grid.foragers:Forager",
            "scripted",
            "Walks to the nearest food it can load, alone or with those it sees.",
            plays=("grid/Foraging-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "gatherer",
            "palestra_envs.grid.gatherers:Gatherer",
            "scripted",
            "Walks to the nearest apple; restraint=1 spares the last of a patch.",
            plays=("grid/Harvest-v0", "grid/CleanUp-v0"),
            needs=("array",),
        ),
        AgentSpec(
            "cleaner",
            "palestra_envs.grid.gatherers:Cleaner",
            "scripted",
            "Cleans the river while it sees waste, and eats when it sees none.",
            plays=("grid/CleanUp-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "hunter",
            "palestra_envs.grid.hunters:Hunter",
            "scripted",
            "Goes where it is missing to surround the evader that needs fewest.",
            plays=("grid/Pursuit-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "pathfinder",
            "palestra_envs.grid.pathfinders:Pathfinder",
            "search",
            "Plans for all its seats together: priority inheritance with backtracking.",
            plays=("grid/PathFinding-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "particle-pilot",
            "palestra_envs.grid.particle_pilots:ParticlePilot",
            "scripted",
            "Comes to rest where it is needed, heads off prey, flees, speaks and listens.",
            plays=("grid/Particles-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "goal-seeker",
            "palestra_envs.grid.goal_seekers:GoalSeeker",
            "search",
            "Plans the fewest steps to the nearest option of its goal, by what it has seen.",
            plays=("grid/XLand-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "fruit-picker",
            "palestra_envs.grid.fruit_pickers:FruitPicker",
            "solver",
            "Takes the shortest tour through all fruit in sight: optimal for one who sees all.",
            plays=("grid/Fruit-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "fruit-advisors",
            "palestra_envs.grid.fruit_pickers:FruitAdvisors",
            "scripted",
            "Adds up what one advisor a fruit values a move at; a large gamma makes it stall.",
            plays=("grid/Fruit-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "fetch-oracle",
            "palestra_envs.grid.fetchers:FetchOracle",
            "solver",
            "The best plan for one robot and up to four spots, by search over what can be known.",
            plays=("grid/Fetch-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "courier",
            "palestra_envs.grid.couriers:Courier",
            "scripted",
            "Drives shortest ways, fast=true two cells a step, whoever might come in between.",
            plays=("grid/Delivery-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "speller",
            "palestra_envs.grid.spellers:Speller",
            "scripted",
            "Spells the food it knows, token by token, and walks to where it pays most.",
            plays=("grid/SignalForaging-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "negotiator",
            "palestra_envs.text.negotiators:Negotiator",
            "scripted",
            "Proposes splits and accepts good ones: style=fair|greedy|conceder.",
            plays=("text/Negotiation-v0",),
        ),
        AgentSpec(
            "harvester",
            "palestra_envs.text.harvesters:Harvester",
            "scripted",
            "Harvests by rule and says nothing: policy=sustainable|greedy|fixed.",
            plays=("text/Commons-v0",),
        ),
        AgentSpec(
            "tidier",
            "palestra_envs.text.trash:Tidier",
            "scripted",
            "Clears its share of the trash by rule: policy=farsighted|needed|idle.",
            plays=("text/Trash-v0",),
        ),
        AgentSpec(
            "cartographer",
            "palestra_envs.text.cartographers:Cartographer",
            "scripted",
            "Tells its part of the map, listens, and takes a shortest way.",
            plays=("text/CollaborationMaze-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "cook",
            "palestra_envs.grid.cooks:Cook",
            "scripted",
            "Takes over what is to be done next, by shortest paths, and shares it with the others.",
            plays=("grid/Kitchen-v0",),
            needs=("array",),
        ),
    ]


@hookimpl
def palestra_rewards() -> list[RewardSpec]:
    return [
        RewardSpec(
            "food-distance",
            "palestra_envs.grid.shaping:food_distance",
            "step",
            "Potential-based: pays for coming nearer to the nearest food.",
            paper="Ng, Harada and Russell (1999), Policy invariance under reward transformations",
        )
    ]


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return [
        MetricSpec(
            "total-gain",
            "palestra_envs.text.metrics:total_gain",
            "Returns of all seats together.",
            measures=("text/*",),
        ),
        MetricSpec(
            "equality",
            "palestra_envs.text.metrics:equality",
            "1 - Gini coefficient of returns.",
            measures=("text/*",),
        ),
        MetricSpec(
            "rounds-survived",
            "palestra_envs.text.metrics:rounds_survived",
            "Rounds harvested before the stock collapsed, or all of them.",
            unit="rounds",
            measures=("text/Commons-v0",),
        ),
        MetricSpec(
            "efficiency",
            "palestra_envs.text.metrics:efficiency",
            "Total gain over the most that can be caught sustainably.",
            measures=("text/Commons-v0",),
        ),
        MetricSpec(
            "throughput",
            "palestra_envs.grid.metrics:throughput",
            "Goals reached by all seats, a step.",
            unit="goals a step",
            measures=("grid/PathFinding-v0",),
        ),
        MetricSpec(
            "margin",
            "palestra_envs.grid.metrics:margin",
            "Profit an order.",
            unit="dollars an order",
            measures=("grid/Delivery-v0",),
        ),
        MetricSpec(
            "break-even",
            "palestra_envs.grid.metrics:break_even",
            "Orders of this margin that pay for a robot.",
            unit="orders",
            measures=("grid/Delivery-v0",),
        ),
    ]
