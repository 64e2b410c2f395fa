#include "hftrain/hub/repository.h"

#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/refusal.h"

using hftrain::Error;
using hftrain::Json;
using namespace hftrain::hub;

namespace {

const std::string kBlobHash(40, 'a'), kLargeHash(64, 'b');

Json entry_named(const std::string& path) {
  return {{"type", "file"}, {"path", path}, {"size", 5}, {"oid", kBlobHash}};
}

}  // namespace

TEST_CASE("repository: a page of a tree names files with the hashes of their bytes", "[hub]") {
  Json large = entry_named("model.safetensors");
  large["lfs"] = {{"oid", kLargeHash}, {"size", 7}, {"pointerSize", 130}};
  const Json folder = {{"type", "directory"}, {"path", "sub"}, {"size", 0}, {"oid", kBlobHash}};
  std::vector<RemoteFile> files;
  read_tree_page(Json::array({entry_named("sub/a.txt"), folder, large}), "here", files);
  REQUIRE(files.size() == 2);
  CHECK((files[0].path == "sub/a.txt" && files[0].size == 5 && files[0].hash == kBlobHash));
  CHECK((files[1].path == "model.safetensors" && files[1].size == 7 && files[1].hash == kLargeHash));
}

TEST_CASE("repository: a path or a hash that leads out of the cache is refused", "[hub]") {
  std::vector<RemoteFile> files;
  for (const char* path : {"", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "a\nb"})
    CHECK_REFUSED(read_tree_page(Json::array({entry_named(path)}), "here", files),
                  "the repository names a file that cannot be stored");
  for (const char* hash : {"", "../../x", "ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD"}) {
    Json entry = entry_named("a");
    entry["oid"] = hash;
    CHECK_REFUSED(read_tree_page(Json::array({entry}), "here", files),
                  "the repository names a file that cannot be stored");
  }
  CHECK(files.empty());
}

TEST_CASE("repository: an answer that is none of the Hub is told as such", "[hub]") {
  std::vector<RemoteFile> files;
  for (const char* text : {"{}", "[1]", "[null]", R"([{"type":"file","path":"a"}])",
                           R"([{"type":"file","path":"a","size":-1,"oid":"a"}])"})
    CHECK_REFUSED(read_tree_page(Json::parse(text), "here", files), "the answer is none of the Hub");
  CHECK_REFUSED(read_commit(Json::parse(R"({"sha":"main"})"), "here"), "the answer is none of the Hub");
  CHECK_REFUSED(read_commit(Json::parse("[]"), "here"), "the answer is none of the Hub");
  CHECK(read_commit(Json{{"sha", kBlobHash}}, "here") == kBlobHash);
}

TEST_CASE("repository: the next page is the one that the header calls so", "[hub]") {
  CHECK(next_page("").empty());
  CHECK(next_page("<https://hub/api?cursor=2>; rel=\"next\"") == "https://hub/api?cursor=2");
  CHECK(next_page("<https://hub/1>; rel=\"first\", <https://hub/2>; rel=\"next\"") == "https://hub/2");
  CHECK(next_page("> nothing <").empty());
}

TEST_CASE("repository: names stand in addresses with what has to be escaped", "[hub]") {
  CHECK(in_url("refs/pr/1") == "refs%2Fpr%2F1");
  CHECK(path_in_url("a b/c#.txt") == "a%20b/c%23.txt");
}
