#include "SMTLBlitGroup.h"

#include "sanitizer/sanitizer.h"
#include <stdbool.h>

static smtl_span span_of(const uint8_t *bytes, size_t size) {
    return bytes == NULL ? (smtl_span){0, 0} : (smtl_span){(uintptr_t)bytes, (uintptr_t)bytes + size};
}

static bool meets(smtl_span a, smtl_span b) { return a.begin < b.end && b.begin < a.end; }

/* The smallest span around both. */
static smtl_span join(smtl_span a, smtl_span b) {
    if (a.begin == a.end || b.begin == b.end) return a.begin == a.end ? b : a;
    return (smtl_span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

void smtl_blit_group_clear(smtl_blit_group *group) {
    group->count = 0;
    group->size = 0;
    group->read = group->written = (smtl_span){0, 0};
}

void smtl_blit_group_add(smtl_blit_group *group, smtl_blit blit) {
    const smtl_span read = span_of(blit.from, blit.size);
    const smtl_span written = span_of(blit.to, blit.size);
    if (group->count == SMTL_BLIT_GROUP_CAPACITY || meets(read, group->written) || meets(written, group->written) ||
        meets(written, group->read)) {
        smtl_blit_group_run(group);
    }
    blit.before = group->size;
    group->blits[group->count++] = blit;
    group->size += blit.size;
    group->read = join(group->read, read);
    group->written = join(group->written, written);
}

/* What the sanitizer knows of the bytes moves with them. */
static void tell_sanitizer(const smtl_blit *blit) {
    if (blit->from == NULL)
        smtl_sanitizer_filled(blit->to, blit->size);
    else
        smtl_sanitizer_copied(blit->to, blit->from, blit->size);
}

void smtl_blit_group_run(smtl_blit_group *group) {
    smtl_blits_run(group->blits, group->count);
    for (size_t i = 0; i < group->count && smtl_sanitizer_enabled(); i++) tell_sanitizer(&group->blits[i]);
    smtl_blit_group_clear(group);
}
