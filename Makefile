# make test    everything that must pass, servers included; what CI runs
# make prove   the long experiments, and the README's table from them
# make lint    golangci-lint
# make fuzz    every fuzz target for FUZZTIME (default 3s)
# make bench   all benchmarks
# make crash   one crash run of each strategy

GO           ?= go
GOTESTFLAGS  ?=
FUZZTIME     ?= 3s
CRASHFLAGS   ?= -strategy all -crash -runs 1
PROVEFLAGS   ?=

STATICCHECK   = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# The race detector needs a C compiler; .ci/servers brings one where it can.
RACE = $$(command -v gcc >/dev/null && echo -race || echo "SKIPPED: the race detector, for want of gcc" >&2)

# Not written out in test: make runs a line that has $(MAKE) in it even with -n,
# and .ci/servers installs packages.
SUBMAKE = $(MAKE) --no-print-directory

# Every module of the repository, "." included.
MODULES = $$(find . -name go.mod -not -path './.git/*' | sort | xargs -n1 dirname)

.PHONY: test check unit fuzz crash prove lint bench
.NOTPARALLEL:

test:
	@servers=$$(.ci/servers) || exit 1; \
	$(SUBMAKE) --keep-going check unit fuzz REQUIRE_SERVERS=$$servers && \
	if [ $$servers = 1 ]; then $(SUBMAKE) crash; else echo "SKIPPED: the crash runs, for want of servers"; fi

check:
	@echo "== gofmt"
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	@set -e; for module in $(MODULES); do \
		echo "== vet and staticcheck of $$module"; \
		$(GO) -C $$module vet ./...; \
		(cd $$module && $(STATICCHECK) ./...); \
	done

unit:
	@set -e; for module in $(MODULES); do \
		echo "== tests of $$module"; \
		$(GO) -C $$module test $(RACE) -shuffle=on $(GOTESTFLAGS) ./...; \
	done

fuzz:
	@echo "== fuzzing, $(FUZZTIME) a target"
	@GO="$(GO)" .ci/fuzz $(FUZZTIME)

crash:
	@echo "== crash runs: $(CRASHFLAGS)"
	@$(GO) run ./internal/e2e/crashtest $(CRASHFLAGS)

prove:
	@.ci/servers >/dev/null
	@$(GO) run ./internal/e2e/prove $(PROVEFLAGS)

lint:
	@set -e; for module in $(MODULES); do (cd $$module && $(GOLANGCI_LINT) run ./...); done

bench:
	@set -e; for module in $(MODULES); do $(GO) -C $$module test -run '^$$' -bench . -benchmem ./...; done
