"""python3 -m ergon_client work MODULE:APP starts workers of an app."""

import sys

from ergon_launch.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
