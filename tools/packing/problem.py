"""What a user is told, without a traceback."""


class Problem(Exception):
    """Says what happened, to what, and what to do."""
