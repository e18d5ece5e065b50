"""Social dilemmas, bargaining and trust."""
