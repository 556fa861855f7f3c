# The front door. CMake does the building; this file says what there is to do.
BUILD    ?= build
PREFIX   ?= /usr/local
JOBS     ?= $(shell nproc)
WERROR   ?= ON
# Quiet unless something is wrong; `make V=1` shows the compiler commands.
V        ?= 0
QUIET    := $(if $(filter 1,$(V)),,>/dev/null)
cmake_make = MAKEFLAGS= cmake --build $(1) -j $(JOBS) $(if $(filter 1,$(V)),-v,-- --no-print-directory) $(QUIET)
RUN_TESTS := tools/run-tests -j $(JOBS)
CHECKS   := $(foreach c,includes format docs nan,check=tools/check-$(c))

# CLANG=1: everything by clang, in a folder of its own: `make check CLANG=1`.
CLANG    ?=
ifneq ($(CLANG),)
export CC := clang
BUILD    := build/clang
endif

.PHONY: all help deps sanitize tsan valgrind coverage wheel check check-deps check-long fuzz demo bench install format clean
.DEFAULT_GOAL := all

help:      ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
	@echo; echo "  Variables: PREFIX DESTDIR (install), JOBS, WERROR=OFF (other compilers), CLANG=1, V=1, MATCH=REGEX (check)"

all: deps  ## build/clausius, build/libclausius.so, build/libclausius.a
	@cmake -S . -B $(BUILD) -DCLAUSIUS_WERROR=$(WERROR) >/dev/null
	@$(call cmake_make,$(BUILD))

deps:      ## install the Debian packages that are missing (root or sudo)
	@tools/install-deps

sanitize: deps  ## build/sanitize: the same with AddressSanitizer and UBSan
	@cmake -S . -B $(BUILD)/sanitize -DCLAUSIUS_WERROR=$(WERROR) -DCLAUSIUS_SANITIZE=ON >/dev/null
	@$(call cmake_make,$(BUILD)/sanitize)

tsan: deps  ## build/tsan: ThreadSanitizer (clang), over everything that has threads
	@tools/install-deps fuzz
	@CC=clang cmake -S . -B $(BUILD)/tsan -DCLAUSIUS_SANITIZE=thread >/dev/null
	@$(call cmake_make,$(BUILD)/tsan)
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tools/tsan.supp OMP_NUM_THREADS=3 tools/run-tests -j 1 --limit 3600 --match '$(or $(MATCH),threads|pack|stream|shooting|train|lsq|kernels|node|noise|qp|identify)' tsan=$(BUILD)/tsan/tests

valgrind: all  ## some of the tests under valgrind
	@tools/install-deps valgrind
	@tools/run-tests --limit 3600 valgrind=tools/valgrind

coverage: deps  ## build/coverage: the lines and branches that the tests run, for every room
	@cmake -S . -B $(BUILD)/coverage -DCLAUSIUS_COVERAGE=ON >/dev/null
	@$(call cmake_make,$(BUILD)/coverage)
	@find $(BUILD)/coverage -name '*.gcda' -delete
	@CLAUSIUS=$(abspath $(BUILD))/coverage/clausius CLAUSIUS_BUILD=$(abspath $(BUILD)) $(RUN_TESTS) --limit 1200 --match '$(MATCH)' \
	    unit=$(BUILD)/coverage/tests cli=tests/cli
	@tools/coverage $(BUILD)/coverage

wheel: deps  ## build/wheel: the Python package, self-contained, judged by auditwheel and abi3audit
	@tools/python-wheel $(BUILD)

check: check-deps all sanitize  ## all fast tests, in the release and the sanitizer build; ends with `N passed, N failed`
	@tools/python-wheel $(BUILD) >/dev/null 2>&1 || true # compiled here, where no time limit holds; tests/python says what is wrong
	@CLAUSIUS=$(abspath $(BUILD))/clausius CLAUSIUS_BUILD=$(abspath $(BUILD)) \
	    $(RUN_TESTS) --match '$(MATCH)' $(CHECKS) check=tools/check-symbols check=tools/check-clang \
	    tools=tests/tools unit=$(BUILD)/tests sanitize=$(BUILD)/sanitize/tests \
	    cli=tests/cli fault=tests/fault $(addprefix guide=,$(wildcard tests/guide)) python=tests/python

check-deps:
	@tools/install-deps check

check-long: check-deps all sanitize  ## the long tests, and the command line tests under the sanitizers
	@CLAUSIUS=$(abspath $(BUILD))/clausius CLAUSIUS_BUILD=$(abspath $(BUILD)) CLAUSIUS_LONG=1 \
	    $(RUN_TESTS) --limit 7200 --match '$(MATCH)' \
	    fault=tests/fault $(addprefix long=,$(wildcard tests/long)) $(if $(wildcard tests/long/*.c),long=$(BUILD)/tests/long)
	@CLAUSIUS=$(abspath $(BUILD))/sanitize/clausius \
	    $(RUN_TESTS) --limit 3600 --match '$(MATCH)' sanitize-cli=tests/cli

fuzz: deps  ## the fuzz targets of tests/fuzz, SECONDS each (60), from their corpus (clang)
	@tools/install-deps fuzz
	@tools/fuzz $(BUILD) $(or $(SECONDS),60)

demo: deps  ## learn a system from observables, simulate and audit it
	@cmake -S . -B $(BUILD) -DCLAUSIUS_WERROR=$(WERROR) >/dev/null
	@$(call cmake_make,$(BUILD) --target clausius_cli)
	@CLAUSIUS=$(abspath $(BUILD))/clausius examples/demo.sh

bench: all  ## the benchmarks, against SciPy, CVODE, PyTorch and JAX
	@tools/install-deps bench
	@CLAUSIUS=$(abspath $(BUILD))/clausius CLAUSIUS_BUILD=$(abspath $(BUILD)) bench/run

install: all  ## to PREFIX (default /usr/local) under DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) $(QUIET)

format:    ## lay out the C files
	@tools/check-format --fix

clean:     ## remove build/
	@rm -rf $(BUILD)
