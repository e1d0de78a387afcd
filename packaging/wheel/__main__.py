"""The promp command: `promp ...` and `python3 -m promp ...`. A script x.py is run by this Python."""
import os
import sys


def command(arguments):
    """The arguments, with this Python in front of a script that is to be run."""
    begin = arguments.index("--") + 1 if "--" in arguments else 1
    for i, word in enumerate(arguments[begin:], begin):
        if word.endswith(".py") and os.path.isfile(word) and not os.access(word, os.X_OK):
            return [*arguments[:i], sys.executable, *arguments[i:]]
        if "--" in arguments:
            break
    return arguments


def main():
    """Becomes the command."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "promp")
    os.execv(program, [program, *command(sys.argv[1:])])


if __name__ == "__main__":
    main()
