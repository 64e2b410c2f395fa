#include "hftrain/arguments/yaml_documents.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>

namespace hftrain::arguments {
namespace {

// Remembers where the document began that was read last.
class DocumentPlace final : public YAML::EventHandler {
 public:
  YAML::Mark place;

  void OnDocumentStart(const YAML::Mark& mark) override { place = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

}  // namespace

std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentPlace document;
  if (!parser.HandleNextDocument(document) || !parser.HandleNextDocument(document)) return std::nullopt;
  return document.place;
}

bool opens_document(const std::string& text, const YAML::Mark& place) {
  return place.pos >= 0 && text.compare(static_cast<size_t>(place.pos), 3, "---") == 0;
}

}  // namespace hftrain::arguments
