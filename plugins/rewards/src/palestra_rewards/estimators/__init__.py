"""Group estimators: from several rollouts of one task to advantages of turns."""
