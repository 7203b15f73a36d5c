"""Networks of the course. A folder of their own: mindspore.rewrite puts the folder of a network's file on sys.path."""
