// Which files a source can include, or ask for: our headers, the compiler's own, and those in folders that the host
// named. Clang sees a file system in which there is nothing else, so that it can neither quote another file nor tell
// whether there is one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

// That file system, for clang's -ivfsoverlay. `own` are folders of ours or of the compiler's, seen whole. Of `named`
// folders regular files are seen, and links to such files in any of these folders; other links, devices and pipes are
// not.
std::string describe_visible_files(const std::vector<std::string> &own, const std::vector<std::string> &named);

// Whether a source may reach a file in the `named` folders, which take time to describe: it includes a name that one of
// them has, or asks in a way that this does not follow.
bool may_reach(std::string_view source, const std::vector<std::string> &named);

// True if the path leads to a regular file in one of the folders, after all links.
bool is_visible(const std::string &path, const std::vector<std::string> &named);

}  // namespace smtl::msl
