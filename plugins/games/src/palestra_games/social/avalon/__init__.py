"""The Resistance: Avalon: quests by secret card, and a Merlin who must not be found."""
