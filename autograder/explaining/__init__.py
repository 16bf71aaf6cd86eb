"""Why a promise is broken: known mistakes, general causes, exceptions and edits."""
