/* Apple's Metal has no sanitizer and no profiler that a program can ask: there is nothing to report. */
#include "metal_bridge.h"

uint32_t mtb_sanitizer_checks(void) { return 0; }

size_t mtb_report_count(void) { return 0; }

mtb_report *mtb_report_copy(size_t index) {
    (void)index;
    return NULL;
}

void mtb_report_free(mtb_report *report) { (void)report; }

void mtb_reports_clear(void) {}

char *mtb_profile_copy(void) { return NULL; }
