"""Stackelberg stages: two players take turns in a matrix game, and somebody says who leads."""
