# Tests of the software Metal's Objective-C face, included by the Makefile: framework_*.m, each a program that prints how much
# it checked. bench_framework.m measures.

OBJC_INCLUDE := $(lastword $(sort $(wildcard /usr/lib/gcc/*/*/include/objc)))
OBJC_LIBRARY := $(patsubst %/include/objc,%,$(OBJC_INCLUDE))
OBJC_LDLIBS  := -lgnustep-base -L$(OBJC_LIBRARY) -lobjc -lBlocksRuntime $(LDLIBS)
# Only GCC's objc folder may be seen: its other headers break clang.
OBJCFLAGS    := -std=gnu17 -fobjc-runtime=gcc -fblocks -fno-objc-arc -fobjc-exceptions -fexceptions \
                -fconstant-string-class=NSConstantString -D_NATIVE_OBJC_EXCEPTIONS -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 \
                -DGNU_RUNTIME=1 -O2 -g -fPIC -pthread -Wall -Wextra -I$(ROOT)/include -isystem $(BUILD)/gcc \
                -isystem /usr/include/GNUstep $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)

FRAMEWORK_OBJECTS := $(patsubst $(ROOT)/%.m,$(BUILD)/%.m.o,$(wildcard $(ROOT)/framework/*.m))
FRAMEWORK_TESTS   := $(patsubst %.m,$(BUILD)/%,$(wildcard framework_*.m))

.PHONY: test-framework bench-framework

all: $(FRAMEWORK_TESTS)

# Every program runs, whichever fails.
test: test-framework
test-framework: $(FRAMEWORK_TESTS)
	@failed=; for test in $(FRAMEWORK_TESTS); do \
		echo "== $$(basename $$test)"; \
		LSAN_OPTIONS=suppressions=leaks.supp SOFTWARE_METAL_CACHE=$(BUILD)/cache $$test || failed="$$failed $$(basename $$test)"; \
	done; if [ -n "$$failed" ]; then echo "FAILED:$$failed"; exit 1; fi

bench-framework: $(BUILD)/bench_framework
	$<

$(BUILD)/gcc/objc:
	@mkdir -p $(@D)
	ln -sfn $(OBJC_INCLUDE) $@

$(BUILD)/%.m.o: $(ROOT)/%.m | $(BUILD)/gcc/objc
	@mkdir -p $(@D)
	$(CC) $(OBJCFLAGS) -MMD -c $< -o $@

# An archive, so that the tests link as a program does: nothing may rely on objects that nobody refers to.
$(BUILD)/libsoftwaremetal.a: $(FRAMEWORK_OBJECTS) $(OBJECTS)
	@rm -f $@
	ar crs $@ $^

$(BUILD)/framework_%: $(BUILD)/tests/framework_%.m.o $(BUILD)/libsoftwaremetal.a
	$(CXX) $(CXXFLAGS) $^ $(OBJC_LDLIBS) -o $@

$(BUILD)/bench_framework: $(BUILD)/tests/bench_framework.m.o $(BUILD)/libsoftwaremetal.a
	$(CXX) $(CXXFLAGS) $^ $(OBJC_LDLIBS) -o $@

-include $(FRAMEWORK_OBJECTS:.o=.d) $(patsubst %.m,$(BUILD)/tests/%.m.d,$(wildcard framework_*.m))
