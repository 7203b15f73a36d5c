"""python -m helpers doctor | target"""
import sys

from . import doctor
from .doctor import target

if __name__ == "__main__":
    word = sys.argv[1] if len(sys.argv) > 1 else "doctor"
    if word not in ("doctor", "target"):
        sys.exit(__doc__)
    print(doctor() if word == "doctor" else "Kernels run on: {} ({})".format(*target()))
