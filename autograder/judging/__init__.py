"""Which promise is broken: judged from what was observed, never from running anything."""
