"""Example files for continuous integration: `python -m helpers.regress.ci github|gitlab`. They are texts to copy, nothing runs them here.

The job on the host twin needs no device. The job on hardware wants a runner with an Ascend device; image name and device
list are those of the public images and change with release and chip, so look them up before use.
"""
from __future__ import annotations

import sys

GITHUB = """name: kernels
on: [push, pull_request]

jobs:
  twin:                       # no device: compiles for the host twin, runs every check, holds the numbers
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install -e ".[dev]"
      - run: make test
      - run: python -m helpers.regress --history regress.json

  npu:                        # a runner with an Ascend device
    if: github.ref == 'refs/heads/main'
    runs-on: [self-hosted, ascend]
    container:
      image: quay.io/ascend/cann:8.0.0-910b-ubuntu22.04-py3.10
      options: >-
        --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc
        -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e ".[dev]"
      - run: |
          source /usr/local/Ascend/ascend-toolkit/set_env.sh
          python -m helpers.regress --target npu --history regress-npu.json
          python -m helpers.conformance --target both --output conformance.md
        shell: bash
      - uses: actions/upload-artifact@v4
        with:
          name: conformance
          path: conformance.md
"""

GITLAB = """stages: [test, device]

twin:                         # no device: compiles for the host twin, runs every check, holds the numbers
  stage: test
  image: python:3.11
  before_script:
    - apt-get update && apt-get install -y g++ make
    - pip install -e ".[dev]"
  script:
    - make test
    - python -m helpers.regress --history regress.json

npu:                          # a runner with an Ascend device, started with the device files and the driver mounted
  stage: device
  tags: [ascend]
  image: quay.io/ascend/cann:8.0.0-910b-ubuntu22.04-py3.10
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
    - source /usr/local/Ascend/ascend-toolkit/set_env.sh
    - pip install -e ".[dev]"
    - python -m helpers.regress --target npu --history regress-npu.json
    - python -m helpers.conformance --target both --output conformance.md
  artifacts:
    paths: [conformance.md]
"""

FILES = {"github": (".github/workflows/kernels.yml", GITHUB), "gitlab": (".gitlab-ci.yml", GITLAB)}


def main(words: list[str]) -> int:
    if len(words) != 1 or words[0] not in FILES:
        print("usage: python -m helpers.regress.ci github|gitlab", file=sys.stderr)
        return 2
    path, text = FILES[words[0]]
    print(f"# {path}\n{text}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
