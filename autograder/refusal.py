"""An error whose message says all there is to say: notebooks show it without a traceback."""


def refusal(message: str) -> ValueError:
    """A ValueError that IPython shows as its message alone."""
    error = ValueError(message)
    vars(error)["_render_traceback_"] = lambda: [message]
    return error
