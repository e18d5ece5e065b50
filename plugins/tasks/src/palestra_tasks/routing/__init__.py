"""Vehicle routing by a genetic algorithm whose first population a player makes."""
