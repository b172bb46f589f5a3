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
# Tests wait more than they compute, so several files of them go on beside each other.
WORKERS ?= 3
BESIDE = --dist loadfile --tx '$(WORKERS)*popen//python=$(PYTHON)'

BUILD ?= build
# Undefined behaviour traps (SIGILL) instead of telling what it was: the texts are 7 MB that each start would read, relocate and
# look through for leaks. Without -fsanitize-undefined-trap-on-error it tells. -O1 and line numbers only: compiled in half the time.
SANITIZED = -Dstatic=false -Db_sanitize=address,undefined -Db_lundef=false -Dc_link_args=-static-libasan \
	'-Dc_args=-fno-sanitize-recover=all -fsanitize-undefined-trap-on-error -O1 -g1'
# A sanitizer's own exit code must not pass for the command's.
# Each start reads through all that is set aside for frames that have returned: 64 KiB of each size are enough.
export ASAN_OPTIONS ?= exitcode=99:detect_stack_use_after_return=1:min_uar_stack_size_log=16:max_uar_stack_size_log=16
export UBSAN_OPTIONS ?= print_stacktrace=1

C_FILES = $(shell find src cmd include examples tests -name '*.[ch]')

.PHONY: all build test both suites unit end-to-end escape replay asan soak test-kernels bench fuzz format check-format check-includes \
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
test: ## install what tests need, run all tests, and all but LEFT_TO_ASAN with sanitizers
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

# On the sanitized build `make test` runs the unit tests, the attacks but for those on containers, the kept fuzz inputs, and of the tests through the real program
# those of what reads foreign input, of the supervisor with all that it does for a program, and of what serves several at once. Left
# to `make asan`, which runs everything, are files in which the programs of others do most of the work (browsers, package managers,
# container runtimes, shells; hostile images are among the kept fuzz inputs), and files about what a policy or an answer means, and what is printed, which is mostly gone through by the unit tests
# and the other files. A new file runs on both builds.
OTHERS_WORK = completion container container_images container_network container_references container_runsc hook_conversations hook_packages \
	hook_recorded in_containers languages launcher mcp_clients mcp_story network_packages network_programs notify_desktop \
	opencode profiles programs programs_in_place story terminal_jobs tools_data web_answers web_inbox web_pages web_text \
	world worktrees
MEANING = answers asking byproducts callers check code_net daemon_document daemon_units defer doctor exact exit_codes fatigue \
	file_rules flags frozen grants help hosts levels obeying pending permissions policy policy_tools routes rules sets \
	sets_network stats tiers top top_network trust watch
LEFT_TO_ASAN = $(OTHERS_WORK) $(MEANING)
# Of attacks those in which a runtime of others does most of the work; they have the names of tests above. And that they are real is
# shown with the wall off, which says nothing of the code that is sanitized.
ATTACKS_LEFT = container container_runsc
REAL_LEFT = -k 'not attack_is_real'

# Unit tests first, because a clock tells those that never end from those on a busy machine; then parts that go on beside each
# other, each with a log of its own: tests through the real program, which wait most, and attacks, on the plain build and on the
# sanitized one. A test through the real program that fails in this crowd is run once more, alone, and that counts
# (tests/again.py); attacks and unit tests are not.
PARTS = build:end-to-end build:escape build-asan:end-to-end build-asan:escape
both:
	@$(call build-in,build-asan,$(SANITIZED))
	@mkdir -p build/reports build-asan/reports
	@failed=; $(MAKE) --no-print-directory unit BUILD=build-asan >build-asan/reports/unit.log 2>&1 & sanitized=$$!; \
		$(MAKE) --no-print-directory unit || failed=yes; wait $$sanitized || failed=yes; cat build-asan/reports/unit.log; \
		for part in $(PARTS); do \
		case $$part in *:end-to-end) set -- WORKERS=4;; *) set --;; esac; \
		case $$part in build-asan:*) set -- "$$@" LEFT_OUT="$(LEFT_TO_ASAN)";; esac; \
		$(MAKE) --no-print-directory $${part#*:} BUILD=$${part%:*} AGAIN=yes "$$@" >$${part%:*}/reports/$${part#*:}.log 2>&1 & \
		parts="$$parts $$!"; done; \
		$(MAKE) --no-print-directory replay || failed=yes; \
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
	@timeout -k 10 1800 meson test -C $(BUILD) --no-rebuild --suite unit --num-processes 6 --print-errorlogs --quiet </dev/null; \
		status=$$?; cp $(BUILD)/meson-logs/testlog.junit.xml $(BUILD)/reports/unit.xml && exit $$status

end-to-end: ## tests through the real program
	@echo "== end-to-end ($(BUILD))"
	@WARD=$(abspath $(BUILD))/ward timeout -k 10 2400 $(PYTEST) $(BESIDE) -m 'not soak' \
		$(LEFT_OUT:%=--ignore=tests/end-to-end/test_%.py) --junitxml=$(BUILD)/reports/end-to-end.xml tests/end-to-end </dev/null || \
		{ status=$$?; test -n "$(AGAIN)" -a $$status = 1; }

# Leaks are for the other suites to find: looking for them takes as long as a run.
escape: ## attack programs, which must fail
	@echo "== escape ($(BUILD))"
	@ASAN_OPTIONS=$(ASAN_OPTIONS):detect_leaks=0 WARD=$(abspath $(BUILD))/ward timeout -k 10 2400 $(PYTEST) $(BESIDE) -m 'not soak' \
		$(patsubst %,--ignore=tests/escape/test_%.py,$(filter $(ATTACKS_LEFT),$(LEFT_OUT))) $(if $(LEFT_OUT),$(REAL_LEFT)) \
		--junitxml=$(BUILD)/reports/escape.xml tests/escape </dev/null

asan: ## all suites with address and undefined-behaviour sanitizers
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

soak: build ## what takes longer: soak tests, all suites SOAK_ROUNDS (10) times, asan, long fuzzing
	@tools/dependencies test
	@for suite in tests/end-to-end tests/escape; do \
		WARD=$(abspath build)/ward timeout -k 10 3600 $(PYTEST) -m soak $$suite </dev/null || exit 1; done
	@for round in $$(seq $(SOAK_ROUNDS)); do echo "== round $$round"; $(MAKE) --no-print-directory suites || exit 1; done
	@$(MAKE) --no-print-directory asan
	@$(MAKE) --no-print-directory test-kernels
	@$(MAKE) --no-print-directory fuzz FUZZ_TARGETS='plan policy' FUZZ_SECONDS=$$((3 * $(SOAK_FUZZ_SECONDS)))
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(SOAK_FUZZ_SECONDS)

test-kernels: ## smoke, limits and attacks on Debian's kernels, in machines that qemu emulates
	@tools/dependencies kernels
	@$(MAKE) --no-print-directory build
	@$(PYTHON) tests/kernels/run.py --build build

# --- fuzzing: tests/fuzz/fuzz_NAME.c is a target, tests/fuzz/corpus/NAME its inputs ----------------------------------

FUZZ_TARGETS = $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_CFLAGS = -std=gnu17 -g -O1 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DWARD_VERSION='"fuzz"' -DWARD_LIBEXEC='"/nowhere"' -Isrc -Iinclude \
	-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_GRAMMAR = build-parts/tree-sitter-bash/src
FUZZ_OBJECTS = $(patsubst %.c,build-fuzz/%.o,$(shell find src -name '*.c' -not -path 'src/lib/*') $(FUZZ_GRAMMAR)/parser.c $(FUZZ_GRAMMAR)/scanner.c)
# The same names as in meson.build; the tables of the parser tell the fuzzer nothing.
build-fuzz/$(FUZZ_GRAMMAR)/%.o: FUZZ_CFLAGS += -w -I$(FUZZ_GRAMMAR)
build-fuzz/$(FUZZ_GRAMMAR)/scanner.o: FUZZ_CFLAGS += -DTREE_SITTER_REUSE_ALLOCATOR $(foreach name,scan serialize, \
	-Dtree_sitter_bash_external_scanner_$(name)=bash_scanner_$(name))

# What meson.build makes of data and headers, under the same names; whatever is compiled may include it.
FUZZ_MADE = $(addprefix build-fuzz/,system-calls.h sets-data.h opencode-data.h starter-data.h tools-data.h tools-names.h mcp-data.h web-pages.h \
	$(patsubst data/profiles/%.yaml,profile-%.h,$(wildcard data/profiles/*.yaml)))
FUZZ_CFLAGS += -Ibuild-fuzz
$(FUZZ_OBJECTS): | $(FUZZ_MADE)
build-fuzz/system-calls.h: tools/system-calls
	@mkdir -p $(@D)
	@tools/system-calls clang >$@.new && mv $@.new $@
build-fuzz/tools-data.h build-fuzz/tools-names.h: tools/tools-data src/assess/facts.h $(wildcard data/tools/*.yaml)
	@mkdir -p $(@D)
	@tools/tools-data $(if $(findstring names,$@),names,tables) src/assess/facts.h data/tools/*.yaml >$@.new && mv $@.new $@
build-fuzz/web-pages.h: tools/web-pages $(wildcard web/*)
	@mkdir -p $(@D)
	@tools/web-pages web $$(cat web/pages.list 2>/dev/null) >$@.new && mv $@.new $@
build-fuzz/sets-data.h: data/sets.yaml
build-fuzz/opencode-data.h: data/opencode.js
build-fuzz/starter-data.h: data/starter.yaml
build-fuzz/mcp-data.h: data/mcp.json
build-fuzz/profile-%.h: data/profiles/%.yaml tools/embed
	@mkdir -p $(@D)
	@tools/embed $< >$@.new && mv $@.new $@
build-fuzz/%-data.h: tools/embed
	@mkdir -p $(@D)
	@tools/embed $(filter-out tools/embed,$^) >$@.new && mv $@.new $@

build-fuzz/%.o: %.c
	@mkdir -p $(@D)
	@clang $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -c -o $@ $<

# Made anew each time, so that an object whose source is gone does not linger.
build-fuzz/libward.a: $(FUZZ_OBJECTS)
	@rm -f $@ && ar rcs $@ $^

build-fuzz/fuzz_%: tests/fuzz/fuzz_%.c build-fuzz/libward.a
	@clang $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MF $@.d -o $@ $< build-fuzz/libward.a \
		-lcares -ljansson -lpcre2-8 -lsodium -lsqlite3 -lyaml -lz -ltree-sitter -lm -lpthread

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

# Compiled with the sanitized build, for which it needs no clang.
replay: ## run every kept fuzz input once
	@echo "== replay"
	@test -n "$(FUZZ_TARGETS)" || { echo 'no fuzz targets in tests/fuzz' >&2; exit 1; }
	@$(call build-in,build-asan,$(SANITIZED))
	@for name in $(FUZZ_TARGETS); do \
		inputs=$$(find tests/fuzz/corpus/$$name -type f 2>/dev/null | wc -l); \
		test $$inputs -gt 0 || { echo "no inputs in tests/fuzz/corpus/$$name" >&2; exit 1; }; \
		timeout -k 10 120 build-asan/tests/fuzz/replay-$$name tests/fuzz/corpus/$$name \
			</dev/null >build-asan/replay-$$name.log 2>&1 || { tail -n 40 build-asan/replay-$$name.log; exit 1; }; \
		echo "$$name: $$inputs inputs"; \
	done

# --- measuring --------------------------------------------------------------------------------------------------------

bench: build ## measure, and write docs/benchmarks.md
	@tools/dependencies bench
	@/usr/bin/python3 tests/bench/run

# --- installing -------------------------------------------------------------------------------------------------------

MANDIR = $(DESTDIR)$(PREFIX)/share/man/man1
SHAREDIR = $(DESTDIR)$(PREFIX)/share
COMPLETIONS = bash-completion/completions/ward zsh/site-functions/_ward fish/vendor_completions.d/ward.fish
DATADIR = $(DESTDIR)$(PREFIX)/share/ward
UNITDIR = $(DESTDIR)$(PREFIX)/lib/systemd
PROFILES = ward ward-restricted
UNITS = user/ward.service user/ward.socket system/ward.service system/ward-agent.socket system/ward-approver.socket

# The library knows where its program is, so it is made for its prefix.
install: build ## install under PREFIX (/usr/local), below DESTDIR
	@meson configure build -Dprefix=$(abspath $(PREFIX)) -Dlibdir=lib
	@$(call build-in,build,)
	DESTDIR=$(DESTDIR) meson install -C build --no-rebuild --quiet
	install -D -m 644 docs/ward.1 $(MANDIR)/ward.1
	install -D -m 644 completions/ward.bash $(SHAREDIR)/$(word 1,$(COMPLETIONS))
	install -D -m 644 completions/_ward $(SHAREDIR)/$(word 2,$(COMPLETIONS))
	install -D -m 644 completions/ward.fish $(SHAREDIR)/$(word 3,$(COMPLETIONS))
	install -D -m 644 data/sets.yaml $(DATADIR)/sets.yaml
	@for profile in $(PROFILES); do \
		install -D -m 644 data/apparmor/$$profile $(DATADIR)/apparmor/$$profile && \
		sed -i 's|@BINDIR@|$(abspath $(PREFIX))/bin|' $(DATADIR)/apparmor/$$profile || exit 1; \
	done
	@for unit in $(UNITS); do \
		install -D -m 644 data/systemd/$$unit $(UNITDIR)/$$unit && \
		sed -i 's|@BINDIR@|$(abspath $(PREFIX))/bin|' $(UNITDIR)/$$unit || exit 1; \
	done

uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/ward libexec/ward/ward-post libexec/ward/ward-web lib/libward.a lib/libward.so lib/libward.so.0 lib/libward.so.0.1.0 \
		lib/pkgconfig/ward.pc include/ward/ward.h)
	rm -f $(MANDIR)/ward.1 $(addprefix $(SHAREDIR)/,$(COMPLETIONS)) $(DATADIR)/sets.yaml $(addprefix $(DATADIR)/apparmor/,$(PROFILES)) $(addprefix $(UNITDIR)/,$(UNITS))

clean: ## remove everything that was built
	rm -rf build build-asan build-fuzz

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
