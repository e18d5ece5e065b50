"""Werewolf (Mafia): an informed minority against an uninformed majority that talks and votes."""
