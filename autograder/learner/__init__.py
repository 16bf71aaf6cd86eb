"""What a learner's own machine does: checks, hints, progress, friendly names, set-up and update."""
