/* The operands of kernels: what a kernel takes, and whether what it is given is that. */
#ifndef MTBI_OPERAND_H
#define MTBI_OPERAND_H

#include "buffer/buffer.h"
#include "metal_bridge_mps.h"

enum {
    MTBI_MPS_MAX_OPERANDS = 6
};
#define MTBI_MPS_ANY SIZE_MAX

/* What Metal makes of an operand. */
typedef enum mtbi_mps_form {
    MTBI_MPS_MATRIX, /* three dimensions, of which the caller may leave out the first */
    MTBI_MPS_VECTOR, /* two dimensions, of which the caller may leave out the first */
    MTBI_MPS_ARRAY   /* packed */
} mtbi_mps_form;

/* What a kernel takes at one index of its list. */
typedef struct mtbi_mps_operand {
    const char *name;
    mtbi_mps_form form;
    bool is_result;
    /* Zero: in the first operand any floating-point type, in the others the first one's. */
    mtb_data_type data_type;
    size_t rank;
    /* Zero: in the first operand any size, in the others the first one's. MTBI_MPS_ANY: any size. */
    size_t shape[MTB_MPS_MAX_RANK];
} mtbi_mps_operand;

/* Bytes of an element; zero for types that no operand has. */
size_t mtbi_mps_element_size(mtb_data_type data_type);
/* Whether operands of this form may have elements of this floating-point type, and all such types, for messages. */
bool mtbi_mps_is_float(mtbi_mps_form form, mtb_data_type data_type);
const char *mtbi_mps_float_names(mtbi_mps_form form);
/* A caller's size, the number of `what`: neither zero nor beyond what Metal takes. */
mtb_status mtbi_mps_check_size(size_t size, const char *what, mtb_error **error, const char *function);
/* The same for a stride or a dilation, which `what` names. */
mtb_status mtbi_mps_check_step(size_t step, const char *what, mtb_error **error, const char *function);
/* A caller's padding, which may be zero. */
mtb_status mtbi_mps_check_padding(size_t padding, const char *what, mtb_error **error, const char *function);
/* The product of these sizes, none of them zero: not beyond what Metal takes. */
mtb_status mtbi_mps_check_elements(const size_t *shape, size_t rank, const char *what, mtb_error **error,
                                   const char *function);
/* Both are finite. */
mtb_status mtbi_mps_check_scales(double alpha, double beta, mtb_error **error, const char *function);
/* Whether the `count` arrays that were given are what a kernel for `device` takes. Fills `arrays` with them, and with
 * sizes of 1 for dimensions that were left out. */
mtb_status mtbi_mps_check_operands(const mtb_device *device, const mtbi_mps_operand *operands, size_t count,
                                   const mtb_mps_array *given, mtb_mps_array *arrays, mtb_error **error,
                                   const char *function);

#endif
