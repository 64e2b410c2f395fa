#include "commands/search_checks.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include "hftrain/arguments/command_line.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/resolve.h"

namespace hftrain::app {
namespace {

std::vector<std::string> with_values(std::vector<std::string> flags, const search::Space& space,
                                     double place) {
  for (const search::Parameter& parameter : space)
    flags.push_back("--" + parameter.flag + '=' + search::word_of(parameter.value_at(place)));
  return flags;
}

// A key of the file among the flags is no flag that was misspelt.
Diagnostic told_where_it_belongs(Diagnostic mistake, const std::string& file) {
  constexpr std::string_view kUnknown = "unknown flag --";
  if (!mistake.what.starts_with(kUnknown)) return mistake;
  std::string key = mistake.what.substr(kUnknown.size());
  std::replace(key.begin(), key.end(), '-', '_');
  if (!search::is_search_key(key)) return mistake;
  mistake.why = "it is no flag, but a key of the file of --search";
  mistake.hint = key + ": … in " + file;
  return mistake;
}

// The flags of every trial by themselves. What is missing the space may have.
arguments::ParseOutcome parse_given(const CommandContext& context, const SearchRequest& request) {
  try {
    return arguments::parse_arguments(request.flags, context.environment);
  } catch (const arguments::InvalidArguments& incomplete) {
    return incomplete.read();
  }
}

// What several looks find wrong, each mistake once.
class Mistakes {
 public:
  template <typename Look>
  void look(Look&& at_it) {
    try {
      at_it();
    } catch (const Error& error) {
      add(error);
    }
  }
  void add(const Error& error) {
    if (problems_.empty()) code_ = error.code();
    for (const Diagnostic& mistake : error.diagnostics()) {
      const auto same = [&](const Diagnostic& other) { return other.render() == mistake.render(); };
      if (std::ranges::none_of(problems_, same)) problems_.push_back(mistake);
    }
  }
  bool none() const { return problems_.empty(); }
  void finish() const {
    if (!none()) throw Error(code_, problems_);
  }

 private:
  std::vector<Diagnostic> problems_;
  ExitCode code_ = ExitCode::kUsage;  // of the first
};

// A value that the space draws is the trial's, whatever else gives the flag one.
void tell_overruled(const CommandContext& context, const SearchRequest& request,
                    const search::Specification& specification, Mistakes& mistakes) {
  const std::string space =
      specification.writes_space ? "the space of " + request.file : "the space of a file without one";
  const arguments::ParseOutcome given = parse_given(context, request);
  for (const search::Parameter& parameter : specification.space) {
    const arguments::Flag& row = *arguments::flag_table().find(parameter.flag).flag;
    const std::string flag(row.replaced_by.flag.empty() ? parameter.flag : row.replaced_by.flag);
    const bool mapping = !row.replaced_by.key.empty();
    if (mapping || !given.origins.is_given(flag) || !given.origins.is_chosen(flag)) continue;
    const std::string origin = given.origins.of(flag);
    if (!origin.starts_with('-') || !specification.writes_space) {
      context.err << "note: " << flag << " of " << origin << " counts for no trial: " << space << " draws it"
                  << std::endl;
      continue;
    }
    mistakes.add(Error(ExitCode::kUsage, origin + " counts for no trial")
                     .where("command line")
                     .why(space + " draws " + parameter.flag)
                     .hint("leave it out, or write a space without it"));
  }
}

void check_trains(const arguments::ParseOutcome& parsed, Mistakes& mistakes) {
  mistakes.look([&] { arguments::require_this_machine(parsed); });
  const arguments::Actions& asked = parsed.actions;
  if (asked.dry_run || asked.print_config || parsed.arguments.interface.smoke) {
    mistakes.add(Error(ExitCode::kUsage, "a search trains")
                     .where("hftrain search")
                     .why("--dry_run, --print_config and --smoke do not")
                     .hint("try one trial by hand: hftrain plan with the same flags"));
  }
  if (!plan::wants_training(parsed)) {
    mistakes.add(Error(ExitCode::kUsage, "a search trains")
                     .where(parsed.origins.describe(parsed.arguments.run.do_eval ? "do_eval" : "do_predict"))
                     .why("alone it turns training off, so that every trial would have the same model")
                     .hint(parsed.arguments.run.do_predict
                               ? "--do_train beside it"
                               : "--do_train beside it, or --eval_strategy in its place"));
  }
  if (parsed.arguments.hub.push_to_hub) {
    mistakes.add(
        Error(ExitCode::kUsage, "trials are not pushed to the Hub")
            .where("hftrain search")
            .why("--push_to_hub would push each of them")
            .hint("leave it out, and push the best one: hf upload ORG/NAME FOLDER --exclude 'checkpoint-*' "
                  "--exclude 'hftrain/*'"));
  }
  if (parsed.arguments.output.overwrite_output_dir || parsed.origins.is_given("resume_from_checkpoint")) {
    mistakes.add(Error(ExitCode::kUsage, "a trial that was interrupted goes on by itself")
                     .where("hftrain search")
                     .why("--overwrite_output_dir and --resume_from_checkpoint would begin every trial at "
                          "another place")
                     .hint("leave them out; another --output_dir begins a new search"));
  }
}

// A program of the user's may log it by itself.
bool may_log(const arguments::ParseOutcome& parsed, const std::string& metric) {
  const bool evaluates = plan::wants_validation(parsed) || parsed.arguments.evaluation.eval_strategy != "no";
  return evaluates || parsed.arguments.launch.worker_program || search::training_logs(metric);
}

Error nothing_measured(const std::string& metric) {
  return Error(ExitCode::kUsage, "no trial would have the metric " + metric)
      .where("hftrain search")
      .why("nothing is evaluated: there is neither --do_eval nor an --eval_strategy")
      .hint(
          "--eval_strategy steps or epoch, or --do_train and --do_eval; or a metric of training in the file "
          "of --search");
}

}  // namespace

arguments::ParseOutcome parse_at(const CommandContext& context, const SearchRequest& request,
                                 const search::Space& space, double place) {
  try {
    return arguments::parse_arguments(with_values(request.flags, space, place), context.environment);
  } catch (const arguments::InvalidArguments& invalid) {
    std::vector<Diagnostic> mistakes = invalid.diagnostics();
    for (Diagnostic& mistake : mistakes) mistake = told_where_it_belongs(std::move(mistake), request.file);
    throw Error(invalid.code(), std::move(mistakes));
  }
}

arguments::ParseOutcome check_search(const CommandContext& context, const SearchRequest& request,
                                     const search::Specification& specification) {
  const search::Space& space = specification.space;
  size_t most = 2;
  for (const search::Parameter& parameter : space) most = std::max(most, parameter.choices.size());
  Mistakes mistakes;
  arguments::ParseOutcome parsed;
  bool measures = false;
  for (size_t i = 0; i < most; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(most - 1);
    mistakes.look([&] {
      parsed = parse_at(context, request, space, place);
      check_trains(parsed, mistakes);
      measures = measures || may_log(parsed, specification.metric);
    });
  }
  if (mistakes.none() && !measures) mistakes.add(nothing_measured(specification.metric));
  tell_overruled(context, request, specification, mistakes);
  mistakes.finish();
  return parsed;
}

search::Specification read_search(const SearchRequest& request) {
  Mistakes mistakes;
  search::Specification specification;
  mistakes.look([&] {
    specification = search::read_specification(read_file(request.file, ExitCode::kUsage), request.file);
  });
  if (mistakes.none()) return specification;
  std::vector<Diagnostic> problems;
  arguments::read_command_line(request.flags, problems);
  for (Diagnostic& mistake : problems) mistake = told_where_it_belongs(std::move(mistake), request.file);
  if (!problems.empty()) mistakes.add(Error(ExitCode::kUsage, std::move(problems)));
  mistakes.finish();
  return specification;
}

}  // namespace hftrain::app
