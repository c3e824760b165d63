"""`python -m prospection` is the command line."""

from prospection.cli import main

main()
