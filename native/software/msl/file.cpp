#include "file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace smtl::msl {

std::optional<std::string> read_file(const std::string &path, std::size_t most) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::string bytes;
    char buffer[1 << 16];
    while (bytes.size() < most) {
        const ssize_t count = read(file, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            close(file);
            return std::nullopt;
        }
        if (count == 0) break;
        bytes.append(buffer, static_cast<std::size_t>(count));
    }
    close(file);
    if (bytes.size() > most) bytes.resize(most);
    return bytes;
}

bool write_file(const std::string &path, std::string_view bytes) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    while (!bytes.empty()) {
        const ssize_t count = ::write(file, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            close(file);
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return close(file) == 0;
}

bool make_folders(const std::string &path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return std::filesystem::is_directory(path, error);
}

void remove_tree(const std::string &path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
}

TemporaryFolder::TemporaryFolder(const std::string &parent) {
    std::string name = parent + "/tmp-XXXXXX";
    if (mkdtemp(name.data())) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    if (!path_.empty()) remove_tree(path_);
}

bool TemporaryFolder::rename_to(const std::string &path) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) return false;
    path_.clear();
    return true;
}

}  // namespace smtl::msl
