#include "file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "support/file_limit.h"

namespace smtl::msl {

namespace {

constexpr std::size_t piece_bytes = 1 << 16;

// Fills the piece from `offset` on, as far as the file goes; nothing on failure.
std::optional<std::size_t> read_piece(int file, std::size_t offset, char *buffer) {
    std::size_t filled = 0;
    while (filled < piece_bytes) {
        const ssize_t count = pread(file, buffer + filled, piece_bytes - filled, static_cast<off_t>(offset + filled));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        filled += static_cast<std::size_t>(count);
    }
    return filled;
}

bool read_pieces(int file, std::size_t most, const std::function<void(std::string_view)> &take) {
    // The caller's stack may be small.
    const auto buffer = std::make_unique<char[]>(piece_bytes);
    for (std::size_t offset = 0; offset < most; offset += piece_bytes) {
        const std::optional<std::size_t> filled = read_piece(file, offset, buffer.get());
        if (!filled) return false;
        take({buffer.get(), std::min(*filled, most - offset)});
        if (*filled < piece_bytes) break;
    }
    return true;
}

std::optional<std::string> read_all(int file, std::size_t most) {
    std::string bytes;
    if (!read_pieces(file, most, [&](std::string_view piece) { bytes += piece; })) return std::nullopt;
    return bytes;
}

bool is_of_kind(int file, mode_t kind) {
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

}  // namespace

// Opens even a pipe that nobody writes to; what it is, is checked afterwards.
Descriptor::Descriptor(const std::string &path, int flags)
    : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600)) {}
Descriptor::Descriptor(const Descriptor &folder, const std::string &name, int flags)
    : number_(openat(folder.number_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags)) {}
Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

bool Descriptor::is_file() const { return is_of_kind(number_, S_IFREG); }
bool Descriptor::is_folder() const { return is_of_kind(number_, S_IFDIR); }
std::optional<std::string> Descriptor::read(std::size_t most) const { return read_all(number_, most); }
bool Descriptor::read_in_pieces(const std::function<void(std::string_view)> &take) const {
    return read_pieces(number_, std::numeric_limits<std::size_t>::max(), take);
}

std::vector<std::string> Descriptor::names() const {
    std::vector<std::string> names;
    const int copy = openat(number_, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    DIR *const listing = copy < 0 ? nullptr : fdopendir(copy);
    if (!listing && copy >= 0) close(copy);
    while (const dirent *const item = listing ? readdir(listing) : nullptr) {
        const std::string name = item->d_name;
        if (name != "." && name != "..") names.push_back(name);
    }
    if (listing) closedir(listing);
    return names;
}

std::optional<std::string> read_file(const std::string &path, std::size_t most) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::optional<std::string> bytes = read_all(file, most);
    close(file);
    return bytes;
}

bool write_file(const std::string &path, std::string_view bytes) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    const int cause = smtl_write_and_close(file, bytes.data(), bytes.size());
    if (cause != 0) errno = cause;
    return cause == 0;
}

std::vector<std::string> folders_of(std::string_view list) {
    std::vector<std::string> folders;
    while (!list.empty()) {
        const std::string_view folder = list.substr(0, list.find(':'));
        if (!folder.empty()) folders.emplace_back(folder);
        list.remove_prefix(std::min(folder.size() + 1, list.size()));
    }
    return folders;
}

bool is_missing(const std::string &path) { return access(path.c_str(), F_OK) != 0 && errno == ENOENT; }

namespace {

// A folder is its owner's whatever the process's umask says. Without these rights it could never be removed.
void give_to_owner(const std::string &folder) {
    (void)fchmodat(AT_FDCWD, folder.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

bool make_folders(const std::string &path) {
    std::error_code error;
    const std::filesystem::path above = std::filesystem::path(path).parent_path();
    const bool lies_in_folder = above.empty() || (above != path && make_folders(above.string()));
    if (lies_in_folder && mkdir(path.c_str(), S_IRWXU) == 0) give_to_owner(path);
    const int cause = errno;
    if (std::filesystem::is_directory(path, error)) return true;
    errno = cause;
    return false;
}

void remove_tree(const std::string &path) noexcept {
    try {
        std::error_code error;
        std::filesystem::remove_all(path, error);
    } catch (const std::exception &) {
        // Without memory it stays, until a later process finds it stale.
    }
}

std::string make_unique_folder(std::string name) {
    name += "XXXXXX";
    if (!mkdtemp(name.data())) return {};
    give_to_owner(name);
    return name;
}

TemporaryFolder::TemporaryFolder(const std::string &parent)
    : path_(make_unique_folder(parent + "/" + temporary_prefix)) {}

namespace {

thread_local std::size_t lost_folders = 0;

}  // namespace

TemporaryFolder::~TemporaryFolder() {
    if (path_.empty()) return;
    if (is_missing(path_)) ++lost_folders;
    remove_tree(path_);
}

std::size_t TemporaryFolder::lost() { return lost_folders; }

bool TemporaryFolder::rename_to(const std::string &path) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) return false;
    path_.clear();
    return true;
}

std::string why_not_written(const std::string &folder) {
    constexpr std::size_t block = 4096;
    const TemporaryFolder trial(folder);
    if (!trial.made()) return std::string(": ") + std::strerror(errno);
    const std::string file = trial.path() + "/block";
    // As many as are open at once while a folder of folders is filled.
    const Descriptor open[] = {{trial.path(), O_DIRECTORY}, {trial.path(), O_DIRECTORY}, {trial.path(), O_DIRECTORY}};
    if (!write_file(file, std::string(block, ' '))) {
        if (errno == EFBIG)
            return ": the process may not write files of " + std::to_string(block) + " bytes (ulimit -f)";
        return std::string(": ") + std::strerror(errno);
    }
    if (read_file(file)) return {};
    return errno == EACCES ? ": the process's umask denies it the files that it writes"
                           : std::string(": ") + std::strerror(errno);
}

std::string little_room(const std::string &folder) {
    constexpr std::uint64_t little = std::uint64_t{64} << 20;
    struct statvfs disk{};
    if (statvfs(folder.c_str(), &disk) != 0 || disk.f_bavail >= little / std::max<std::uint64_t>(disk.f_frsize, 1))
        return {};
    return ": the disk of " + folder + " has only " + std::to_string(disk.f_bavail * disk.f_frsize >> 20) + " MB left";
}

}  // namespace smtl::msl
