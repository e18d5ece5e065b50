"""Agents in processes of their own, which reach nothing but the turns that they are asked for.

`agent.py` is the side that runs the episodes: it starts a process, sends it turns and reads its
answers as typed messages, of which none can do more than decide for that agent. `process.py` is the
other side. `wall.py` shuts it in before a line of the agent's code is imported.
"""
