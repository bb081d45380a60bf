/* Consecutive blits that do not depend on each other: together they can be divided among threads even if each alone is
 * too small. */
#ifndef SMTL_BLIT_GROUP_H
#define SMTL_BLIT_GROUP_H

#include "engine/blit.h"

#define SMTL_BLIT_GROUP_CAPACITY 512

/* Addresses from `begin` to `end`; empty if they are equal. */
typedef struct {
    uintptr_t begin;
    uintptr_t end;
} smtl_span;

typedef struct {
    size_t count;
    size_t size; /* bytes of all of them */
    /* Around all that they read, and all that they write. */
    smtl_span read;
    smtl_span written;
    smtl_blit blits[SMTL_BLIT_GROUP_CAPACITY];
} smtl_blit_group;

/* Makes it empty. The blits need not be initialised. */
void smtl_blit_group_clear(smtl_blit_group *group);
/* Adds a blit (`before` is filled in). First executes the group if the blit might depend on it or the group is full. */
void smtl_blit_group_add(smtl_blit_group *group, smtl_blit blit);
/* Executes the blits; the group is empty then. */
void smtl_blit_group_run(smtl_blit_group *group);

#endif
