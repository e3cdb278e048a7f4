SHELL := /bin/bash
.DEFAULT_GOAL := help
export GOFLAGS ?= -buildvcs=false

GO    ?= go
TOOL  := $(GO) tool -modfile=.tools/go.mod
# What takes time and chance as arguments: test/layers_test.go.
PURE  := ./clientlib/route/... ./controlplane/fleet/... ./controlplane/sim/...

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: dev
dev: ## Run everything on loopback, with a live table
	$(GO) run ./cmd/pointsman dev

.PHONY: build
build: ## Build the three programs into bin/
	$(GO) build -o bin/ ./cmd/...

.PHONY: test
test: ## Run the quick tests, with the race detector
	$(GO) test -race ./...

.PHONY: check
check: fmt-check vet lint test ## Format, vet, lint, layers and tests: what must pass before a push

.PHONY: e2e
e2e: ## Run the end-to-end tests with real processes
	$(GO) test -count=1 -timeout 10m -tags e2e -skip '^TestReplicas' ./test/e2e/...

.PHONY: e2e-fleet
e2e-fleet: ## Run three replicas on three members of etcd, with agents and many libraries, through faults (4 minutes)
	$(GO) test -count=1 -timeout 10m -tags e2e -run '^TestReplicas' -v ./test/e2e/... -args -plain

.PHONY: e2e-sdk
e2e-sdk: ## Run the official SDKs, unmodified but for their http.Client
	cd test/sdk && $(GO) vet ./... && $(GO) test -count=1 -timeout 60s ./...

.PHONY: faults
faults: ## Run sixteen faults of an endpoint against sending, and a storm of calls that must leave nothing (half a minute)
	cd test/faults && $(GO) test -count=1 -args -long

.PHONY: churn
churn: ## Let clients, agents and endpoints come and go for twelve cycles: the heap must not grow (90 s)
	$(GO) test -count=1 -timeout 3m ./test/churn -args -long

.PHONY: converge
converge: ## Let thousands of libraries converge in virtual time, from ten seeds
	$(GO) test -count=1 -timeout 9m -v ./test/convergence -args -long

.PHONY: bench-fleet
bench-fleet: ## Measure a hub with 5,000 clients against a bare broadcast (2 minutes)
	$(GO) run ./test/bench/fleet -clients 5000

.PHONY: vectors
vectors: ## Run the vectors without and with fused instructions, and compute them a second time, in Python
	GOAMD64=v1 $(GO) test -count=1 -run 'Stories|Vectors' ./clientlib/route/...
	GOAMD64=v3 $(GO) test -count=1 -run 'Stories|Vectors' ./clientlib/route/...
	python3 test/vectors/check/check.py

.PHONY: bite
bite: ## Break the code in ten places at random: tests must notice (BITE_SEED, BITE_N, BITE_ROWS)
	$(GO) run ./test/bite

.PHONY: cover
cover: ## Show the coverage of the pure packages
	$(GO) test -cover $(PURE)

.PHONY: bench
bench: ## Run the core's benchmarks
	$(GO) test -run '^$$' -bench . ./clientlib/route/...

.PHONY: bench-sim
bench-sim: ## Measure the simulator: requests a second of a core, and an hour of traffic
	$(GO) test -run '^$$' -bench . -benchtime 5x -benchmem -cpu 1 ./controlplane/sim

.PHONY: sim-check
sim-check: ## Play whole scenarios, without the race detector: the examples' assertions, storms, rivals against the known order
	$(GO) test -count=1 ./controlplane/sim/... ./controlplane/catalog/scenario

.PHONY: sim
sim: ## Play every scenario and write docs/results.md with its plots (half an hour of two processors)
	$(GO) run ./test/results

.PHONY: fmt
fmt: ## Format Go and the example catalogs
	gofmt -w $$(git ls-files '*.go' | grep -v '\.pb\.go$$')
	$(GO) run ./cmd/pointsman catalog fmt deploy/examples

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not formatted, run make fmt:"; echo "$$out"; exit 1; }

.PHONY: vet
vet:
	$(GO) vet ./...
	$(GO) vet -tags e2e ./test/e2e/...

.PHONY: lint
lint: ## Run golangci-lint (built on first use: a few minutes)
	$(TOOL) golangci-lint run

.PHONY: proto
proto: ## Lint the protos, check them against main, generate, and fail on a difference
	$(TOOL) buf lint proto
	$(TOOL) buf breaking proto --against '.git#branch=main,subdir=proto'
	$(TOOL) buf generate
	@git diff --exit-code --stat -- proto || { echo "generated code differs: commit it by itself"; exit 1; }
