#include "visible_files.h"

#include <algorithm>
#include <filesystem>

namespace smtl::msl {
namespace {

namespace fs = std::filesystem;

// Empty if there is nothing of that name.
std::string resolved(const fs::path &path) {
    std::error_code error;
    const fs::path result = fs::canonical(path, error);
    return error ? std::string() : result.string();
}

bool is_within(const std::string &path, const std::vector<std::string> &folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string &folder) {
        return path.starts_with(folder == "/" ? folder : folder + "/");
    });
}

std::vector<std::string> resolved(const std::vector<std::string> &folders) {
    std::vector<std::string> result;
    for (const std::string &folder : folders)
        if (std::string path = resolved(fs::path(folder)); !path.empty()) result.push_back(std::move(path));
    return result;
}

std::string json_string(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

// What cannot be written as a string stays out of sight.
bool is_printable(std::string_view name) {
    return std::none_of(name.begin(), name.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string entry(const char *type, const std::string &name, const std::string &at) {
    return std::string("{\"type\":\"") + type + "\",\"name\":" + json_string(name) +
           ",\"external-contents\":" + json_string(at) + "}";
}

class Listing {
public:
    explicit Listing(const std::vector<std::string> &roots) : roots_(roots) {}

    // The folder `path`, called `name`: whole if it holds only files and folders, else what can be seen of it.
    std::string describe(const std::string &name, const std::string &path) const {
        std::string text;
        return list(path, text)
                   ? entry("directory-remap", name, path)
                   : "{\"type\":\"directory\",\"name\":" + json_string(name) + ",\"contents\":[" + text + "]}";
    }

private:
    // Fills `text` with what can be seen; whether that is everything.
    bool list(const std::string &path, std::string &text) const {
        bool whole = true;
        std::error_code error;
        for (fs::directory_iterator item(path, error), end; !error && item != end; item.increment(error)) {
            const std::string name = item->path().filename().string();
            std::error_code failure;
            const fs::file_type type = item->symlink_status(failure).type();
            std::string described;
            if (failure || !is_printable(name)) {
                whole = false;
            } else if (type == fs::file_type::directory) {
                described = describe(name, item->path().string());
                whole = whole && described.starts_with("{\"type\":\"directory-remap\"");
            } else if (type == fs::file_type::regular) {
                described = entry("file", name, item->path().string());
            } else {
                whole = false;
                const std::string target = type == fs::file_type::symlink ? resolved(item->path()) : "";
                if (is_within(target, roots_) && is_printable(target) && fs::is_regular_file(target, failure))
                    described = entry("file", name, target);
            }
            if (!described.empty()) text += (text.empty() ? "" : ",") + described;
        }
        return whole && !error;
    }

    const std::vector<std::string> &roots_;
};

}  // namespace

std::string describe_visible_files(const std::vector<std::string> &own, const std::vector<std::string> &named) {
    const std::vector<std::string> roots = resolved(named);
    const Listing listing(roots);
    std::string text;
    for (const std::string &folder : own) text += (text.empty() ? "" : ",") + entry("directory-remap", folder, folder);
    for (const std::string &folder : named) {
        std::error_code error;
        const std::string name = fs::absolute(folder, error).lexically_normal().string(),
                          path = resolved(fs::path(folder));
        if (error || !fs::is_directory(path, error) || !is_printable(name + path)) continue;
        // A folder is called by one name.
        text += "," +
                listing.describe(name.size() > 1 && name.ends_with("/") ? name.substr(0, name.size() - 1) : name, path);
    }
    return "{\"version\":0,\"redirecting-with\":\"redirect-only\",\"case-sensitive\":\"true\",\"roots\":[" + text +
           "]}\n";
}

bool is_visible(const std::string &path, const std::vector<std::string> &named) {
    std::error_code error;
    return is_within(resolved(fs::path(path)), resolved(named)) && fs::is_regular_file(path, error);
}

}  // namespace smtl::msl
