"""All that touches the learner's code: it runs here and nowhere else."""
