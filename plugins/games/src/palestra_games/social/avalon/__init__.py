"""The Resistance: Avalon: quests with secret cards, and a Merlin who must stay hidden."""
