#include "hftrain/tasks/answer_files.h"

namespace hftrain::tasks {
namespace {

constexpr int kIndent = 4;

// As it stands within an object.
std::string indented(const Json& value) {
  std::string moved;
  for (const char c : dump_json(value, kIndent)) {
    moved += c;
    if (c == '\n') moved.append(kIndent, ' ');
  }
  return moved;
}

Json json_of(const std::vector<metrics::AnswerCandidate>& candidates) {
  Json list = Json::array();
  for (const metrics::AnswerCandidate& one : candidates)
    list.push_back({{"text", one.text},
                    {"start_logit", one.start_logit},
                    {"end_logit", one.end_logit},
                    {"probability", one.probability}});
  return list;
}

}  // namespace

AnswerFiles::QuestionFile::QuestionFile(const ResultPlace& place, const std::string& name)
    : name_(place.prefix + name), file_(std::make_shared<GrowingFile>(place.folder + '/' + name_)) {}

void AnswerFiles::QuestionFile::add(const std::string& id, const Json& value) {
  file_->append((empty_ ? "{\n    " : ",\n    ") + dump_json(id, -1) + ": " + indented(value));
  empty_ = false;
}

ResultFile AnswerFiles::QuestionFile::end() {
  file_->append(empty_ ? "{}\n" : "\n}\n");
  return {.name = name_, .text = "", .grown = file_};
}

AnswerFiles::AnswerFiles(const ResultPlace& place, bool with_odds)
    : predictions_(place, "_predictions.json"), n_best_(place, "_nbest_predictions.json") {
  if (with_odds) odds_ = std::make_unique<QuestionFile>(place, "_null_odds.json");
}

void AnswerFiles::add(const std::string& id, const metrics::AnswerPrediction& prediction) {
  predictions_.add(id, prediction.text);
  n_best_.add(id, json_of(prediction.n_best));
  if (odds_ && prediction.null_odds) odds_->add(id, *prediction.null_odds);
}

std::vector<ResultFile> AnswerFiles::end() {
  std::vector<ResultFile> files = {predictions_.end(), n_best_.end()};
  if (odds_) files.push_back(odds_->end());
  return files;
}

}  // namespace hftrain::tasks
