"""Everything a notebook of the course calls."""
