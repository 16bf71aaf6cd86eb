"""Which code of a submission a person has to look at before it gets points: ``reading.read_cells``."""
