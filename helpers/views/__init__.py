"""Pictures and tables of a run. Each is a plain function of data: it reads a Run and changes nothing.

timeline        timeline(run), timelines({"before": run, "after": run})
timeline_html   the same to zoom and move in
pipe_table      how busy every pipe is, and which sets the time
ub_map          what lies where in on-chip memory over time
ub_plan         the same as a plan, before anything runs
hot_lines       cycles beside every line of the kernel
roofline        operations per byte under the roofs of the chip
sweep           sweep(fn, values) and plot_sweep
lines           curves over steps, such as a loss
graph           operators and tensors of networks, before and after a fusion
compare         two runs: bytes, instructions, cycles, and where they part
bars            a ladder of versions beside published times
memory          the way of the bytes through the chip; which UB bank groups operands share
report          one page about a run
profile_table   profiles: launches by kernel, beside the estimate, busy shares by version
host_lanes      what a host program called, and what ran on its streams
chrome_trace    the events for a trace viewer
widgets         sliders around these functions
"""
