"""Learners of several seats at once over the batch view: IQL, VDN, QMIX, MADDPG, MANSA."""
