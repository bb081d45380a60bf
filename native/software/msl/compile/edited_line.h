// A line as the user wrote it and as it was compiled: preprocessing and the translation move what is on a line, and add
// to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/token.h"

namespace smtl::msl {

class EditedLine {
public:
    // `compiled` outlives the object.
    EditedLine(std::string_view compiled, std::string_view original);
    EditedLine(const EditedLine &) = delete;
    EditedLine &operator=(const EditedLine &) = delete;

    bool is(std::string_view compiled, std::string_view original) const {
        return compiled_.data() == compiled.data() && compiled_.size() == compiled.size() && original_ == original;
    }

    // Where on the user's line that stands which the compiler saw at `column`. 0: nowhere.
    std::size_t original_column(std::size_t column) const;

private:
    const std::string_view compiled_;
    const std::string original_;
    const std::vector<Token> from_, to_;
    const std::vector<std::size_t> same_;  // for each token compiled the user's
    std::vector<bool> known_;  // the user's tokens that were compiled
};

}  // namespace smtl::msl
