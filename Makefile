# The front door: short names for long commands. Everything here is one or two lines around scripts/bootstrap, the
# presets of CMakePresets.json and the programs they build.
PRESET ?= release
SECONDS ?= 60
# What random tests start from. They must hold for every seed: make soak draws new ones.
KILN_SEED ?= 1
ROUNDS ?= 10
# Where the kiln of a preset is: its description in CMakePresets.json, and cmake/KilnVenv.cmake.
VENV = $(if $(filter release,$(PRESET)),.venv,build/$(PRESET)/venv)
# The demo does without the tests and what they need; it leaves them in a build that has them.
HAS_TESTS = $(if $(wildcard build/$(PRESET)/tests/CTestTestfile.cmake),ON,OFF)

help:                ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

bootstrap:           ## install the packages and the Python environment that are missing
	@scripts/bootstrap

configure: bootstrap
	@cmake --preset $(PRESET)

build: configure     ## build everything (PRESET=release; see cmake --list-presets); kiln is in .venv then
	@cmake --build --preset $(PRESET)

test: build          ## build and run all tests (PRESET=release; random ones start from KILN_SEED=1)
	@KILN_SEED=$(KILN_SEED) ctest --preset $(PRESET)

soak: build          ## run what is random ROUNDS=10 times, each with another seed
	@env -u KILN_SEED ctest --preset $(PRESET) --repeat until-fail:$(ROUNDS) -LE "lint|install|docs|fuzz"

demo:                ## build kiln alone, run and time the attention example; its timeline goes to build/demo
	@scripts/bootstrap --without-tests
	@cmake --preset $(PRESET) -D KILN_TESTS=$(HAS_TESTS)
	@cmake --build --preset $(PRESET) --target kiln_python attention
	@mkdir -p build/demo
	@build/$(PRESET)/examples/cpp/attention --demo --page build/demo/attention.html
	@echo "now: . $(VENV)/bin/activate, and kiln is a command and a Python package"

wheel: configure     ## a wheel for any Linux with the Python of .venv, in build/wheel
	@cmake --build --preset $(PRESET) --target kiln_python
	@.venv/bin/python scripts/make_wheel.py --module build/$(PRESET)/python/kiln/_kiln.*.so build/wheel

bench: build         ## measure; the numbers go to build/bench.json
	@bench/run
	@bench/compile --all

torch: build         ## kernels on torch tensors, in an environment of its own (gigabytes: not part of make test)
	@test -x build/torch/bin/python || .venv/bin/python -m venv build/torch
	@build/torch/bin/python -m pip install --quiet --requirement tests/torch/requirements.txt
	@PYTHONPATH=build/$(PRESET)/python KILN_SEED=$(KILN_SEED) build/torch/bin/python -m pytest --quiet tests/torch

sanitize: bootstrap  ## C++ tests under AddressSanitizer with UndefinedBehaviorSanitizer, then ThreadSanitizer
	@set -e; for preset in asan tsan; do \
	  echo "== $$preset: build in build/$$preset, then all tests that Python does not drive"; \
	  cmake --preset $$preset; cmake --build --preset $$preset; KILN_SEED=$(KILN_SEED) ctest --preset $$preset; \
	done

fuzz:                ## run each fuzzer for SECONDS=60
	@scripts/bootstrap clang-19 libclang-rt-19-dev llvm-19
	@cmake --preset fuzz
	@cmake --build --preset fuzz --target fuzzers
	@build/fuzz/venv/bin/python -m pip install --quiet --requirement tests/fuzz/requirements.txt || true
	@scripts/fuzz build/fuzz/fuzzers $(SECONDS)

format: bootstrap    ## lay out all C++ files, sort the imports of Python files
	@python3 scripts/check_format.py --fix
	@.venv/bin/ruff check --quiet --select I --fix .

lint: configure      ## layout, clang-tidy on what changed, ruff, lists and long lines; part of make test
	@ctest --preset $(PRESET) -L lint

clean:               ## remove build/
	rm -rf build

.PHONY: help bootstrap configure build test demo wheel bench torch soak sanitize fuzz format lint clean
