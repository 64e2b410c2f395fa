#include "hftrain/hub/push.h"

#include <sodium/utils.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/hub/content_hash.h"
#include "hftrain/hub/lfs_upload.h"
#include "hftrain/hub/replaced_files.h"

namespace hftrain::hub {
namespace {

constexpr size_t kSampleBytes = 512, kMostInAnInquiry = 256;
constexpr int kMostCommits = 5;

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  ::sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the zero byte behind it
  return text;
}

std::string first_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kSampleBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

uint64_t size_of(const std::string& path) {
  std::error_code failed;
  const uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed) throw system_error(failed.value(), "cannot read", path, ExitCode::kData);
  return size;
}

// How the Hub wants each file, by its path.
struct Wanted {
  std::string mode;  // "lfs" or "regular"
  bool ignored = false;
};

Json inquiry_of(const std::string& path, uint64_t size, std::string_view sample) {
  return {{"path", path}, {"size", size}, {"sample", base64(sample)}};
}

std::map<std::string, Wanted> inquire(Api& api, const Repository& repository, const std::string& revision,
                                      Json files) {
  const Json answer = api.ask_json(repository.api() + "/preupload/" + in_url(revision), repository, revision,
                                   Api::post({{"files", std::move(files)}}));
  std::map<std::string, Wanted> wanted;
  if (!answer.is_object()) return wanted;
  for (const Json& each : answer.value("files", Json::array())) {
    if (!each.is_object() || !each.contains("path") || !each["path"].is_string()) continue;
    const auto mode = each.find("uploadMode"), ignored = each.find("shouldIgnore");
    wanted[each["path"].get<std::string>()] = {
        .mode = mode != each.end() && mode->is_string() ? mode->get<std::string>() : "",
        .ignored = ignored != each.end() && ignored->is_boolean() && ignored->get<bool>()};
  }
  return wanted;
}

class Push {
 public:
  Push(Api& api, const PushRequest& request) : api_(api), request_(request) {}

  bool run() {
    ask_how();
    Retries retries(api_, kMostCommits);
    for (bool first = true;; first = false) {
      const Json operations = operations_left();
      if (operations.empty()) return !first;  // at once, or by a commit whose answer was lost
      if (first) upload_large_files(api_, request_.repository, request_.revision, large_);
      const http::Answer answer = commit(operations);
      if (answer.status / 100 == 2) return true;
      // 412: somebody else's commit came first. What is left to do is found anew beside it.
      if (!retries.again(answer, may_pass(answer) || answer.status == 412))
        throw api_.refusal(answer, request_.repository, request_.revision);
    }
  }

 private:
  struct File {
    PushedFile name;
    uint64_t size = 0;
    bool large = false;
    std::string hash = {};
  };

  void ask_how() {
    for (size_t begin = 0; begin < request_.files.size(); begin += kMostInAnInquiry) {
      const size_t end = std::min(request_.files.size(), begin + kMostInAnInquiry);
      Json asked = Json::array();
      for (size_t i = begin; i < end; ++i) {
        const PushedFile& file = request_.files[i];
        asked.push_back(inquiry_of(file.path, size_of(file.local), first_bytes(file.local)));
      }
      std::map<std::string, Wanted> wanted =
          inquire(api_, request_.repository, request_.revision, std::move(asked));
      for (size_t i = begin; i < end; ++i) add(request_.files[i], wanted[request_.files[i].path]);
    }
  }

  // What is ignored stays there as it is.
  void add(const PushedFile& name, const Wanted& wanted) {
    paths_.insert(name.path);
    if (wanted.ignored) return;
    if (wanted.mode != "lfs" && wanted.mode != "regular") throw no_mode(name.path);
    File file{.name = name, .size = size_of(name.local)};
    file.large = wanted.mode == "lfs" && file.size > 0;  // the store takes no empty ones
    file.hash = hash_of_file(name.local, file.large ? HashKind::kSha256 : HashKind::kGitBlob, api_.stop());
    files_.push_back(std::move(file));
  }

  // Sent in the commit itself a large file would be in memory, whole.
  Error no_mode(const std::string& path) const {
    return Error(ExitCode::kEnvironment, "the Hub does not say how it wants " + path)
        .where(masked("HF_ENDPOINT", api_.endpoint()) + request_.repository.web())
        .why("its answer names neither the store nor the commit for it")
        .hint("is HF_ENDPOINT the address of a Hub? Or try again later");
  }

  // Lines of the commit for all that is another one there, and those files in large_.
  Json operations_left() {
    const std::string head = commit_of(api_, request_.repository, request_.revision);
    std::map<std::string, std::string> there;
    std::set<std::string> paths;
    for (RemoteFile& file : files_of(api_, request_.repository, head)) {
      paths.insert(file.path);
      there[std::move(file.path)] = std::move(file.hash);
    }
    Json operations = Json::array();
    large_.clear();
    for (const File& file : files_) {
      const auto found = there.find(file.name.path);
      const bool same = found != there.end() && found->second == file.hash;
      if (!same) operations.push_back(operation_of(file));
    }
    for (const std::string& path : replaced_files(paths, paths_, request_.replaced_folder))
      operations.push_back({{"key", "deletedFile"}, {"value", {{"path", path}}}});
    return operations;
  }

  Json operation_of(const File& file) {
    if (!file.large)
      return {{"key", "file"},
              {"value",
               {{"content", base64(read_file(file.name.local))},
                {"path", file.name.path},
                {"encoding", "base64"}}}};
    large_.push_back({file.name.local, file.hash, file.size});
    return {
        {"key", "lfsFile"},
        {"value", {{"path", file.name.path}, {"algo", "sha256"}, {"oid", file.hash}, {"size", file.size}}}};
  }

  // Once: whether one whose answer was lost was made is asked for before it is made again.
  http::Answer commit(const Json& operations) {
    const Json header = {{"key", "header"}, {"value", {{"summary", request_.message}, {"description", ""}}}};
    http::Request request;
    request.once = true;
    request.headers = {"Content-Type: application/x-ndjson"};
    request.body = header.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    for (const Json& line : operations)
      request.body += line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    return api_.once(request_.repository.api() + "/commit/" + in_url(request_.revision), std::move(request));
  }

  Api& api_;
  const PushRequest& request_;
  std::vector<File> files_;
  std::set<std::string> paths_;   // of all, those that the Hub ignores among them
  std::vector<LargeFile> large_;  // of the last operations_left()
};

// What is made has main alone: it would stay there, empty.
void refuse_new(Api& api, const Repository& repository, const std::string& revision) {
  const http::Answer there = api.ask(repository.api());
  if (there.status != 404) return;
  throw Error(ExitCode::kData, repository.shown() + " has no revision '" + revision + "'")
      .where(masked("HF_ENDPOINT", api.endpoint()) + repository.web())
      .why("it is not there, or hidden from this token, and a new one has main alone")
      .hint("main, or make it with that branch first");
}

// As far as the Hub says so.
bool is_public(Api& api, const Repository& repository) {
  const Json answer = api.ask_json(repository.api(), repository, "");
  const auto is_private = answer.is_object() ? answer.find("private") : answer.end();
  return is_private != answer.end() && is_private->is_boolean() && !is_private->get<bool>();
}

}  // namespace

bool push(Api& api, const PushRequest& request) {
  return Push(api, request).run();
}

std::string owner_of_token(Api& api) {
  const http::Answer answer = api.ask("/api/whoami-v2");
  if (answer.status == 401 || answer.status == 403) throw api.token_not_taken(answer);
  const std::optional<Json> body = try_parse_json(answer.body);
  const bool named = answer.status == 200 && body && body->is_object() && body->contains("name") &&
                     (*body)["name"].is_string();
  if (!named) throw api.refusal(answer, {}, "");
  return (*body)["name"].get<std::string>();
}

bool prepare_repository(Api& api, const Repository& repository, std::optional<bool> is_private,
                        const std::string& revision) {
  if (revision != "main") refuse_new(api, repository, revision);
  const size_t slash = repository.id.find('/');
  Json asked = {{"name", repository.id.substr(slash + 1)},
                {"organization", repository.id.substr(0, slash)},
                {"type", "model"}};
  if (is_private) asked["visibility"] = *is_private ? "private" : "public";
  const http::Answer made = api.ask("/api/repos/create", Api::post(asked));
  // 409: it is there. A token for one repository may not make any, and may write to that one: that is asked next.
  if (made.status == 401) throw api.token_not_taken(made);
  const bool may_be_there = made.status / 100 == 2 || made.status == 409 || made.status == 403;
  if (!may_be_there) throw api.refusal(made, repository, "");
  try {
    inquire(api, repository, revision, Json::array({inquiry_of("README.md", 1, "#")}));
  } catch (const Error&) {
    if (made.status == 403) throw api.refusal(made, repository, "");
    throw;
  }
  const bool was_there = made.status / 100 != 2;
  return !(was_there && is_private.value_or(false) && is_public(api, repository));
}

}  // namespace hftrain::hub
