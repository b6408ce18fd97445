"""`python -m calibrant`: the command, where its folder is not on the path."""

from calibrant.cli.start import main

if __name__ == "__main__":
    main()
