// The types behind the buffers of kernels, for argument encoders and reflection. Most hosts never ask for them, so they
// are found when a host asks.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "msl/msl.h"
#include "type_facts.h"

struct smtl_library;

namespace smtl::msl {

class TypeTable {
public:
    // The type, of `size` bytes, that a parameter with this spelling refers to; NULL if the type is neither built in
    // nor a structure of plain members.
    const smtl_type *find(const smtl_library &library, std::string_view parameter_type, std::size_t size);

private:
    struct Structure {
        smtl_type type{};
        std::vector<smtl_member> members;
        std::deque<std::string> names;
        std::deque<smtl_type> parts;
        bool known = false;
        bool alone = false;  // no other structure of the source has its last word
        bool whole = true;  // so far: each structure in it is known, and with it how many indices that takes
    };

    using FactsByName = std::map<std::string, StructureFacts>;

    const smtl_type *structure(const smtl_library &library, const std::string &name);
    const smtl_type *structure(const FactsByName &all, const std::string &name);
    // Reads the facts of one type; `owner` keeps what is not a structure.
    const smtl_type *read_type(const FactsByName &all, FactReader &facts, Structure &owner);
    bool fill(const FactsByName &all, const std::string &name, Structure &structure);

    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Structure>> structures_;
    // By number and size, packed ones apart.
    std::map<std::tuple<std::uint32_t, std::size_t, bool>, smtl_type> builtin_;
    std::size_t depth_ = 0;  // of structures in structures that are being filled
};

}  // namespace smtl::msl
