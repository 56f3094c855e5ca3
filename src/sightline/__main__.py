"""`python -m sightline` is the same as the `sightline` command."""

from sightline.cli import main

if __name__ == "__main__":
    main()
