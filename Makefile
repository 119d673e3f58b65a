# hostlab. Everything a fresh machine with Go and apt needs: `make demo`, `make test`.
SHELL := /bin/bash
VERSION ?=
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w $(VERSION:%=-X main.version=%) -X main.commit=$(COMMIT)
OUT := bin/hostlab
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.52.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# With it, tests are built that take root, servers, guests or many seconds (CONTRIBUTING.md).
SYSTEM := -tags=system
ALL_TESTS := system,bench
# Tests make trees of thousands of small files, for which a disk takes minutes. Those with the
# tag want directories on a device, which T.TempDir makes below GOTMPDIR.
MEMORY := $(if $(wildcard /dev/shm),TMPDIR=/dev/shm)
DEVICE := $(if $(wildcard /dev/shm),GOTMPDIR=/tmp)
LINK := -ldflags='-s -w'
export CGO_ENABLED := 0

.PHONY: arm64 build demo demo-fleet check test lab guests tidy test-deps lint race fuzz cross bpf man bench fixtures clean help packages packages-test ansible ansible-test

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build: ## bin/hostlab for this machine; TAGS=oracle,sqlserver adds drivers
	go build $(TAGS:%=-tags=%) -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(OUT) ./cmd/hostlab

demo: build ## build, find the planted trouble of a demo service, assess this host, say where the report is
	./bin/hostlab assess --service demo --log-dir .

demo-fleet: build ## make the documents of 200 hosts, keep them, and serve their pages
	@dir=$$(mktemp -d /tmp/hostlab-fleet-XXXXXX) && ./bin/hostlab fleet demo --hosts 200 --out $$dir/spool && \
	./bin/hostlab fleet ingest --store sqlite:$$dir/fleet.db $$dir/spool && \
	./bin/hostlab fleet status --store sqlite:$$dir/fleet.db && echo "The store is sqlite:$$dir/fleet.db" && \
	./bin/hostlab fleet serve --listen 127.0.0.1:0 --store sqlite:$$dir/fleet.db

check: ## gofmt, go vet and the tests that need neither root nor servers: a minute
	@files=$$(gofmt -l cmd internal testbed bench *.go) && [ -z "$$files" ] || { echo "gofmt -w $$files" >&2; exit 1; }
	go vet ./...
	@# Some packages and tests wait for seconds of clock, so that others use the CPUs meanwhile.
	$(MEMORY) GOGC=400 go test -count=1 -vet=off $(LINK) -p $$(( 2 * $$(nproc) )) -parallel $$(( 4 * $$(nproc) )) ./...

test: ## as root, with PostgreSQL, MariaDB and Chromium, which it installs: all tests but those of the lab
	./scripts/test-deps.sh test
	go vet $(SYSTEM) ./... ./bench/...
	@# Many packages wait for servers, guests and the clock, so that one more uses the CPUs meanwhile.
	$(MEMORY) $(DEVICE) ./scripts/with-chromium.sh go test $(SYSTEM) -vet=off $(LINK) -p $$(( $$(nproc) + 1 )) -timeout 45m $(GUESTS) $$(go list ./... ./bench/... | grep -v /testbed)
	go test -tags=oracle,sqlserver -vet=off $(LINK) -run 'TestNoTLS|TestRefused' ./internal/explain/connect

lab: test-deps guests packages packages-test ansible-test bpf ## guests, servers, Wine, packages, Ansible, kernel objects; as root. LAB=all: all servers

guests: ## the tests in guests with kernels of their own, on other versions of servers, and of the Windows program under Wine; as root
	@# The guests have changed where the program did, which Go's cache of results does not see.
	$(MEMORY) $(DEVICE) go test -count=1 $(SYSTEM) -vet=off $(LINK) -timeout 20m ./testbed/...

tidy: ## go.mod and go.sum of both modules name what is imported, and nothing else
	GOWORK=off go mod tidy -diff
	cd bench && GOWORK=off go mod tidy -diff

test-deps: ## Debian packages that all tests use
	./scripts/test-deps.sh

lint: export GOGC := 400
lint: ## golangci-lint and deadcode, pinned; built from source the first time
	GOBIN=$(CURDIR)/bin go install $(GOLANGCI)
	./bin/golangci-lint run --allow-parallel-runners ./... ./bench/...
	GOOS=windows ./bin/golangci-lint run --allow-parallel-runners ./...
	GOBIN=$(CURDIR)/bin go install $(DEADCODE)
	@dead=$$(./bin/deadcode -test -tags=$(ALL_TESTS) ./... ./bench/...) && [ -z "$$dead" ] || { echo "$$dead" >&2; exit 1; }

cross: ## the other platforms
	GOOS=linux GOARCH=amd64 $(MAKE) build OUT=dist/hostlab-linux-amd64
	GOOS=linux GOARCH=arm64 $(MAKE) build OUT=dist/hostlab-linux-arm64
	GOOS=windows GOARCH=amd64 $(MAKE) build OUT=dist/hostlab-windows-amd64.exe

packages: ## deb, rpm, container images, Windows zip and MSI, SBOM and checksums into dist/
	./scripts/packages.sh

packages-test: ## install, use, upgrade and remove what 'make packages' has built; as root
	./scripts/packages-test.sh

ansible: ## the Ansible collection as a tarball, into dist/
	@[ -x testbed/dl/ansible/bin/ansible-galaxy ] || ./scripts/test-deps.sh
	testbed/dl/ansible/bin/ansible-galaxy collection build --force --output-path dist ansible

ansible-test: ## play the Ansible collection against eight hosts over ssh; as root. ANSIBLE_TEST=-full for all
	./scripts/ansible-test.sh $(ANSIBLE_TEST)

arm64: ## hostlab for arm64 as an emulated program and in an emulated machine; ARM64=-full: unit tests too
	./testbed/arm64.sh $(ARM64)

bpf: ## are the programs for the kernel what their sources give? needs clang-14, llvm-14 and libbpf-dev
	./scripts/bpf.sh

man: build ## manual pages into dist/man
	mkdir -p dist
	./bin/hostlab man dist/man

race: ## the tests that run things side by side, under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test $(SYSTEM) -race ./internal/host/... ./internal/probe ./internal/lever ./internal/check ./internal/worker ./internal/workload/xmlquery \
		./internal/workload/command ./internal/proc ./internal/experiment/... ./internal/result/store

fuzz: ## each fuzz target for ten seconds
	./scripts/fuzz.sh 10s

bench: build ## the figures of the README, or one: make bench BENCH=scanlock; see bench/README.md
	./bench/run.sh $(BENCH)

fixtures: ## record the test-bed guests again (QEMU; see testbed/README.md)
	./testbed/record.sh

clean: ## what was built
	rm -rf bin dist
