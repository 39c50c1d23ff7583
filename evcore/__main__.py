"""`python -m evcore`."""

from evcore.cli import main

if __name__ == "__main__":
    main()
