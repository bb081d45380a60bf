// What the compiler says of structures: where each member lies and what it is. A run of the compiler takes as long for
// hundreds of structures as for one, so one run tells of all that others have named so far.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "structures.h"

struct smtl_library;

namespace smtl::msl {

// What lies deeper in structures than in real ones is not told: each level takes a run of the compiler, and a part of
// the stack.
constexpr std::size_t deepest_structure = 64;

struct StructureFacts {
    std::vector<Member> members;
    bool alone = false;  // no other structure of the source has its last word
    std::string bytes;   // for a FactReader; empty: the compiler does not know the structure
};

// Of the structure and of all that it needs, by the names that the compiler has for them; not of those that are known.
std::map<std::string, StructureFacts> facts_about(const smtl_library &library, const std::string &structure,
                                                  const std::function<bool(const std::string &)> &is_known);

// A type up to what it holds or points to, which is the next layer.
struct TypeLayer {
    std::uint32_t data_type = 0;
    std::uint64_t length = 0;              // of an array
    bool read_only = false;                // behind a pointer
    std::uint64_t size = 0, alignment = 0;  // of neither
    std::string name;                      // of a structure

    bool is_last() const;
};

// Reads the words that the header prelude/types.h makes: a structure's size and alignment; then of each member its
// offset, its index and the layers of its type. Words that are missing are 0.
class FactReader {
public:
    explicit FactReader(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t next();
    TypeLayer next_layer();
    bool is_at_end() const { return bytes_.empty(); }
    bool were_as_many() const { return were_enough_ && bytes_.empty(); }

    // So many bytes, fewer at the end.
    std::string_view take(std::size_t size);

private:
    std::string_view bytes_;
    bool were_enough_ = true;
};

}  // namespace smtl::msl
