"""What this plugin gives: the games, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec, EnvSpec

MATRIX_GAMES = (
    "games/MatrixGame-v0",
    "games/PrisonersDilemma-v0",
    "games/StagHunt-v0",
    "games/Chicken-v0",
    "games/BattleOfTheSexes-v0",
)


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            "games/TicTacToe-v0",
            "palestra_games.games.tic_tac_toe:TicTacToe",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="board",
            tags=("perfect-information", "deterministic"),
        ),
        EnvSpec(
            "games/ConnectFour-v0",
            "palestra_games.games.connect_four:ConnectFour",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="board",
            tags=("perfect-information", "deterministic"),
        ),
        EnvSpec(
            "games/KuhnPoker-v0",
            "palestra_games.games.kuhn_poker:KuhnPoker",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="card",
            tags=("hidden-information", "chance"),
            paper="Kuhn (1950), A simplified two-person poker",
        ),
        EnvSpec(
            "games/Wordle-v0",
            "palestra_games.games.wordle:Wordle",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("words", "hidden-information", "deterministic"),
        ),
        EnvSpec(
            "games/Hangman-v0",
            "palestra_games.games.hangman:Hangman",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("words", "hidden-information", "deterministic"),
        ),
        EnvSpec(
            "games/Werewolf-v0",
            "palestra_games.games.werewolf:Werewolf",
            players=(5, 12),
            moves="phased",
            payoffs="general",
            family="text",
            tags=("hidden-roles", "teams", "elimination", "hidden-information", "messages"),
            paper="Xu et al. (2023), Language Agents with Reinforcement Learning for Strategic "
            "Play in the Werewolf Game; Braverman, Etesami and Mossel (2008), Mafia: A "
            "theoretical study of players and coalitions in a partial information environment",
        ),
        EnvSpec(
            "games/LeducHoldem-v0",
            "palestra_games.games.leduc_holdem:LeducHoldem",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="card",
            tags=("hidden-information", "chance"),
            paper="Southey et al. (2005), Bayes' Bluff: Opponent Modelling in Poker",
        ),
        EnvSpec(
            "games/LiarsDice-v0",
            "palestra_games.games.liars_dice:LiarsDice",
            players=(2, 6),
            moves="sequential",
            payoffs="zero-sum",
            family="dice",
            tags=("hidden-information", "chance"),
            paper="Neller, Lanctot (2013), An Introduction to Counterfactual Regret Minimization",
        ),
        EnvSpec(
            "games/Chess-v0",
            "palestra_games.games.chess:Chess",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="board",
            tags=("perfect-information", "deterministic"),
        ),
        EnvSpec(
            "games/MatrixGame-v0",
            "palestra_games.games.matrix_game:MatrixGame",
            players=(2, 2),
            moves="simultaneous",
            payoffs="general",
            family="matrix",
            tags=("social-dilemma", "iterated"),
        ),
        EnvSpec(
            "games/PrisonersDilemma-v0",
            "palestra_games.games.matrix_game:MatrixGame",
            players=(2, 2),
            moves="simultaneous",
            payoffs="general",
            family="matrix",
            tags=("social-dilemma", "iterated"),
            paper="Axelrod (1984), The Evolution of Cooperation",
            kwargs={"payoffs_table": (3, 3, 0, 5, 5, 0, 1, 1), "moves": ("cooperate", "defect")},
        ),
        EnvSpec(
            "games/StagHunt-v0",
            "palestra_games.games.matrix_game:MatrixGame",
            players=(2, 2),
            moves="simultaneous",
            payoffs="general",
            family="matrix",
            tags=("social-dilemma", "coordination", "iterated"),
            kwargs={"payoffs_table": (2, 2, 0, 1, 1, 0, 1, 1), "moves": ("stag", "hare")},
        ),
        EnvSpec(
            "games/Chicken-v0",
            "palestra_games.games.matrix_game:MatrixGame",
            players=(2, 2),
            moves="simultaneous",
            payoffs="general",
            family="matrix",
            tags=("social-dilemma", "iterated"),
            kwargs={"payoffs_table": (3, 3, 1, 4, 4, 1, 0, 0), "moves": ("swerve", "straight")},
        ),
        EnvSpec(
            "games/BattleOfTheSexes-v0",
            "palestra_games.games.matrix_game:MatrixGame",
            players=(2, 2),
            moves="simultaneous",
            payoffs="general",
            family="matrix",
            tags=("coordination", "iterated"),
            kwargs={"payoffs_table": (3, 2, 0, 0, 0, 0, 2, 3), "moves": ("bach", "stravinsky")},
        ),
        EnvSpec(
            "games/Ultimatum-v0",
            "palestra_games.games.ultimatum:Ultimatum",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="matrix",
            tags=("bargaining", "perfect-information", "deterministic"),
            paper="Güth, Schmittberger and Schwarze (1982), An experimental analysis of "
            "ultimatum bargaining",
        ),
        EnvSpec(
            "games/Dictator-v0",
            "palestra_games.games.ultimatum:Dictator",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="matrix",
            tags=("bargaining", "perfect-information", "deterministic"),
            paper="Kahneman, Knetsch and Thaler (1986), Fairness and the assumptions of economics",
        ),
        EnvSpec(
            "games/Trust-v0",
            "palestra_games.games.ultimatum:Trust",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="matrix",
            tags=("social-dilemma", "perfect-information", "deterministic"),
            paper="Berg, Dickhaut and McCabe (1995), Trust, reciprocity, and social history",
        ),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "wordle-entropy",
            "palestra_games.games.wordle_solver:WordleEntropy",
            "scripted",
            "Guesses the word with the highest expected information.",
            plays=("games/Wordle-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "villager",
            "palestra_games.games.werewolf_players:Villager",
            "scripted",
            "Says nothing, and votes and chooses at random, in every role.",
            plays=("games/Werewolf-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "telltale-seer",
            "palestra_games.games.werewolf_players:Telltale",
            "scripted",
            "As the seer tells what it saw; in other roles votes for whom a seer named.",
            plays=("games/Werewolf-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "strategy",
            "palestra_games.games.strategies:Strategy",
            "scripted",
            "Plays a 2x2 matrix game by rule: name=tit-for-tat|grim|win-stay-lose-shift|"
            "always-cooperate|always-defect|generous-tit-for-tat|zero-determinant.",
            plays=MATRIX_GAMES,
            needs=("array",),
        ),
        AgentSpec(
            "bargainer",
            "palestra_games.games.strategies:Bargainer",
            "scripted",
            "Offers, answers, sends and returns: style=fair|subgame-perfect.",
            plays=("games/Ultimatum-v0", "games/Dictator-v0", "games/Trust-v0"),
            needs=("array",),
        ),
    ]
