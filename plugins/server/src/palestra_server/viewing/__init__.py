"""`palestra view`: an index of the records in a folder of runs, and their replays on demand."""
