// Names and rights of files that are made.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/file.h"

namespace hftrain {

// 16 hexadecimal digits that nobody can know beforehand, for the name of something temporary.
std::string random_name();

// Who may read a new file: everyone whom the umask lets, or its owner alone.
enum class FileAccess { kShared, kPrivate };

// write_file_atomically() of base/file.h, for everyone or for the owner. Any thread.
void write_file_atomically(const std::string& path, std::string_view bytes, FileAccess access);

}  // namespace hftrain
