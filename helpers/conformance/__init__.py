"""Where the twin and a device differ: one small kernel per call, compared byte by byte.

    python -m helpers.conformance                    # on both where a device is, else on the twin only
    python -m helpers.conformance --only "Cast*" --output report.md
"""
