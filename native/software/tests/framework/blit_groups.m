/* Which blits are executed together: those that have nothing to do with each other. */
#include "framework/command/SMTLBlitGroup.h"
#include "framework_test.h"

enum {
    LENGTH = 64,
    PIECE = 16
};

static smtl_blit_group group;
static uint8_t a[LENGTH], b[LENGTH], c[LENGTH];

static void copy(const uint8_t *from, uint8_t *to) {
    smtl_blit_group_add(&group, (smtl_blit){.to = to, .from = from, .size = PIECE});
}

static void fill(uint8_t *to, uint8_t value) {
    smtl_blit_group_add(&group, (smtl_blit){.to = to, .size = PIECE, .value = value});
}

/* Two blits that have nothing to do with each other, and wait. */
static void begin(void) {
    smtl_blit_group_clear(&group);
    memset(a, 1, LENGTH);
    memset(b, 2, LENGTH);
    memset(c, 3, LENGTH);
    copy(a + PIECE, b + PIECE);
    fill(b + 2 * PIECE, 4);
    CHECK(group.count == 2 && group.size == 2 * PIECE && all_bytes(b, LENGTH, 2));
}

/* They have been executed before the one that was added, which waits. */
static void check_apart(void) {
    CHECK(group.count == 1 && group.size == PIECE && group.blits[0].before == 0);
    CHECK(all_bytes(b + PIECE, PIECE, 1) && all_bytes(b + 2 * PIECE, PIECE, 4));
}

static void check_together(void) {
    CHECK(group.count == 3 && group.size == 3 * PIECE && group.blits[2].before == 2 * PIECE);
    CHECK(all_bytes(b + PIECE, 2 * PIECE, 2));
}

static void test_what_depends_waits(void) {
    begin();
    copy(b + PIECE + 1, c); /* reads what is written */
    check_apart();
    begin();
    copy(c, b + 3 * PIECE - 1); /* overwrites it */
    check_apart();
    begin();
    fill(b, 5);
    check_together();
    fill(b + 1, 6);
    CHECK(group.count == 1 && all_bytes(b, PIECE, 5));
    begin();
    fill(a + 2 * PIECE - 1, 5); /* overwrites what is read */
    check_apart();
}

static void test_what_does_not_depend(void) {
    begin();
    copy(a + PIECE, c); /* reads what is read */
    check_together();
    begin();
    copy(c, b); /* up to what is written, */
    check_together();
    begin();
    copy(c, b + 3 * PIECE); /* from there on, */
    check_together();
    begin();
    fill(a, 5); /* and up to what is read */
    check_together();
    smtl_blit_group_run(&group);
    CHECK(group.count == 0 && group.size == 0);
    CHECK(all_bytes(a, PIECE, 5) && all_bytes(b + PIECE, PIECE, 1) && all_bytes(b + 2 * PIECE, PIECE, 4));
}

static void test_full(void) {
    static uint8_t many[SMTL_BLIT_GROUP_CAPACITY + 1];
    smtl_blit_group_clear(&group);
    for (size_t i = 0; i <= SMTL_BLIT_GROUP_CAPACITY; i++) {
        CHECK(group.count == i);
        smtl_blit_group_add(&group, (smtl_blit){.to = many + i, .size = 1, .value = 7});
    }
    CHECK(group.count == 1 && many[SMTL_BLIT_GROUP_CAPACITY] == 0);
    smtl_blit_group_run(&group);
    CHECK(all_bytes(many, sizeof many, 7));
}

int main(void) {
    @autoreleasepool {
        RUN(test_what_depends_waits);
        RUN(test_what_does_not_depend);
        RUN(test_full);
    }
    return checks_report();
}
