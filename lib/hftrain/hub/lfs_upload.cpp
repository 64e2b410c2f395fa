#include "hftrain/hub/lfs_upload.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "hftrain/base/json_member.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::hub {
namespace {

constexpr size_t kMostInABatch = 100, kShownOfAMessage = 300;
constexpr int kMostRounds = 5;  // of a file that is asked for, and then not taken

const std::vector<std::string>& lfs_headers() {
  static const std::vector<std::string> kHeaders = {"Accept: application/vnd.git-lfs+json",
                                                    "Content-Type: application/vnd.git-lfs+json"};
  return kHeaders;
}

http::Request lfs_post(const Json& body) {
  http::Request request = Api::post(body);
  request.headers = lfs_headers();
  return request;
}

Error no_place(const Api& api, const Repository& repository, const std::string& why) {
  return Error(ExitCode::kEnvironment, "the Hub names no place for a large file")
      .where(masked("HF_ENDPOINT", api.endpoint()) + repository.web())
      .why(why)
      .hint("is HF_ENDPOINT the address of a Hub? Or try again later");
}

// Of the store, which is another server than the Hub: no path of the Hub's own.
bool is_address(const std::string& text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

// One file of a batch, with the actions that the Hub wants for it.
class Upload {
 public:
  Upload(Api& api, const Repository& repository, const LargeFile& file, const Json& actions)
      : api_(api), repository_(repository), file_(file), actions_(actions) {}

  // Nothing: it is there. Otherwise why not.
  std::optional<http::Answer> run() {
    const auto upload = actions_.find("upload");
    if (upload == actions_.end() || !upload->is_object()) return std::nullopt;
    const std::string place = json_text(*upload, "href");
    if (!is_address(place)) throw no_place(api_, repository_, "its answer has no address");
    const Json headers = upload->value("header", Json::object());
    const std::string chunk = json_text(headers, "chunk_size");
    http::Answer answer = chunk.empty() ? send_whole(place, headers) : send_parts(place, headers, chunk);
    if (answer.status / 100 == 2) answer = verify();
    return answer.status / 100 == 2 ? std::nullopt : std::optional(std::move(answer));
  }

 private:
  http::Answer send_whole(const std::string& place, const Json& headers) {
    http::Request request;
    request.upload = http::FilePart{file_.local, 0, file_.size};
    for (const auto& [name, value] : headers.items()) {
      if (value.is_string()) request.headers.push_back(name + ": " + value.get<std::string>());
    }
    return api_.ask(place, request);
  }

  http::Answer send_parts(const std::string& place, const Json& headers, const std::string& chunk) {
    const std::optional<int64_t> size = whole_number<int64_t>(chunk);
    if (!size || *size <= 0) throw no_place(api_, repository_, "its parts have no size");
    std::vector<std::pair<int, std::string>> places;
    for (const auto& [name, value] : headers.items()) {
      const std::optional<int> number = number_of_part(name);
      if (number && value.is_string()) places.emplace_back(*number, value.get<std::string>());
    }
    std::sort(places.begin(), places.end());
    const auto part_size = static_cast<uint64_t>(*size);
    if (places.size() != (file_.size + part_size - 1) / part_size)
      throw no_place(api_, repository_, "it has not as many places as the file has parts");
    Json parts = Json::array();
    for (uint64_t offset = 0; offset < file_.size; offset += part_size) {
      const auto& [number, address] = places[parts.size()];
      if (!is_address(address)) throw no_place(api_, repository_, "a part has no address");
      http::Request request;
      request.upload = http::FilePart{file_.local, offset, std::min(part_size, file_.size - offset)};
      http::Answer answer = api_.ask(address, request);
      if (answer.status / 100 != 2) return answer;
      const std::string receipt = answer.headers["etag"];
      if (receipt.empty()) throw no_place(api_, repository_, "there is no receipt for a part (ETag)");
      parts.push_back({{"partNumber", number}, {"etag", receipt}});
    }
    return api_.ask(place, lfs_post({{"oid", file_.sha256}, {"parts", std::move(parts)}}));
  }

  // "00001"; other members of the same object are none.
  static std::optional<int> number_of_part(const std::string& name) {
    const size_t begin = name.find_first_not_of('0');
    return begin == std::string::npos ? std::nullopt : whole_number<int>(name.substr(begin));
  }

  http::Answer verify() {
    http::Answer done;
    done.status = 200;
    const auto check = actions_.find("verify");
    if (check == actions_.end() || !check->is_object()) return done;
    const std::string place = json_text(*check, "href");
    if (!is_address(place))
      throw no_place(api_, repository_, "what came is to be verified, and that has no address");
    return api_.ask(place, lfs_post({{"oid", file_.sha256}, {"size", file_.size}}));
  }

  Api& api_;
  const Repository& repository_;
  const LargeFile& file_;
  const Json& actions_;
};

Json ask_for_places(Api& api, const Repository& repository, const std::string& revision,
                    const std::vector<LargeFile>& files) {
  Json objects = Json::array();
  for (const LargeFile& file : files) objects.push_back({{"oid", file.sha256}, {"size", file.size}});
  const Json answer = api.ask_json(repository.web() + ".git/info/lfs/objects/batch", repository, revision,
                                   lfs_post({{"operation", "upload"},
                                             {"transfers", {"basic", "multipart"}},
                                             {"objects", std::move(objects)},
                                             {"hash_algo", "sha256"},
                                             {"ref", {{"name", revision}}}}));
  const auto found = answer.find("objects");
  if (!answer.is_object() || found == answer.end() || !found->is_array())
    throw no_place(api, repository, "its answer has no list of files");
  return *found;
}

// Of a file that the answer does not name: nothing, which is no place.
Json actions_for(const Api& api, const Repository& repository, const Json& objects, const LargeFile& file) {
  for (const Json& each : objects) {
    if (json_text(each, "oid") != file.sha256) continue;
    const auto error = each.find("error");
    if (error != each.end() && error->is_object())
      throw no_place(
          api, repository,
          "it says: " +
              printable(api.without_secrets(json_text(*error, "message")).substr(0, kShownOfAMessage)));
    return each.value("actions", Json::object());
  }
  throw no_place(api, repository, "its answer does not name the file");
}

// Those that are not there yet; an address may have run out meanwhile, and another one is asked for. What comes behind a file that
// the store had no answer for is not tried.
std::vector<LargeFile> upload_once(Api& api, const Repository& repository, const std::string& revision,
                                   const std::vector<LargeFile>& files, http::Answer& refused) {
  const Json objects = ask_for_places(api, repository, revision, files);
  std::vector<LargeFile> left;
  for (const LargeFile& file : files) {
    const Json actions = actions_for(api, repository, objects, file);
    std::optional<http::Answer> failure = Upload(api, repository, file, actions).run();
    if (!failure) continue;
    refused = std::move(*failure);
    left.push_back(file);
    if (api.stopped() || may_pass(refused)) break;  // as often as it makes sense it was asked already
  }
  return left;
}

}  // namespace

void upload_large_files(Api& api, const Repository& repository, const std::string& revision,
                        const std::vector<LargeFile>& files) {
  for (size_t begin = 0; begin < files.size(); begin += kMostInABatch) {
    const size_t end = std::min(files.size(), begin + kMostInABatch);
    std::vector<LargeFile> left(files.begin() + static_cast<std::ptrdiff_t>(begin),
                                files.begin() + static_cast<std::ptrdiff_t>(end));
    for (int round = 0; !left.empty(); ++round) {
      http::Answer refused;
      left = upload_once(api, repository, revision, left, refused);
      if (left.empty()) break;
      if (round + 1 == kMostRounds || may_pass(refused) || !api.pause_before_retry(round, refused))
        throw api.refusal(refused, repository, revision);
    }
  }
}

}  // namespace hftrain::hub
