// Questions and contexts to windows: what question answering makes of its rows.
//
// A window is the whole question and as much of the context as fits beside it; the next one repeats the last
// `stride` tokens of it. The context comes second, or first where batches are padded on the left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hftrain/data/encoder.h"
#include "hftrain/tasks/question_rows.h"

namespace hftrain::tasks {

// Columns beside input_ids and token_type_ids. The first two are numbers of tokens in the window, −1 for the
// first place of the padded row; a window that does not hold the answer has the place of "no answer" in both.
inline constexpr const char* kStartPositions = "start_positions";
inline constexpr const char* kEndPositions = "end_positions";
// What answers are read with: for every token the characters [begin, end) of the context, −1 twice for one
// that is not of it; which window of its question it is; and of the first window the question's id, its
// context and its answers (a JSON list of texts; nothing: not known) in UTF-8, of the others nothing.
inline constexpr const char* kSpans = "spans";
inline constexpr const char* kWindow = "window";
inline constexpr const char* kQuestionId = "id";
inline constexpr const char* kContextText = "context";
inline constexpr const char* kAnswerTexts = "answers";

struct QuestionEncoding {
  int64_t max_length = 0;  // tokens of a window
  int64_t stride = 0;      // of the context, in two neighbouring windows
  bool context_first = false;
  // Windows are filled up to max_length with this id; unset: they are padded by the batch.
  std::optional<int64_t> filled_with = std::nullopt;
  bool labels = true;   // start_positions and end_positions
  bool reading = true;  // what answers are read with
  QuestionNeeds needs;
};

std::unique_ptr<data::Encoder> question_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                const QuestionEncoding& options);

}  // namespace hftrain::tasks
