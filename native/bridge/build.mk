# How the bridge is compiled, for its own Makefile and for that of its tests, which include this file after they have said where
# products go (BUILD), which sanitizers (SANITIZE) and, on Linux, where the software Metal's go (SOFTWARE_BUILD). They link
# $(BRIDGE_OBJECTS) with $(METAL) and $(METAL_LDLIBS) by $(CXX).
#
# The paths of sources begin as this file's does: Objective-C objects hold the path that the compiler was given.
BRIDGE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
NATIVE := $(abspath $(BRIDGE)/..)
include $(NATIVE)/software/where.mk

ifeq ($(shell uname),Darwin)
CC = clang
CXX = clang++
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
OBJC_FLAGS = -std=gnu17 -fno-objc-arc -fblocks -fobjc-exceptions
METAL =
METAL_KIND = apple
METAL_LDLIBS = -framework Metal -framework MetalPerformanceShaders -framework MetalPerformanceShadersGraph \
    -framework Foundation -framework CoreGraphics
else
include $(NATIVE)/software/build.mk
METAL := $(LIBRARY)
METAL_KIND = software_metal
METAL_LDLIBS := $(LIBRARY_LDLIBS)
METAL_INCLUDES = -I$(SOFTWARE)/include
# A Mac has modules for what this precompiles.
OBJC_HEADERS := $(BUILD)/precompiled_objc.pch
PRECOMPILED_OBJC := -include-pch $(OBJC_HEADERS)
$(OBJC_HEADERS): PRECOMPILED_FLAGS = $(OBJCFLAGS) $(METAL_INCLUDES)
STACK_PROBES = $(filter -fstack%,$(NATIVE_FLAGS))
endif

OPTIMIZE ?= -O2 -g1
COMMON = $(OPTIMIZE) $(STACK_PROBES) -Wall -Wextra -fPIC -pthread -MMD -MP $(SANITIZE_FLAGS)
CFLAGS = $(COMMON) -std=gnu17
OBJCFLAGS = $(OBJC_FLAGS) $(COMMON)
INCLUDES = -I$(NATIVE)/include $(METAL_INCLUDES)
# The bridge includes its own headers by folder and name.
BRIDGE_INCLUDES = -I$(BRIDGE) $(INCLUDES)

# A folder for each noun, and one for what differs between the Metals.
BRIDGE_SOURCES := $(foreach folder,* platform/$(METAL_KIND),$(wildcard $(BRIDGE)/$(folder)/*.c $(BRIDGE)/$(folder)/*.m))
TRANSFER_SOURCE := $(BUILD)/generated/transfer_source.c
BRIDGE_OBJECTS := $(BRIDGE_SOURCES:$(BRIDGE)/%=$(BUILD)/bridge/%.o) $(TRANSFER_SOURCE).o

$(TRANSFER_SOURCE): $(BRIDGE)/memory/transfer.metal $(NATIVE)/embed_text.sh
	@mkdir -p $(@D)
	sh $(NATIVE)/embed_text.sh $< mtbi_transfer_source $@

$(TRANSFER_SOURCE).o: $(TRANSFER_SOURCE)
	$(CC) $(CFLAGS) -c $< -o $@

$(BUILD)/bridge/%.c.o: $(BRIDGE)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BRIDGE_INCLUDES) -c $< -o $@

$(BUILD)/bridge/%.m.o: $(BRIDGE)/%.m $(OBJC_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(OBJCFLAGS) $(PRECOMPILED_OBJC) $(BRIDGE_INCLUDES) -c $< -o $@

$(BRIDGE_OBJECTS): $(BUILD)/where
-include $(BRIDGE_OBJECTS:.o=.d)

# The Makefile that includes this file sets the default goal.
.DEFAULT_GOAL := all
