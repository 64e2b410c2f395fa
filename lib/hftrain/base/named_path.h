// Paths that a user has named: writing to what stands there, and saying what keeps it from being seen.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/exit_code.h"
#include "hftrain/base/new_file.h"

namespace hftrain {

// As cp does, what is no file keeps being what it is: a device or a pipe is written to, which waits for a pipe's reader. A
// link stays, and the file that it leads to appears whole, as everywhere (write_file_atomically() of base/file.h).
void write_named_file(const std::string& path, std::string_view bytes,
                      FileAccess access = FileAccess::kShared);

// Where a path is not there for this program: throws an Error where the system refuses to look (a folder on the way that may
// not be searched, links in a circle, a name that is too long), and returns where there is something, or nothing.
// `where`: as the user has named it.
void refuse_hidden(const std::string& path, const std::string& where, ExitCode code = ExitCode::kData);

// The same where a folder is asked for; a file of that name is an Error, too.
void refuse_no_folder(const std::string& path, const std::string& where, ExitCode code = ExitCode::kData);

}  // namespace hftrain
