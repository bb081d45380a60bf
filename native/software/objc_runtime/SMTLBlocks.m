/* A blocks runtime, after Clang's Block Implementation Specification: the four functions that the compiler and
 * Block_copy call. Linux has two, and neither will do: libBlocksRuntime does not retain the objects that a block
 * captures, which would be gone when a completion handler runs; GNUstep's, which takes precedence in some link orders,
 * does not recognise the blocks of a program that links both, and leaves them on the stack. Defined in the program
 * itself, these come before either, in any link order. */
#include "SMTLBlocks.h"

#import <Foundation/Foundation.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Flags of blocks and of __block variables. The reference count is in the low bits of the same word. */
#define REFERENCE_MASK 0xffff
#define NEEDS_FREE (1 << 24)
#define HAS_COPY_DISPOSE (1 << 25)
#define IS_GLOBAL (1 << 28)

/* Kinds of captured values, as the compiler passes them to _Block_object_assign and _Block_object_dispose. */
#define FIELD_IS_OBJECT 3
#define FIELD_IS_BLOCK 7
#define FIELD_IS_BYREF 8
#define FIELD_KINDS 15
#define BYREF_CALLER 128 /* the variable is inside a __block variable: not retained */

typedef struct {
    unsigned long reserved;
    unsigned long size;
    void (*copy)(void *destination, const void *source);
    void (*dispose)(const void *block);
} block_descriptor;

typedef struct {
    void *isa;
    int32_t flags;
    int32_t reserved;
    void (*invoke)(void);
    const block_descriptor *descriptor;
} block_layout;

/* A __block variable; its value follows. */
typedef struct byref {
    void *isa;
    struct byref *forwarding; /* the copy that counts: itself until it moves to the heap */
    int32_t flags;
    uint32_t size;
    void (*keep)(struct byref *destination, struct byref *source);
    void (*destroy)(struct byref *variable);
} byref;

extern void *_NSConcreteMallocBlock[];

void *_Block_copy(const void *source);
void _Block_release(const void *block);
void _Block_object_assign(void *destination, const void *object, const int kind);
void _Block_object_dispose(const void *object, const int kind);

/* Whether the word has the flag. Other threads may count references in the word meanwhile. */
static bool has(const int32_t *flags, int32_t flag) { return (__atomic_load_n(flags, __ATOMIC_RELAXED) & flag) != 0; }

/* Adds `step` to the count and returns the count. A count that has reached its greatest value stays there, since nobody
 * knows any more how many references there are: such a block or variable is never freed. */
static int32_t count_references(int32_t *flags, int32_t step) {
    int32_t before = __atomic_load_n(flags, __ATOMIC_RELAXED);
    do {
        if ((before & REFERENCE_MASK) == REFERENCE_MASK) return REFERENCE_MASK;
    } while (!__atomic_compare_exchange_n(flags, &before, before + step, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return (before + step) & REFERENCE_MASK;
}

static void add_reference(int32_t *flags) { count_references(flags, 1); }

/* Whether that was the last reference. */
static bool drop_reference(int32_t *flags) { return count_references(flags, -1) == 0; }

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL) [NSException raise:NSMallocException format:@"no memory for a block of %zu bytes", size];
    return memory;
}

void *_Block_copy(const void *source) {
    block_layout *block = (block_layout *)source;
    if (block == NULL || has(&block->flags, IS_GLOBAL)) return block;
    if (has(&block->flags, NEEDS_FREE)) {
        add_reference(&block->flags);
        return block;
    }
    block_layout *copy = allocate(block->descriptor->size);
    memcpy(copy, block, block->descriptor->size);
    copy->isa = _NSConcreteMallocBlock;
    copy->flags = (block->flags & ~REFERENCE_MASK) | NEEDS_FREE | 1;
    if (copy->flags & HAS_COPY_DISPOSE) copy->descriptor->copy(copy, block);
    return copy;
}

void _Block_release(const void *source) {
    block_layout *block = (block_layout *)source;
    if (block == NULL || !has(&block->flags, NEEDS_FREE) || !drop_reference(&block->flags)) return;
    if (has(&block->flags, HAS_COPY_DISPOSE)) block->descriptor->dispose(block);
    free(block);
}

/* Moves the variable to the heap at the first call. Returns its address there, with one more reference. */
static byref *copy_byref(byref *source) {
    byref *variable = source->forwarding;
    if (has(&variable->flags, NEEDS_FREE)) {
        add_reference(&variable->flags);
        return variable;
    }
    byref *copy = allocate(source->size);
    memcpy(copy, source, source->size);
    copy->isa = NULL;
    copy->forwarding = copy;
    /* One reference for the block, one for the function that declared the variable. */
    copy->flags = (source->flags & ~REFERENCE_MASK) | NEEDS_FREE | 2;
    source->forwarding = copy;
    if (source->flags & HAS_COPY_DISPOSE) source->keep(copy, source);
    return copy;
}

static void release_byref(const byref *source) {
    byref *variable = source->forwarding;
    if (!has(&variable->flags, NEEDS_FREE) || !drop_reference(&variable->flags)) return;
    if (has(&variable->flags, HAS_COPY_DISPOSE)) variable->destroy(variable);
    free(variable);
}

void _Block_object_assign(void *destination, const void *object, const int kind) {
    const void *captured = object;
    if (!(kind & BYREF_CALLER)) {
        switch (kind & FIELD_KINDS) {
        case FIELD_IS_OBJECT: captured = [(id)object retain]; break;
        case FIELD_IS_BLOCK: captured = _Block_copy(object); break;
        case FIELD_IS_BYREF: captured = copy_byref((byref *)object); break;
        }
    }
    memcpy(destination, &captured, sizeof captured);
}

void _Block_object_dispose(const void *object, const int kind) {
    if (kind & BYREF_CALLER) return;
    switch (kind & FIELD_KINDS) {
    case FIELD_IS_OBJECT: [(id)object release]; break;
    case FIELD_IS_BLOCK: _Block_release(object); break;
    case FIELD_IS_BYREF: release_byref(object); break;
    }
}

void *SMTLCopyBlock(const void *block) { return _Block_copy(block); }
