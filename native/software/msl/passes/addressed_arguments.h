// Kernels' arguments whose address is taken: what lies behind an argument in its buffer is reached from the argument's
// address, not from that of a copy.
#pragma once

#include <vector>

#include "msl/source/declarations.h"

namespace smtl::msl {

class AddressedArguments {
public:
    AddressedArguments(const Source &source, const Declarations &declarations);
    // Notes which of the kernel's parameters its body takes the address of, itself or through a reference.
    void mark(Range body, std::vector<KernelParameter> &parameters) const;

private:
    const Source &source_;
    const bool references_addressed_;  // somewhere in the source
};

}  // namespace smtl::msl
