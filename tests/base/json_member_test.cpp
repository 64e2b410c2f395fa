#include "hftrain/base/json_member.h"

#include "support/catch.h"

namespace hftrain {
namespace {

TEST_CASE("a member of what is no object is none, and so is one that is not there") {
  for (const Json& other : {Json(), Json(3), Json("text"), Json::array({1}), Json::object()}) {
    CHECK(json_member(other, "name").is_null());
    CHECK(json_text(other, "name").empty());
  }
  const Json object = {{"name", "a"}, {"size", 3}, {"none", nullptr}};
  CHECK(json_member(object, "size") == 3);
  CHECK(json_text(object, "name") == "a");
  CHECK(json_text(object, "size").empty());
  CHECK(json_text(object, "none").empty());
}

}  // namespace
}  // namespace hftrain
