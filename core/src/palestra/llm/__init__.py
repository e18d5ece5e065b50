"""What every agent that talks to a language model needs: conversations, legal replies, prices."""
