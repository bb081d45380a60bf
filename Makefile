# The commands a newcomer needs are `make demo` and `make test`; `make help` lists the rest.

MODEL  ?= models/tiny-stories/tiny-stories-q8_0.gguf
PROMPT ?= Once upon a time
# The shipped model knows no chats, and has a template beside it; others have their own.
TEMPLATE ?= $(wildcard $(dir $(MODEL))chat.jinja)

# `make shuffle` runs its tests once for each seed.
SEEDS ?= 1 2

# `make sanitize`: native, threads, crate; all if empty.
PARTS =

# The packages that may be published, in this order.
PUBLISHED = metal-bridge metal-bridge-distributed metal-bridge-llama metal-bridge-workloads metal-bridge-cli metal-cudart

# `make fuzz`: the time of all fuzzers together, and their seed.
SECONDS = 60
SEED = 1

# `make soak`: the suites of `scripts/soak`, and how often each is repeated.
SUITES ?= threads address address-crate
TIMES ?= 30

# Where the software Metal is installed; the library's objects stay below Cargo's folder of products.
PREFIX ?= /usr/local
SOFTWARE_METAL = $(MAKE) -C native/software PREFIX="$(abspath $(PREFIX))" BUILD="$(SOFTWARE_METAL_BUILD)"
PRODUCTS := $(abspath $(or $(CARGO_TARGET_DIR),target))
SOFTWARE_METAL_BUILD = $(PRODUCTS)/software-metal
BRIDGE = $(MAKE) -C native/bridge PREFIX="$(abspath $(PREFIX))" BUILD="$(PRODUCTS)/bridge" SOFTWARE_BUILD="$(SOFTWARE_METAL_BUILD)"
# A Mac needs no software Metal.
ON_SOFTWARE_METAL = $(if $(filter Darwin,$(shell uname -s)),,$(1))

.PHONY: help demo demo-serve test check fmt lint lint-candle lint-portable doc package native sanitize sanitize-kernels sanitize-kernels-all portable standalone \
        install-software-metal uninstall-software-metal shuffle fuzz soak large foreign foreign-ggml foreign-mlx foreign-candle foreign-tinygrad foreign-naga foreign-llama foreign-torch foreign-openai bench stress \
        setup setup-check setup-software clean platforms distributed \
        install-bridge uninstall-bridge cuda-programs install-cuda-runtime uninstall-cuda-runtime page

help: ## lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@scripts/setup build

setup-check:
	@scripts/setup check

setup-software:
	@scripts/setup software

demo: setup ## decodes a story with the shipped model
	cargo run --release --quiet --bin metal-bridge -- generate --model $(MODEL) "$(PROMPT)"

demo-serve: setup ## serves the shipped model to the browser and to clients of OpenAI's interface, until it is interrupted
	cargo run --release --quiet --bin metal-bridge -- serve --model $(MODEL) $(if $(TEMPLATE),--template $(TEMPLATE)) --slots 4

# Shuffled tests and fuzzers have less time here than by themselves, and one in eleven of the foreign kernels runs. No Rust test runs
# both shuffled and not. Stages that compile with Cargo, which takes one at a time, stand beside others. The first of `sanitize` makes
# what the last and the fuzzers link, and has done so long before these begin.
test: setup-check ## the tests of continuous integration
	scripts/two-at-a-time 'sanitize PARTS=native' lint doc portable 'shuffle SEEDS=1' standalone 'sanitize PARTS=threads' \
	    'sanitize PARTS=crate' 'fuzz SECONDS=20' 'foreign FOREIGN=--every=11' sanitize-kernels cuda-programs
	scripts/cargo-tests --rest

check: lint doc portable standalone sanitize ## formatting, lints, documentation, the build without a backend, sanitizers

fmt: setup-check ## formats all sources
	cargo fmt --all
	scripts/format

lint: setup-check
	cargo fmt --all --check
	scripts/format --check
	cargo clippy --workspace --all-targets -- -D warnings

lint-candle: setup-check ## the command line with candle, which needs Rust 1.88 (not in CI: compiles 60 packages more)
	cargo clippy --package metal-bridge-cli --features candle --all-targets -- -D warnings

lint-portable: ## clippy for the crates without a Metal (not in CI: compiles their dependencies once more)
	scripts/portable --lint

doc: setup
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

package: setup ## each package that may be published, built from its package alone
	cargo package $(addprefix --package=,$(PUBLISHED))

portable: ## the crates with no native toolchain: no device, no native code
	scripts/portable

native: setup-check ## the native code's own tests
	scripts/native-tests

sanitize: setup-check ## the native code and its tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
	scripts/sanitize $(PARTS)

sanitize-kernels: setup-check ## our kernels, and some that nobody here wrote, under the kernel sanitizer
	scripts/sanitize-kernels

sanitize-kernels-all: setup-check ## the same with all of them (not in CI: half an hour)
	scripts/sanitize-kernels --all

shuffle: setup ## the tests of all crates but CUDA's on a software Metal that reorders what Metal leaves unordered and poisons memory
	scripts/shuffle $(SEEDS)

fuzz: setup-check ## random files, command lines, shaders and calls of the C ABI for SECONDS (60) from SEED (1): docs/fuzzing.md
	scripts/fuzz $(SECONDS) $(SEED)

soak: setup-check ## the suites of SUITES, TIMES times with all cores busy: what depends on time fails (not in CI: hours)
	scripts/soak $(TIMES) $(SUITES)

# Not among the stages of `make test`, since it needs an MPI library.
distributed: setup ## collectives of several processes under mpirun (needs MPI: scripts/setup distributed)
	@scripts/setup distributed
	cargo clippy --package metal-bridge-distributed --features mpi --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --package metal-bridge-distributed --features mpi
	scripts/mpi-tests

large: setup ## operations on more than 2^31 and 2^32 elements (not in CI: half an hour, and 9 GiB of memory)
	cargo test --test ops -- --ignored --test-threads=1 tensor::large

# Both install one software Metal, built once, and apart from the one that `make install-software-metal` installs.
standalone: export QUICKLY = yes
standalone: export CARGO_TARGET_DIR := $(PRODUCTS)/standalone
standalone: setup-check ## programs of users against an installed software Metal and an installed bridge
	native/software/tests/standalone/run "$(CARGO_TARGET_DIR)/software-metal"
	tests/native/installed/run

install-software-metal: setup-software ## the software Metal by itself, without Rust: headers, libraries, pkg-config below PREFIX
	$(SOFTWARE_METAL) install

uninstall-software-metal: ## removes what install-software-metal put below PREFIX
	$(SOFTWARE_METAL) uninstall

install-bridge: setup-software $(call ON_SOFTWARE_METAL,install-software-metal) ## the bridge for C and C++, without Rust: headers, libraries, pkg-config below PREFIX
	$(BRIDGE) install

uninstall-bridge: $(call ON_SOFTWARE_METAL,uninstall-software-metal) ## removes what install-bridge put below PREFIX
	$(BRIDGE) uninstall

cuda-programs: setup-check ## C and C++ programs against an installed CUDA runtime, under sanitizers too
	crates/cudart/tests/programs/run

install-cuda-runtime: setup setup-software ## CUDA's runtime API as a library for C and C++: headers, libraries, pkg-config below PREFIX
	$(MAKE) -C crates/cudart install PREFIX="$(abspath $(PREFIX))"

uninstall-cuda-runtime: ## removes what install-cuda-runtime put below PREFIX
	$(MAKE) -C crates/cudart uninstall PREFIX="$(abspath $(PREFIX))"

foreign: setup ## compiles, runs and checks the Metal kernels of a package that nobody here wrote
	scripts/foreign-kernels $(FOREIGN)

foreign-ggml: setup-check ## ggml's own Metal backend, unchanged, against its CPU backend (not in CI: builds ggml, some 10 minutes)
	$(MAKE) -C tests/foreign/ggml run

foreign-mlx: setup-check ## MLX's kernels through metal-cpp, compiled, executed and compared (not in CI: fetches a wheel, some 10 minutes)
	$(MAKE) -C tests/foreign/mlx run

foreign-candle: setup-check ## candle's own host code and its tests, in Rust over objc2 (not in CI: some 5 minutes)
	tests/foreign/candle/run "$(or $(BUILD),/tmp/metal-bridge-foreign-candle)"

foreign-tinygrad: setup-check ## tinygrad's programs and its own tests, in Python over ctypes (not in CI: fetches packages, some 40 minutes)
	@scripts/setup tinygrad
	$(MAKE) -C tests/foreign/tinygrad run

foreign-naga: setup-check ## WGSL as naga translates it, compared with Vulkan's results (not in CI: fetches packages, some 10 minutes)
	@scripts/setup naga
	$(MAKE) -C tests/foreign/naga run

foreign-llama: setup-check ## models and quantizers through llama.cpp too, logits and bits compared (not in CI: builds llama.cpp, some 20 minutes)
	@scripts/setup llama
	$(MAKE) -C tests/foreign/llama run

foreign-torch: setup-check ## torch's samples for its own operations, through ours (not in CI: fetches 3 GB, some 20 minutes)
	$(MAKE) -C tests/foreign/torch run

foreign-openai: setup ## OpenAI's own Python client against `metal-bridge serve` (not in CI: fetches packages)
	@scripts/setup openai
	cargo build --quiet --bin metal-bridge
	$(MAKE) -C tests/foreign/openai run PROGRAM="$(PRODUCTS)/debug/metal-bridge"

page: setup ## chats on the page of `metal-bridge serve` in headless Chromium (not in CI: needs the package chromium, 400 MB)
	cargo build --quiet --bin metal-bridge
	tests/page/chat.py "$(or $(CARGO_TARGET_DIR),target)/debug/metal-bridge" $(MODEL)

bench: setup ## the benchmark tables of docs/performance.md
	cargo bench --features candle

stress: setup ## a minute of the scenario that this crate exists for, one of transfers and one of CUDA's calls from 64 threads
	cargo run --release --quiet --bin metal-bridge -- stress --seconds 60
	cargo run --release --quiet --bin metal-bridge -- stress --seconds 60 --transfers 64
	METAL_CUDART_STRESS_SECONDS=60 cargo test --release --quiet --package metal-cudart --test cuda_runtime stress

platforms: ## the demo, the tests, every clang in bare folders of Debian 12 and 13 (not in CI: needs root and debootstrap, hours)
	scripts/platforms

clean: ## removes what was built
	cargo clean
