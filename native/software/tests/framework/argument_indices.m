/* Which index of an argument buffer stands for which byte: "Indexing argument buffers" in Apple's words. */
#include "framework_kernels.h"

/* --- What an encoder and reflection say --------------------------------------------------------------------------- */

/* One argument: "index>offset" of a pointer, with its structure's size behind it, "index=offset" of constant data. */
static void add_argument(NSMutableString *text, NSUInteger index, BOOL pointer, size_t offset, size_t target) {
    [text
        appendFormat:@"%@%lu%c%zu", [text length] == 0 ? @"" : @" ", (unsigned long)index, pointer ? '>' : '=', offset];
    if (target > 0) [text appendFormat:@"[%zu]", target];
}

static void encode_argument(NSMutableString *text, id<MTLArgumentEncoder> encoder, NSUInteger index,
                            id<MTLBuffer> arguments) {
    uint64_t *words = [arguments contents];
    memset(words, 0, [arguments length]);
    @try {
        [encoder setBuffer:arguments offset:0 atIndex:index];
    } @catch (NSException *exception) {
        if ([[exception reason] rangeOfString:@"of another type"].location != NSNotFound)
            add_argument(text, index, NO, (size_t)((char *)[encoder constantDataAtIndex:index] - (char *)words), 0);
        return;
    }
    size_t written = 0;
    while (words[written] == 0) written++;
    CHECK(words[written] == [arguments gpuAddress]);
    id<MTLArgumentEncoder> inner = [encoder newArgumentEncoderForBufferAtIndex:index];
    add_argument(text, index, YES, written * sizeof *words, [inner encodedLength]);
    [inner release];
}

static NSString *encoded(id<MTLArgumentEncoder> encoder, NSUInteger beyond) {
    NSMutableString *text = [NSMutableString string];
    if (encoder == nil) return text;
    id<MTLBuffer> arguments = [device newBufferWithLength:[encoder encodedLength] + 8 options:0];
    [encoder setArgumentBuffer:arguments offset:0];
    for (NSUInteger index = 0; index < beyond; index++) encode_argument(text, encoder, index, arguments);
    [arguments release];
    return text;
}

static void add_reflected(NSMutableString *text, MTLType *type, NSUInteger index, size_t offset) {
    if ([type dataType] == MTLDataTypeStruct) {
        for (MTLStructMember *member in [(MTLStructType *)type members]) {
            MTLType *inside = [member structType];
            inside = inside != nil ? inside : [member arrayType];
            inside = inside != nil ? inside : [member pointerType];
            add_reflected(text, inside, index + [member argumentIndex], offset + [member offset]);
        }
    } else if ([type dataType] == MTLDataTypeArray) {
        MTLArrayType *array = (MTLArrayType *)type;
        MTLType *inside = [array elementStructType];
        inside = inside != nil ? inside : [array elementArrayType];
        inside = inside != nil ? inside : [array elementPointerType];
        for (NSUInteger i = 0; i < [array arrayLength]; i++)
            add_reflected(text, inside, index + i * [array argumentIndexStride], offset + i * [array stride]);
    } else {
        const BOOL pointer = [type dataType] == MTLDataTypePointer;
        const BOOL whole = pointer && [(MTLPointerType *)type elementStructType] != nil;
        add_argument(text, index, pointer, offset, whole ? [(MTLPointerType *)type dataSize] : 0);
    }
}

static id<MTLLibrary> library_of(NSString *declarations) {
    NSError *error = nil;
    NSString *text = [@"#include <metal_stdlib>\nusing namespace metal;\n" stringByAppendingString:declarations];
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    CHECK(library != nil);
    if (library == nil) fprintf(stderr, "%s\n%s\n", [text UTF8String], [[error localizedDescription] UTF8String]);
    return library;
}

static BOOL is_same(NSString *found, NSString *expected, NSString *declarations) {
    if (![found isEqual:expected]) {
        fprintf(stderr, "%s\nfound:    %s\nexpected: %s\n", [declarations UTF8String], [found UTF8String],
                [expected UTF8String]);
    }
    return [found isEqual:expected];
}

static void check_kernel(id<MTLLibrary> library, NSString *name, NSString *expected, NSString *declarations) {
    @autoreleasepool {
        id<MTLFunction> function = [library newFunctionWithName:name];
        MTLAutoreleasedArgument argument = nil;
        id<MTLArgumentEncoder> encoder = nil;
        @try {
            encoder = [function newArgumentEncoderWithBufferIndex:0 reflection:&argument];
        } @catch (NSException *exception) {
            fprintf(stderr, "%s\n", [[exception reason] UTF8String]);
        }
        CHECK(is_same(encoded(encoder, 700), expected, declarations));
        NSMutableString *reflected = [NSMutableString string];
        add_reflected(reflected, [argument bufferStructType], 0, 0);
        CHECK(is_same(reflected, expected, declarations));
        [encoder release];
        [function release];
    }
}

static void check_no_encoder(id<MTLLibrary> library, NSString *name) {
    id<MTLFunction> function = [library newFunctionWithName:name];
    CHECK_RAISES("not a structure of plain members", [function newArgumentEncoderWithBufferIndex:0]);
    [function release];
}

/* --- Chosen declarations ------------------------------------------------------------------------------------------ */

#define PAIR "struct A { device int *a; device int *b; }; "
#define SPARSE "struct A { device int *a [[id(1)]]; device int *b [[id(3)]]; }; "

static void test_chosen(void) {
    static const struct {
        const char *declarations, *expected;
    } cases[] = {
        {PAIR "struct T { A x; A y; };", "0>0 1>8 2>16 3>24"},
        {PAIR "struct T { A x; device int *z; };", "0>0 1>8 2>16"},
        {PAIR "struct T { A x[2]; device int *z; };", "0>0 1>8 2>16 3>24 4>32"},
        {PAIR "struct B { A x; int i; }; struct T { B b; B c [[id(7)]]; int j; };",
         "0>0 1>8 2=16 7>24 8>32 9=40 10=48"},
        /* The two examples of Apple's page. */
        {SPARSE "struct T { A x; A y; };", "1>0 3>8 5>16 7>24"},
        {"struct M { device int *tex; float4 uv; };\n"
         "struct T { float4 diffuse; array<device int *, 3> one; device int *two[3]; M materials[3];\n"
         "    int constants[4] [[id(20)]]; };",
         "0=0 1>16 2>24 3>32 4>40 5>48 6>56 7>64 8=80 9>96 10=112 11>128 12=144 20=160 21=164 22=168 23=172"},
        {SPARSE "struct T { array<A, 2> x [[id(2)]]; device int *z; };", "3>0 5>8 7>16 9>24 10>32"},
        {"struct T { int m[2][3]; device int *z; };", "0=0 1=4 2=8 3=12 4=16 5=20 6>24"},
        {"struct T { device int *m[2][3]; device int *z; };", "0>0 1>8 2>16 3>24 4>32 5>40 6>48"},
        {"struct T { array<array<device int *, 3>, 2> m; device int *z; };", "0>0 1>8 2>16 3>24 4>32 5>40 6>48"},
        {PAIR "struct T { array<A, 2> m[2]; device int *z; };", "0>0 1>8 2>16 3>24 4>32 5>40 6>48 7>56 8>64"},
        {PAIR "struct T { array<device A *, 2> m; array<constant A *, 1> n[2]; };",
         "0>0[16] 1>8[16] 2>16[16] 3>24[16]"},
        /* A pointer takes one index, whatever is behind it. */
        {PAIR "struct T { device array<A, 2> *p; device A *device *q; device A &r; device int *z; };",
         "0>0 1>8 2>16[16] 3>24"},
        {"struct Later; struct T { device Later *p; device void *q; device int *z; };", "0>0 1>8 2>16"},
        /* Types by another name, lengths that are computed. */
        {PAIR "using B = A; typedef A Two[2]; using Three = array<B, (1 + sizeof(short))>;\n"
              "struct T { B x; Two y; Three z; array<int, (2 > 1) ? 2 : 1> n; device Two *p; };",
         "0>0 1>8 2>16 3>24 4>32 5>40 6>48 7>56 8>64 9>72 10>80 11>88 12=96 13=100 14>104"},
        {"constant constexpr int N = 3; struct A { device int *a; int k = N, l = (N, 4); };\n"
         "struct B { A x; }; struct T { B y; device int *z; };",
         "0>0 1=8 2=12 3>16"},
        /* Another A than the one that is meant. */
        {"struct A { device int *a; device int *b; device int *c; }; namespace n { struct A { float f; }; }\n"
         "struct T { n::A x; device int *z; };",
         "0=0 1>8"},
        {"namespace n { struct A { device int *a; device int *b; }; } using namespace n;\n"
         "struct T { A x; n::A y; device int *z; };",
         "0>0 1>8 2>16 3>24 4>32"},
        {"namespace a { struct S { device int *x [[id(3)]]; device int *y [[id(4)]]; }; }\n"
         "namespace b { inline namespace c { struct S { device int *x; device int *y [[id(2)]]; }; } }\n"
         "struct T { b::S s; device int *z; };",
         "0>0 2>8 3>16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        NSString *declarations = [NSString stringWithUTF8String:cases[i].declarations];
        id<MTLLibrary> library = library_of(
            [declarations stringByAppendingString:@"\nkernel void k(constant T &t [[buffer(0)]]) { (void)t; }"]);
        check_kernel(library, @"k", [NSString stringWithUTF8String:cases[i].expected], declarations);
        [library release];
    }
}

/* A parameter's words name a structure from where the kernel stands. */
static void test_parameters_of_one_name(void) {
    NSString *declarations = @"struct M { device int *a; device int *b; };\n"
                              "namespace n { struct M { float4 q; device int *a [[id(5)]]; device int *b; }; }\n"
                              "kernel void k(constant n::M &t [[buffer(0)]]) { (void)t; }\n"
                              "kernel void l(constant ::n::M &t [[buffer(0)]]) { (void)t; }\n"
                              "namespace n { kernel void m(constant M &t [[buffer(0)]]) { (void)t; } }";
    id<MTLLibrary> library = library_of(declarations);
    check_kernel(library, @"k", @"0=0 5>16 6>24", declarations);
    check_kernel(library, @"l", @"0=0 5>16 6>24", declarations);
    /* The word alone does not say which. */
    check_no_encoder(library, [[library functionNames] lastObject]);
    [library release];
}

/* Nobody knows how many indices such a member takes, and so where those behind it are; or two have one index. */
static void test_structures_that_are_not_plain(void) {
    static const char *const members[] = {
        "struct A { device int *a; device int *b; int f() const { return 1; } }; struct T { A x; device int *z; };",
        "struct A { device int *a; }; struct B : A { device int *b; }; struct T { device int *z; B x[2]; };",
        "union A { device int *a; float f; }; struct T { A x; device int *z; };",
        "template <class P> struct A { P a; P b; }; struct T { A<device int *> x; device int *z; };",
        "struct A { device int *a; int k : 3; }; struct B { A x; }; struct T { B y; device int *z; };",
        "struct T { device int *x [[id(4)]]; device int *y [[id(4)]]; };",
        "struct T { array<device int *, 4> x [[id(2)]]; float y [[id(5)]]; };",
        "struct A { device int *a; device int *b; }; struct T { float y [[id(3)]]; A x [[id(2)]]; };",
        /* In the gaps of a structure: Apple's page leaves open whether they are free. */
        SPARSE "struct T { A x; float y [[id(2)]]; };",
        SPARSE "struct T { float y; A x [[id(0)]]; };",
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        NSString *declarations = [NSString stringWithUTF8String:members[i]];
        id<MTLLibrary> library = library_of(
            [declarations stringByAppendingString:@"\nkernel void k(constant T &t [[buffer(0)]]) { (void)t; }"]);
        check_no_encoder(library, @"k");
        [library release];
    }
    /* A pointer to one takes one index. */
    NSString *pointer =
        @"struct A { device int *a; int f() const { return 1; } }; struct T { device A *x; device int *z; };\n"
         "kernel void k(constant T &t [[buffer(0)]]) { (void)t; }";
    id<MTLLibrary> library = library_of(pointer);
    check_kernel(library, @"k", @"0>0 1>8", pointer);
    [library release];
}

static void test_many_members(void) {
    NSMutableString *declarations = [NSMutableString stringWithString:@"struct T {"],
                    *expected = [NSMutableString string];
    for (unsigned i = 0; i < 600; i++) {
        [declarations appendFormat:@" device int *m%u;", i];
        add_argument(expected, i, YES, 8 * i, 0);
    }
    [declarations appendString:@" }; kernel void k(constant T &t [[buffer(0)]]) { (void)t; }"];
    id<MTLLibrary> library = library_of(declarations);
    check_kernel(library, @"k", expected, @"T of 600 pointers");
    [library release];
}

static void test_array_reflection(void) {
    id<MTLLibrary> library = library_of(
        @"struct A { device int *a [[id(1)]]; float f [[id(3)]]; }; struct P { A in; }; struct D { float f[2]; };\n"
         "struct T { A m[2][3]; device P *p; device D *d; };\nkernel void k(constant T &t [[buffer(0)]]) { (void)t; }");
    id<MTLBufferBinding> binding =
        (id<MTLBufferBinding>)[[[library reflectionForFunctionWithName:@"k"] bindings] objectAtIndex:0];
    MTLStructType *structure = [binding bufferStructType];
    MTLArrayType *rows = [[structure memberByName:@"m"] arrayType], *row = [rows elementArrayType];
    CHECK([rows arrayLength] == 2 && [rows stride] == 48 && [rows argumentIndexStride] == 12);
    CHECK([rows elementType] == MTLDataTypeArray && [row elementType] == MTLDataTypeStruct);
    CHECK([row arrayLength] == 3 && [row stride] == 16 && [row argumentIndexStride] == 4);
    CHECK([[structure memberByName:@"p"] argumentIndex] == 24);
    CHECK([[[structure memberByName:@"p"] pointerType] elementIsArgumentBuffer]);
    CHECK(![[[structure memberByName:@"d"] pointerType] elementIsArgumentBuffer]);
    [library release];
}

/* --- Generated declarations --------------------------------------------------------------------------------------- */

#define MOST_ARGUMENTS 48

typedef struct {
    size_t count, size, alignment, indices;
    struct {
        size_t index, offset, target;
        BOOL pointer;
    } arguments[MOST_ARGUMENTS];
} model;

static uint64_t random_state;

static unsigned below(unsigned limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % limit;
}

static size_t aligned(size_t size, size_t alignment) { return (size + alignment - 1) / alignment * alignment; }

/* A member's type, and how it is spelled: a scalar, a vector, a pointer or one of the structures so far. */
static model choose_base(const model *structures, unsigned made, NSString **spelling) {
    const unsigned kind = below(made == 0 ? 3 : 6), which = made == 0 ? 0 : below(made);
    model base = {.count = 1, .size = 8, .alignment = 8, .indices = 1};
    if (kind == 0) {
        *spelling = @"int";
        base.size = base.alignment = 4;
    } else if (kind == 1) {
        *spelling = @"float4";
        base.size = base.alignment = 16;
    } else if (kind == 2) {
        *spelling = @"device int *";
        base.arguments[0].pointer = YES;
    } else if (kind == 3) {
        *spelling = [NSString stringWithFormat:@"constant S%u *", which];
        base.arguments[0].pointer = YES;
        base.arguments[0].target = structures[which].size;
    } else {
        *spelling = [NSString stringWithFormat:@"S%u", which];
        base = structures[which];
    }
    return base;
}

/* Makes a member of `structure` that may be an array, even of arrays, and may say its index. */
static NSString *add_member(model *structure, unsigned number, const model *structures, unsigned made) {
    NSString *spelling = nil, *lengths = @"", *attribute = @"";
    const model base = choose_base(structures, made, &spelling);
    unsigned elements = 1;
    for (unsigned dimensions = below(3); dimensions > 0; dimensions--) {
        const unsigned length = 1 + below(3);
        elements *= length;
        if (below(2) == 0)
            spelling = [NSString stringWithFormat:@"array<%@, %u>", spelling, length];
        else
            lengths = [lengths stringByAppendingFormat:@"[%u]", length];
    }
    if (structure->count + elements * base.count > MOST_ARGUMENTS) return @"";
    if (below(4) == 0) {
        structure->indices += below(3);
        attribute = [NSString stringWithFormat:@" [[id(%zu)]]", structure->indices];
    }
    structure->size = aligned(structure->size, base.alignment);
    for (unsigned i = 0; i < elements * base.count; i++) {
        const size_t element = i / base.count, at = structure->count++;
        structure->arguments[at] = base.arguments[i % base.count];
        structure->arguments[at].index += structure->indices + element * base.indices;
        structure->arguments[at].offset += structure->size + element * base.size;
    }
    structure->indices += elements * base.indices;
    structure->size += elements * base.size;
    structure->alignment = MAX(structure->alignment, base.alignment);
    return [NSString stringWithFormat:@" %@ m%u%@%@;", spelling, number, lengths, attribute];
}

static void test_generated(void) {
    enum {
        STRUCTURES = 12
    };
    for (random_state = 1; random_state <= 4;) {
        const uint64_t seed = random_state;
        model structures[STRUCTURES];
        NSMutableString *declarations = [NSMutableString string];
        for (unsigned i = 0; i < STRUCTURES; i++) {
            structures[i] = (model){.alignment = 1};
            [declarations appendFormat:@"struct S%u {", i];
            for (unsigned number = 0, members = 1 + below(4); number < members || structures[i].count == 0; number++)
                [declarations appendString:add_member(&structures[i], number, structures, i)];
            structures[i].size = aligned(structures[i].size, structures[i].alignment);
            [declarations appendFormat:@" };\nkernel void k%u(constant S%u &s [[buffer(0)]]) { (void)s; }\n", i, i];
        }
        id<MTLLibrary> library = library_of(declarations);
        for (unsigned i = 0; i < STRUCTURES; i++) {
            NSMutableString *expected = [NSMutableString string];
            for (size_t k = 0; k < structures[i].count; k++) {
                add_argument(expected, structures[i].arguments[k].index, structures[i].arguments[k].pointer,
                             structures[i].arguments[k].offset, structures[i].arguments[k].target);
            }
            check_kernel(library, [NSString stringWithFormat:@"k%u", i], expected,
                         [NSString stringWithFormat:@"S%u of %@", i, declarations]);
        }
        [library release];
        random_state = seed + 1;
    }
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_chosen);
        RUN(test_parameters_of_one_name);
        RUN(test_structures_that_are_not_plain);
        RUN(test_many_members);
        RUN(test_array_reflection);
        RUN(test_generated);
        [queue release];
    }
    return checks_report();
}
