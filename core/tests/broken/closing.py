"""A plugin that closes standard output, the stream and the file behind it."""

import os
import sys

sys.stdout.close()
os.close(1)
