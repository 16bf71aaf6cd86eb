"""Which code of an answer a person has to look at before it gets points: ``concerns.read_slices``."""
