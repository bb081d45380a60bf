#include "dnnl.h"
#include "dnnl_library.h"

#include <stdio.h>
#include <string.h>

bool smtl_dnnl_product(bool transpose_a, bool transpose_b, int64_t rows, int64_t columns, int64_t interior, float alpha,
                       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
                       char **reason) {
    const smtl_dnnl_library *library = smtl_dnnl_load();
    if (!library->loaded) {
        *reason = strdup(library->reason);
        return false;
    }
    int status = library->sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', rows, columns, interior, alpha, a,
                                lda, b, ldb, beta, c, ldc);
    if (status != 0) {
        char text[96];
        snprintf(text, sizeof text, "oneDNN refuses a product: status %d", status);
        *reason = strdup(text);
    }
    return status == 0;
}
