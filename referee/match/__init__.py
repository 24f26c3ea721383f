"""Play one match: bot processes, their streams, tables, and the order of judgement."""
