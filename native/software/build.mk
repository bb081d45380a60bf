# How the software Metal becomes a library, for the Makefiles that install it or link it with tests. They include this file
# and link $(LIBRARY) with $(CXX) and $(LIBRARY_LDLIBS).
#
# SOFTWARE_BUILD: where the products go, which several Makefiles may share. SANITIZE: sanitizers, as -fsanitize= takes them.
# CLANG: the compiler, where the first that is found will not do.
SOFTWARE := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
include $(SOFTWARE)/flags.mk

# Debian and Ubuntu name the packages in these messages alike.
CLANG ?= $(firstword $(foreach name,$(CLANG_NAMES),$(if $(shell command -v $(name)),$(name))))
CLANG := $(CLANG)
CLANG_MAJOR := $(shell $(or $(CLANG),false) -dumpversion 2>/dev/null | cut -d. -f1)
ifneq ($(shell test "0$(CLANG_MAJOR)" -ge $(OLDEST_CLANG) && echo new),new)
$(error no clang of version $(OLDEST_CLANG) or newer$(if $(CLANG), ($(CLANG) is $(or $(CLANG_MAJOR),none))): apt-get install clang-19)
endif
GNUSTEP_HEADERS := $(patsubst %/Foundation/Foundation.h,%,$(firstword $(wildcard $(foreach folder, \
    /usr/include/GNUstep /usr/local/include/GNUstep /usr/include/*/GNUstep,$(folder)/Foundation/Foundation.h))))
ifeq ($(GNUSTEP_HEADERS),)
$(error no GNUstep headers (Foundation/Foundation.h): apt-get install libgnustep-base-dev)
endif
GCC_OBJC := $(patsubst %/include/objc/objc.h,%,$(lastword $(shell ls -v /usr/lib/gcc/*/*/include/objc/objc.h 2>/dev/null)))
ifeq ($(GCC_OBJC),)
$(error no Objective-C runtime of GCC (objc/objc.h): apt-get install gobjc)
endif
ifeq ($(wildcard /usr/include/Block.h /usr/local/include/Block.h),)
$(error no blocks runtime (Block.h): apt-get install libblocksruntime-dev)
endif

CC := $(CLANG)
CXX := $(CLANG) --driver-mode=g++
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
# The products do not tell where they were built.
LIBRARY_FLAGS = $(NATIVE_FLAGS) $(SANITIZE_FLAGS) -I$(SOFTWARE)/include -I$(SOFTWARE) -ffile-prefix-map=$(SOFTWARE)=. \
                -ffile-prefix-map=$(SOFTWARE_BUILD)=. -MMD -MP
# What Objective-C programs are compiled with, beside the flags for their own headers.
OBJC_FLAGS := $(C_STANDARD) $(OBJC_DIALECT) -isystem $(SOFTWARE_BUILD)/gcc -isystem $(GNUSTEP_HEADERS)

SOURCES := $(filter-out $(SOFTWARE)/tests/%,$(wildcard $(SOFTWARE)/*/*.c $(SOFTWARE)/*/*.cpp $(SOFTWARE)/*/*.m))
LIBRARY_OBJECTS := $(SOURCES:$(SOFTWARE)/%=$(SOFTWARE_BUILD)/%.o) $(SOFTWARE_BUILD)/headers.c.o
LIBRARY := $(SOFTWARE_BUILD)/libSoftwareMetal.a
LIBRARY_LDLIBS := -L$(GCC_OBJC) $(LIBRARIES:%=-l%)

# Whoever includes this file has a default goal of their own.
.DEFAULT_GOAL := all

# An archive, so that a program takes from it what it refers to.
$(LIBRARY): $(LIBRARY_OBJECTS)
	@rm -f $@
	ar crs $@ $^

# Only the objc/ of GCC's headers may be seen: its stdatomic.h breaks clang.
$(SOFTWARE_BUILD)/gcc/objc:
	@mkdir -p $(@D)
	ln -sfn $(GCC_OBJC)/include/objc $@

$(SOFTWARE_BUILD)/%.m.o: $(SOFTWARE)/%.m | $(SOFTWARE_BUILD)/gcc/objc
	@mkdir -p $(@D)
	$(CC) $(OBJC_FLAGS) $(LIBRARY_FLAGS) -c $< -o $@

$(SOFTWARE_BUILD)/%.cpp.o: $(SOFTWARE)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXX_STANDARD) $(LIBRARY_FLAGS) -c $< -o $@

$(SOFTWARE_BUILD)/%.c.o: $(SOFTWARE)/%.c
	@mkdir -p $(@D)
	$(CC) $(C_STANDARD) $(LIBRARY_FLAGS) -c $< -o $@

$(SOFTWARE_BUILD)/headers.c.o: $(SOFTWARE_BUILD)/headers.c
	$(CC) $(C_STANDARD) $(LIBRARY_FLAGS) -c $< -o $@

# The compiler of kernels is the one that compiled the library, where it is there.
$(SOFTWARE_BUILD)/headers.c: $(shell find $(SOFTWARE)/msl/include -type f) $(SOFTWARE)/embed_headers.sh
	@mkdir -p $(@D)
	sh $(SOFTWARE)/embed_headers.sh $(SOFTWARE)/msl/include $@ "$$(command -v $(CC))"

-include $(LIBRARY_OBJECTS:.o=.d)
