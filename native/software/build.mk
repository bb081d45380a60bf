# What the software Metal is built with and how programs are linked with it, for its own Makefile and for those of tests. They
# include this file and link $(LIBRARY), which the software Metal's Makefile makes, with $(CXX) and $(LIBRARY_LDLIBS).
#
# SOFTWARE_BUILD: where the library's products go, which several Makefiles may share. SANITIZE: sanitizers, as -fsanitize=
# takes them; SOFTWARE_SANITIZE: those of the library, if they differ. CLANG: the compiler, if the first one found will not do.
SOFTWARE := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
include $(SOFTWARE)/flags.mk
include $(SOFTWARE)/where.mk

# All rules are written in these files. Make searches its own for every header that a product depends on, which takes seconds.
MAKEFLAGS += --no-builtin-rules

# The packages in these messages have the same names on Debian and Ubuntu.
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
SOFTWARE_SANITIZE ?= $(SANITIZE)
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
# What Objective-C programs of others are compiled with.
PROGRAM_DIALECT := $(filter-out -fobjc-runtime=%,$(OBJC_DIALECT)) $(PROGRAM_RUNTIME)
# What the library and its tests are compiled with, beside the flags for their own headers.
OBJC_FLAGS := $(C_STANDARD) $(OBJC_DIALECT) -isystem $(SOFTWARE_BUILD)/gcc -isystem $(GNUSTEP_HEADERS)

LIBRARY := $(SOFTWARE_BUILD)/libSoftwareMetal.a
VERSION = 0.1.0
SHARED_LIBRARY := $(SOFTWARE_BUILD)/libSoftwareMetal.so.$(VERSION)
LIBRARY_LDLIBS := -L$(GCC_OBJC) $(LIBRARIES:%=-l%)
# With sanitizers objects are large, and GNU's linker takes seconds for them.
LLD := $(if $(SANITIZE),$(wildcard /usr/lib/llvm-$(CLANG_MAJOR)/bin/ld.lld))
LIBRARY_LDLIBS += $(if $(LLD),-fuse-ld=lld)

# The Makefile that includes this file sets the default goal.
.DEFAULT_GOAL := all

# precompiled.h and precompiled_objc.h, once for each choice of flags: what includes one sets PRECOMPILED_FLAGS for its target. It
# is compiled again if a header or a flag changes.
%/precompiled.pch: $(SOFTWARE)/precompiled.h $(SOFTWARE)/flags.mk %/where
	@mkdir -p $(@D)
	$(CXX) $(filter-out -MMD -MP,$(PRECOMPILED_FLAGS)) -MD -MP -fpch-instantiate-templates -x c++-header $< -o $@

%/precompiled_objc.pch: $(SOFTWARE)/precompiled_objc.h $(SOFTWARE)/flags.mk %/where | $(SOFTWARE_BUILD)/gcc/objc
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(PRECOMPILED_FLAGS)) -MD -MP -x objective-c-header $< -o $@

# Only the objc/ of GCC's headers may be seen: its stdatomic.h breaks clang.
$(SOFTWARE_BUILD)/gcc/objc:
	@mkdir -p $(@D)
	ln -sfn $(GCC_OBJC)/include/objc $@

ifneq ($(CURDIR),$(SOFTWARE))
# The library's own Makefile knows whether the library is up to date.
.PHONY: software-metal
.PRECIOUS: $(SOFTWARE_BUILD)/lib%
$(SOFTWARE_BUILD)/lib%: software-metal
	@$(MAKE) --no-print-directory -C $(SOFTWARE) BUILD="$(SOFTWARE_BUILD)" SANITIZE="$(SOFTWARE_SANITIZE)" CLANG="$(CLANG)" $@
endif
