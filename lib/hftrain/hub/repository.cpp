#include "hftrain/hub/repository.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/http/client.h"

namespace hftrain::hub {
namespace {

bool is_hexadecimal(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error no_answer_of_the_hub(const std::string& origin) {
  return Error(ExitCode::kEnvironment, "the answer is none of the Hub")
      .where(origin)
      .why("it has not the members that the Hub's interface has")
      .hint("is HF_ENDPOINT the address of a Hub, and no page of a proxy in between?");
}

RemoteFile read_file_entry(const Json& entry, const std::string& origin) {
  RemoteFile file;
  file.path = json_text(entry, "path");
  const auto lfs = entry.find("lfs");
  const bool large = lfs != entry.end() && lfs->is_object();
  const Json& sized = large ? *lfs : entry;
  file.hash = json_text(sized, "oid");
  const auto size = sized.find("size");
  const bool counts = size != sized.end() && (size->is_number_unsigned() ||
                                              (size->is_number_integer() && size->get<int64_t>() >= 0));
  if (!counts) throw no_answer_of_the_hub(origin);
  file.size = size->get<uint64_t>();
  if (!is_safe_path(file.path) || !is_hexadecimal(file.hash, large ? 64 : 40))
    throw Error(ExitCode::kData, "the repository names a file that cannot be stored")
        .where(origin)
        .why("its path leads out of its folder, or its hash is none")
        .hint("do not use this repository, or HF_ENDPOINT");
  return file;
}

}  // namespace

bool is_commit(std::string_view revision) {
  return is_hexadecimal(revision, 40);
}

bool is_safe_path(std::string_view path) {
  if (path.size() > 1024 || printable(path) != path) return false;
  const std::vector<std::string> parts = split(path, '/');
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part.size() <= 255 && part != "." && part != ".." &&
           std::none_of(part.begin(), part.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  });
}

std::string in_url(const std::string& revision) {
  return http::Client::escaped(revision);
}

std::string path_in_url(const std::string& path) {
  std::vector<std::string> parts = split(path, '/');
  for (std::string& part : parts) part = http::Client::escaped(part);
  return join(parts, "/");
}

void read_tree_page(const Json& page, const std::string& origin, std::vector<RemoteFile>& files) {
  if (!page.is_array()) throw no_answer_of_the_hub(origin);
  for (const Json& entry : page) {
    if (!entry.is_object()) throw no_answer_of_the_hub(origin);
    if (json_text(entry, "type") == "file") files.push_back(read_file_entry(entry, origin));
  }
}

std::string read_commit(const Json& answer, const std::string& origin) {
  std::string commit = json_text(answer, "sha");
  if (!is_commit(commit)) throw no_answer_of_the_hub(origin);
  return commit;
}

std::string next_page(const std::string& link) {
  for (const std::string& part : split(link, ',')) {
    const size_t begin = part.find('<'), end = part.find('>');
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    if (part.find("rel=\"next\"", end) != std::string::npos) return part.substr(begin + 1, end - begin - 1);
  }
  return "";
}

}  // namespace hftrain::hub
