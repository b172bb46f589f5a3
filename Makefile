# SPDX-License-Identifier: Apache-2.0
# A thin front: meson and ninja build, this names what people do. `make help` lists it.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
SOAK_ROUNDS ?= 10
SOAK_FUZZ_SECONDS ?= 600

# The tests use Debian's python with Debian's pytest, whatever else stands first in PATH.
PYTHON = /usr/bin/python3 -E -s -B
PYTEST = $(PYTHON) -m pytest -q -p no:cacheprovider -o 'markers=soak: takes longer than make test may'

BUILD ?= build
SANITIZED = -Dstatic=false -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all
# A sanitizer's own exit code must not pass for the command's.
export ASAN_OPTIONS ?= exitcode=99:detect_stack_use_after_return=1
export UBSAN_OPTIONS ?= print_stacktrace=1

C_FILES = $(shell find src cmd include examples tests -name '*.[ch]')

.PHONY: all build test both suites unit end-to-end escape replay asan soak bench fuzz format check-format check-includes \
	install uninstall clean help
.DEFAULT_GOAL := build

all: build

build: ## build ward (the default)
	@tools/dependencies build
	@$(call build-in,build,)

# One build at a time in a directory: the launcher takes the same lock.
define build-in
mkdir -p $(1) && exec 9>$(1)/.lock && flock 9 && { test -f $(1)/build.ninja || \
	meson setup $(1) . $(2) >$(1)/setup.log 2>&1 9>&- || { cat $(1)/setup.log >&2; exit 1; }; } && \
	ninja -C $(1) --quiet 9>&-
endef

# --- tests ------------------------------------------------------------------------------------------------------------

# All stages run even if one fails, so that one look at the log shows everything.
test: ## install what tests need, run all tests, then all again with sanitizers
	@tools/dependencies test
	@rm -rf build/reports build-asan/reports
	@$(MAKE) --no-print-directory build
# A directory that was set up before cmocka came has no unit tests in it.
	@test "$$(meson introspect --tests build)" != '[]' || \
		{ meson setup --reconfigure build >build/setup.log 2>&1 && ninja -C build --quiet; }
	@failed=; for stage in check-includes check-format both; do \
		$(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; \
	done; \
	$(PYTHON) -c "$$COUNT" build/reports build-asan/reports; \
	if [ -n "$$failed" ]; then echo "failed stages:$$failed"; exit 1; fi

# Adds up the JUnit files that meson and pytest leave.
define COUNT
import glob, sys, xml.etree.ElementTree as xml
count = dict.fromkeys(('tests', 'failures', 'errors', 'skipped'), 0)
for file in (f for d in sys.argv[1:] for f in sorted(glob.glob(d + '/*.xml'))):
    for suite in xml.parse(file).getroot().iter('testsuite'):
        for key in count:
            count[key] += int(suite.get(key) or 0)
failed = count['failures'] + count['errors']
skipped = ', %d skipped' % count['skipped'] if count['skipped'] else ''
print('%d passed, %d failed%s' % (count['tests'] - failed - count['skipped'], failed, skipped))
endef
export COUNT

# Tests wait more than they compute, so ten parts go on beside each other, each with a log of its own: the tests through
# the real program in quarters and the attacks, on the plain build and on the sanitized one. A test through the real program
# that fails in this crowd is run once more, alone, and that counts (tests/again.py); attacks and unit tests are not.
PARTS = build:end-to-end-2 build:end-to-end-3 build:end-to-end-4 build:escape build-asan:unit \
	build-asan:end-to-end-1 build-asan:end-to-end-2 build-asan:end-to-end-3 build-asan:end-to-end-4 build-asan:escape
both:
	@$(call build-in,build-asan,$(SANITIZED))
	@mkdir -p build/reports build-asan/reports
	@for part in $(PARTS); do \
		$(MAKE) --no-print-directory $${part#*:} BUILD=$${part%:*} AGAIN=yes >$${part%:*}/reports/$${part#*:}.log 2>&1 & \
		parts="$$parts $$!"; done; failed=; \
		for part in unit end-to-end-1 replay; do $(MAKE) --no-print-directory $$part AGAIN=yes || failed=yes; done; \
		for part in $$parts; do wait $$part || failed=yes; done; \
		for part in $(PARTS); do cat $${part%:*}/reports/$${part#*:}.log; done; \
		timeout -k 10 1200 $(PYTHON) tests/again.py build build-asan || failed=yes; test -z "$$failed"

SUITES = unit end-to-end escape
suites:
	@failed=; for suite in $(SUITES); do \
		$(MAKE) --no-print-directory $$suite BUILD=$(BUILD) || failed="$$failed $$suite"; \
	done; test -z "$$failed"

unit: ## unit tests of the rooms
	@echo "== unit ($(BUILD))"
	@mkdir -p $(BUILD)/reports
	@rm -f $(BUILD)/meson-logs/testlog.junit.xml
	@timeout -k 10 180 meson test -C $(BUILD) --no-rebuild --suite unit --print-errorlogs --quiet </dev/null; \
		status=$$?; cp $(BUILD)/meson-logs/testlog.junit.xml $(BUILD)/reports/unit.xml && exit $$status

end-to-end: ## tests through the real program
	@echo "== end-to-end ($(BUILD))"
	@WARD=$(abspath $(BUILD))/ward timeout -k 10 1800 $(PYTEST) -m 'not soak' \
		--junitxml=$(BUILD)/reports/end-to-end.xml tests/end-to-end </dev/null

QUARTER_1 = $(wildcard tests/end-to-end/test_[a-f]*.py)
QUARTER_2 = $(wildcard tests/end-to-end/test_[g-m]*.py)
QUARTER_3 = $(wildcard tests/end-to-end/test_n*.py)
QUARTER_4 = $(wildcard tests/end-to-end/test_[o-z]*.py)
end-to-end-%:
	@echo "== end-to-end, quarter $* ($(BUILD))"
	@WARD=$(abspath $(BUILD))/ward timeout -k 10 1800 $(PYTEST) -m 'not soak' \
		--junitxml=$(BUILD)/reports/end-to-end-$*.xml $(QUARTER_$*) </dev/null || \
		{ status=$$?; test -n "$(AGAIN)" -a $$status = 1; }

escape: ## attack programs, which must fail
	@echo "== escape ($(BUILD))"
	@WARD=$(abspath $(BUILD))/ward timeout -k 10 1800 $(PYTEST) -m 'not soak' \
		--junitxml=$(BUILD)/reports/escape.xml tests/escape </dev/null

asan: ## the same suites with address and undefined-behaviour sanitizers
	@tools/dependencies test
	@$(call build-in,build-asan,$(SANITIZED))
	@$(MAKE) --no-print-directory suites BUILD=build-asan

check-includes: ## each room includes only what it may
	@echo "== includes"
	@tools/check-includes --self-test
	@tools/check-includes

check-format: ## the layout is clang-format's
	@echo "== format"
	@clang-format --dry-run --Werror $(C_FILES)

format: ## lay out all C files with clang-format
	@clang-format -i $(C_FILES)

soak: build ## what takes longer: soak tests, all suites SOAK_ROUNDS (10) times, long fuzzing
	@tools/dependencies test
	@WARD=$(abspath build)/ward timeout -k 10 3600 $(PYTEST) -m soak tests/end-to-end tests/escape </dev/null; \
		status=$$?; test $$status = 0 || test $$status = 5
	@for round in $$(seq $(SOAK_ROUNDS)); do echo "== round $$round"; $(MAKE) --no-print-directory suites || exit 1; done
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(SOAK_FUZZ_SECONDS)

# --- fuzzing: tests/fuzz/fuzz_NAME.c is a target, tests/fuzz/corpus/NAME its inputs ----------------------------------

FUZZ_TARGETS = $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_CFLAGS = -std=gnu17 -g -O1 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DWARD_VERSION='"fuzz"' -Isrc -Iinclude \
	-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_GRAMMAR = build-parts/tree-sitter-bash/src
FUZZ_OBJECTS = $(patsubst %.c,build-fuzz/%.o,$(shell find src -name '*.c' -not -path 'src/lib/*') $(FUZZ_GRAMMAR)/parser.c $(FUZZ_GRAMMAR)/scanner.c)
# The same names as in meson.build; the tables of the parser tell the fuzzer nothing.
build-fuzz/$(FUZZ_GRAMMAR)/%.o: FUZZ_CFLAGS += -w -I$(FUZZ_GRAMMAR)
build-fuzz/$(FUZZ_GRAMMAR)/scanner.o: FUZZ_CFLAGS += -DTREE_SITTER_REUSE_ALLOCATOR $(foreach name,scan serialize, \
	-Dtree_sitter_bash_external_scanner_$(name)=bash_scanner_$(name))

# The same table as in meson.build.
build-fuzz/system-calls.h: tools/system-calls
	@mkdir -p $(@D)
	@tools/system-calls clang >$@.new && mv $@.new $@
build-fuzz/src/sys/calls.o: build-fuzz/system-calls.h
build-fuzz/src/sys/calls.o: FUZZ_CFLAGS += -Ibuild-fuzz

# The same text as in meson.build.
build-fuzz/sets-data.h: data/sets.yaml tools/embed
	@mkdir -p $(@D)
	@tools/embed data/sets.yaml >$@.new && mv $@.new $@
build-fuzz/src/decide/sets.o: build-fuzz/sets-data.h
build-fuzz/src/decide/sets.o: FUZZ_CFLAGS += -Ibuild-fuzz
build-fuzz/opencode-data.h: data/opencode.js tools/embed
	@mkdir -p $(@D)
	@tools/embed $< >$@.new && mv $@.new $@
build-fuzz/starter-data.h: data/starter.yaml tools/embed
	@mkdir -p $(@D)
	@tools/embed $< >$@.new && mv $@.new $@
build-fuzz/src/serve/setup.o: build-fuzz/opencode-data.h build-fuzz/starter-data.h
build-fuzz/src/serve/setup.o: FUZZ_CFLAGS += -Ibuild-fuzz

build-fuzz/tools-data.h build-fuzz/tools-names.h: tools/tools-data src/assess/facts.h $(wildcard data/tools/*.yaml)
	@mkdir -p $(@D)
	@tools/tools-data $(if $(findstring names,$@),names,tables) src/assess/facts.h data/tools/*.yaml >$@.new && mv $@.new $@
$(filter build-fuzz/src/assess/%,$(FUZZ_OBJECTS)): build-fuzz/tools-data.h build-fuzz/tools-names.h
$(filter build-fuzz/src/assess/%,$(FUZZ_OBJECTS)): FUZZ_CFLAGS += -Ibuild-fuzz

build-fuzz/mcp-data.h: data/mcp.json tools/embed
	@mkdir -p $(@D)
	@tools/embed data/mcp.json >$@.new && mv $@.new $@
build-fuzz/src/serve/mcp_tools.o: build-fuzz/mcp-data.h
build-fuzz/src/serve/mcp_tools.o: FUZZ_CFLAGS += -Ibuild-fuzz

build-fuzz/profile-%.h: data/profiles/%.yaml tools/embed
	@mkdir -p $(@D)
	@tools/embed $< >$@.new && mv $@.new $@
build-fuzz/src/decide/profiles.o: $(patsubst data/profiles/%.yaml,build-fuzz/profile-%.h,$(wildcard data/profiles/*.yaml))
build-fuzz/src/decide/profiles.o: FUZZ_CFLAGS += -Ibuild-fuzz

build-fuzz/%.o: %.c
	@mkdir -p $(@D)
	@clang $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -c -o $@ $<

# Made anew each time, so that an object whose source is gone does not linger.
build-fuzz/libward.a: $(FUZZ_OBJECTS)
	@rm -f $@ && ar rcs $@ $^

build-fuzz/fuzz_%: tests/fuzz/fuzz_%.c build-fuzz/libward.a
	@clang $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MF $@.d -o $@ $< build-fuzz/libward.a \
		-lcares -ljansson -lsodium -lsqlite3 -lyaml -ltree-sitter -lm -lpthread

-include $(FUZZ_OBJECTS:.o=.d) $(wildcard build-fuzz/fuzz_*.d)

fuzz: ## fuzz every target for FUZZ_SECONDS (60) each
	@tools/dependencies fuzz
	@test -n "$(FUZZ_TARGETS)" || { echo 'no fuzz targets in tests/fuzz' >&2; exit 1; }
	@$(MAKE) -s --no-print-directory -j$$(nproc) $(addprefix build-fuzz/fuzz_,$(FUZZ_TARGETS))
	@for name in $(FUZZ_TARGETS); do \
		mkdir -p build-fuzz/corpus/$$name build-fuzz/found; echo "== fuzz $$name"; \
		timeout -k 10 $$(($(FUZZ_SECONDS) + 120)) build-fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-rss_limit_mb=2048 -artifact_prefix=build-fuzz/found/$$name- -print_final_stats=1 \
			build-fuzz/corpus/$$name $$(ls -d tests/fuzz/corpus/$$name 2>/dev/null) \
			</dev/null >build-fuzz/$$name.log 2>&1 || { tail -n 40 build-fuzz/$$name.log; exit 1; }; \
		grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' build-fuzz/$$name.log; \
	done

replay: ## run every kept fuzz input once
	@echo "== replay"
	@test -n "$(FUZZ_TARGETS)" || { echo 'no fuzz targets in tests/fuzz' >&2; exit 1; }
	@$(MAKE) -s --no-print-directory -j$$(nproc) $(addprefix build-fuzz/fuzz_,$(FUZZ_TARGETS))
	@mkdir -p build-fuzz/found; for name in $(FUZZ_TARGETS); do \
		inputs=$$(find tests/fuzz/corpus/$$name -type f 2>/dev/null | wc -l); \
		test $$inputs -gt 0 || { echo "no inputs in tests/fuzz/corpus/$$name" >&2; exit 1; }; \
		timeout -k 10 120 build-fuzz/fuzz_$$name -runs=0 -timeout=10 -artifact_prefix=build-fuzz/found/$$name- \
			tests/fuzz/corpus/$$name </dev/null >build-fuzz/$$name.log 2>&1 || \
			{ tail -n 40 build-fuzz/$$name.log; exit 1; }; \
		echo "$$name: $$inputs inputs"; \
	done

# --- measuring --------------------------------------------------------------------------------------------------------

bench: build ## measure, and write docs/benchmarks.md
	@tools/dependencies bench
	@/usr/bin/python3 tests/bench/run

# --- installing -------------------------------------------------------------------------------------------------------

MANDIR = $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETIONDIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
DATADIR = $(DESTDIR)$(PREFIX)/share/ward

# The library knows where its program is, so it is made for its prefix.
install: build ## install under PREFIX (/usr/local), below DESTDIR
	@meson configure build -Dprefix=$(abspath $(PREFIX)) -Dlibdir=lib
	@$(call build-in,build,)
	DESTDIR=$(DESTDIR) meson install -C build --no-rebuild --quiet
	install -D -m 644 docs/ward.1 $(MANDIR)/ward.1
	install -D -m 644 completions/ward.bash $(COMPLETIONDIR)/ward
	install -D -m 644 data/sets.yaml $(DATADIR)/sets.yaml

uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/ward lib/libward.a lib/libward.so lib/libward.so.0 lib/libward.so.0.1.0 \
		lib/pkgconfig/ward.pc include/ward/ward.h)
	rm -f $(MANDIR)/ward.1 $(COMPLETIONDIR)/ward $(DATADIR)/sets.yaml

clean: ## remove everything that was built
	rm -rf build build-asan build-fuzz

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
