/* What the sanitizer of the software Metal has found, and what its profiler has counted. */
#include "metal_bridge.h"

#include <SoftwareMetal/SoftwareMetal.h>

#include <stdlib.h>

_Static_assert(MTB_SANITIZE_BOUNDS == SMTL_SANITIZE_BOUNDS && MTB_SANITIZE_RACE == SMTL_SANITIZE_RACE &&
                   MTB_SANITIZE_UNINITIALIZED == SMTL_SANITIZE_UNINIT,
               "checks have one numbering");
_Static_assert((int)MTB_REPORT_BOUNDS == SMTL_REPORT_BOUNDS && (int)MTB_REPORT_RACE == SMTL_REPORT_RACE &&
                   (int)MTB_REPORT_UNINITIALIZED == SMTL_REPORT_UNINITIALIZED &&
                   (int)MTB_REPORT_BARRIER == SMTL_REPORT_BARRIER && (int)MTB_REPORT_DEADLOCK == SMTL_REPORT_DEADLOCK,
               "kinds of reports have one numbering");

/* What a caller gets, and what owns its strings. */
typedef struct owned_report {
    mtb_report report;
    smtl_report *source;
} owned_report;

static mtb_size size_from(const uint32_t position[3]) { return (mtb_size){position[0], position[1], position[2]}; }

static mtb_reported_access access_from(const smtl_report_access *access) {
    return (mtb_reported_access){
        .kernel = access->kernel,
        .function = access->function,
        .file = access->file,
        .line = access->line,
        .is_write = access->write,
        .is_atomic = access->atomic,
        .is_whole_simdgroup = access->whole_simdgroup,
        .size = access->size,
        .thread_position_in_grid = size_from(access->thread_position_in_grid),
        .threadgroup_position_in_grid = size_from(access->threadgroup_position_in_grid),
        .thread_position_in_threadgroup = size_from(access->thread_position_in_threadgroup),
    };
}

uint32_t mtb_sanitizer_checks(void) { return smtl_sanitizer_checks(); }

size_t mtb_report_count(void) { return smtl_report_count(); }

mtb_report *mtb_report_copy(size_t index) {
    smtl_report *source = smtl_report_copy(index);
    owned_report *owned = source ? malloc(sizeof *owned) : NULL;
    if (!owned) {
        smtl_report_free(source);
        return NULL;
    }
    owned->source = source;
    owned->report = (mtb_report){
        .kind = (mtb_report_kind)source->kind,
        .summary = source->summary,
        .text = source->text,
        .access = access_from(&source->access),
        .has_earlier = source->has_other,
        .earlier = access_from(&source->other),
        .object = source->object,
        .argument_index = source->argument,
        .offset = source->offset,
        .length = source->length,
        .occurrences = source->occurrences,
    };
    return &owned->report;
}

void mtb_report_free(mtb_report *report) {
    owned_report *owned = (owned_report *)report;
    if (owned) smtl_report_free(owned->source);
    free(owned);
}

void mtb_reports_clear(void) { smtl_reports_clear(); }

char *mtb_profile_copy(void) { return smtl_profile_copy(); }
