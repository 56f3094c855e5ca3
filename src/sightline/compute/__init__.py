"""Where work runs: in limited worker processes, or (for comparison) in this one."""
