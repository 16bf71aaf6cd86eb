"""Why an answer is wrong: causes that the numbers and the learner's own source name, tried in turn.

Nothing here decides whether an answer is right. Rules ask for a cause once they have found a fault.
"""
