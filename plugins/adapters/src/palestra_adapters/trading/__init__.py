"""Agents for `markets/Trading-v0`: AlphaQuanter's decision loop, and ContestTrade's teams."""
