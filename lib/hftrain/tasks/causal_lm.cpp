// Causal language modelling, as run_clm has it: one column of text (`text`, else the first), tokenised row by
// row, joined and cut into blocks of --block_size tokens; every token is predicted from those before it in its
// block.
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/token_scorer.h"

namespace hftrain::tasks {
namespace {

data::Recipe blocks_again(const Json& settings) {
  data::Recipe recipe = data::packed_text("clm");
  recipe.settings = settings;
  return recipe;
}

data::Recipe blocks_of_text(const TaskInput&) {
  return blocks_again(Json::object());
}

}  // namespace

TaskRow causal_lm() {
  return {.task = Task::kCausalLm,
          .name = "clm",
          .head = architectures::Head::kCausalLm,
          .pipeline = "text-generation",
          .flags = {"block_size", "keep_linebreaks"},
          .recipe = blocks_of_text,
          .recipe_again = blocks_again,
          .scoring = [](const TaskInput&, const Json&) { return token_scoring(); },
          .scorer = [](const ScorerInput&) { return make_token_scorer(Predicts::kNextToken); }};
}

}  // namespace hftrain::tasks
