// What the parts of the pass write around statements and expressions. One may end where another begins or ends, so it
// is all written together: at each token first what ends there, the inner before the outer, then what begins there, the
// outer before the inner.
#include <algorithm>

#include "function_sync.h"

namespace smtl::msl {

void FunctionSync::write_around(Range range, std::string open, std::string close) {
    brackets_.insert({range, {std::move(open), std::move(close)}});
}

void FunctionSync::write_brackets() {
    std::map<Index, std::string> opening;
    for (const auto &[range, brackets] : brackets_) opening[range.begin - 1] += brackets.open;
    std::for_each(brackets_.rbegin(), brackets_.rend(),
                  [&](const auto &around) { source_[around.first.end - 1].appended += around.second.close; });
    for (const auto &[at, text] : opening) {
        // What an earlier pass has written behind an assignment stands around the value, and ends with it.
        std::string &appended = source_[at].appended;
        appended.insert(is_assignment(source_[at]) ? 0 : appended.size(), text);
    }
}

}  // namespace smtl::msl
