#include "hftrain/arguments/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/section.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

struct Candidate {
  Json value;
  const RawArgument* raw = nullptr;
  const Replacement* old = nullptr;  // it came through an old name
  bool neutral = false;              // whose value asks for nothing: counts only over earlier layers
};

class Merger {
 public:
  Merger(const std::string& home, ParseOutcome& outcome, Diagnostics& problems, Diagnostics& unsupported)
      : home_(home), outcome_(outcome), problems_(problems), unsupported_(unsupported) {}

  // Before all others are added.
  void look_for_files(const std::vector<RawArgument>& raw) {
    for (const RawArgument& each : raw) given_.insert(each.flag->name);
  }

  void add(const RawArgument& raw) {
    if (raw.written.is_string() && first_invalid_utf8(raw.written.get_ref<const std::string&>()))
      return mistake(raw, {"its text is not UTF-8", "", ""});
    Result<Json> converted = convert(*raw.flag, raw.written, home_);
    if (const auto* error = std::get_if<ValueError>(&converted)) {
      if (!may_be_word_of_file(raw)) return mistake(raw, *error);
      converted = raw.written;
    }
    Json value = std::get<Json>(std::move(converted));
    if (raw.flag->replaced_by.flag.empty()) {
      candidates_[{raw.flag, own_name(raw)}].push_back({std::move(value), &raw, nullptr});
    } else {
      replace(raw, std::move(value));
    }
  }

  // What is advice only: old names.
  Diagnostics finish() {
    for (const Flag* flag : flag_table().flags()) {
      for (auto found = candidates_.lower_bound({flag, ""});
           found != candidates_.end() && found->first.first == flag; ++found)
        settle(*flag, found->second);
    }
    return std::move(advice_);
  }

 private:
  bool may_be_word_of_file(const RawArgument& raw) const {
    return given_.count(raw.flag->words_of_file) > 0 && raw.written.is_string();
  }

  // Of a flag that stands for many names, which of them was given; else empty.
  static std::string own_name(const RawArgument& raw) { return raw.flag->pattern ? name_in(raw) : ""; }

  // As it was written, but for dashes.
  static std::string name_in(const RawArgument& raw) {
    std::string name = raw.spelling.substr(raw.spelling.find_first_not_of('-'));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }

  void replace(const RawArgument& raw, Json value) {
    const Replacement& became = raw.flag->replaced_by;
    const Flag& target = flag_table().named(became.flag);
    if (value == raw.flag->default_value() || (became.zero_is_unset && value == 0)) {
      value = became.key.empty() ? target.default_value() : Json{{std::string(became.key), value}};
      candidates_[{&target, ""}].push_back({std::move(value), &raw, &became, true});
      return;
    }
    if (!became.value.empty()) value = std::string(became.value);
    if (!became.key.empty()) value = Json{{std::string(became.key), value}};
    Result<Json> converted = convert(target, value, home_);
    if (const auto* error = std::get_if<ValueError>(&converted)) return mistake(raw, *error);
    value = std::get<Json>(std::move(converted));
    if (!became.silent) warn_of_old_name(raw, target, value);
    candidates_[{&target, ""}].push_back({std::move(value), &raw, &became});
  }

  void warn_of_old_name(const RawArgument& raw, const Flag& target, const Json& value) {
    const bool same = target.slot.type != Type::kMapping && raw.flag->replaced_by.value.empty();
    const std::string use = same ? option(target) : option(target) + ' ' + to_yaml(value);
    advice_.push_back({.severity = Severity::kWarning,
                       .what = raw.spelling + " is an old name",
                       .where = place(raw.origin),
                       .why = "",
                       .hint = "use " + use});
  }

  // An old name that is given again takes back what it said before in its own layer, at its default too. Keys of a mapping
  // are added one by one.
  static void take_back(std::vector<Candidate>& candidates) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Replacement* old = candidates[i].old;
      if (!candidates[i].neutral && (old == nullptr || !old->key.empty())) continue;
      const RawArgument& later = *candidates[i].raw;
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(i);
      const auto kept = std::remove_if(candidates.begin(), end, [&](const Candidate& each) {
        const bool of_this = candidates[i].neutral || name_in(*each.raw) == name_in(later);
        return each.raw->layer == later.layer && each.raw->flag == later.flag && of_this;
      });
      i -= static_cast<size_t>(end - kept);
      candidates.erase(kept, end);
    }
  }

  // Beside another name of its layer it says nothing, and neither does it when no layer before gave the flag.
  static std::vector<Candidate> without_idle(const std::vector<Candidate>& candidates) {
    std::vector<Candidate> left;
    for (const Candidate& candidate : candidates) {
      const bool idle =
          candidate.neutral && std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& each) {
            return !each.neutral && each.raw->layer == candidate.raw->layer;
          });
      if (!idle) left.push_back(candidate);
    }
    const bool all_neutral =
        std::all_of(left.begin(), left.end(), [](const Candidate& each) { return each.neutral; });
    return all_neutral ? std::vector<Candidate>() : left;
  }

  void settle(const Flag& flag, std::vector<Candidate>& offered) {
    take_back(offered);
    const std::vector<Candidate> candidates = without_idle(offered);
    if (candidates.empty()) return;
    const Candidate winner =
        flag.slot.type == Type::kMapping ? joined(flag, candidates) : chosen(flag, candidates);
    check_support(flag, winner);
    if (flag.given_once) tell_replaced(flag, winner, candidates);
    const std::string name = flag.pattern ? own_name(*winner.raw) : std::string(flag.name);
    record_origin(flag, name, winner);
    if (flag.imported) remember_parts(name, winner, candidates);
    if (winner.old != nullptr && winner.old->kept && !winner.neutral)
      keep(std::string(winner.raw->flag->name), winner);
    if (flag.slot.set == nullptr) {
      outcome_.unread[name] = winner.value;
      return;
    }
    flag.slot.set(outcome_.arguments, winner.value);
    if (flag.slot.type == Type::kMapping) outcome_.mappings[name] = winner.value;
  }

  // Who names it in two places may well mean both.
  void tell_replaced(const Flag& flag, const Candidate& winner, const std::vector<Candidate>& candidates) {
    for (const Candidate& each : candidates) {
      if (each.raw->layer == winner.raw->layer || each.value.is_null() || each.value == winner.value)
        continue;
      outcome_.notes.push_back({.severity = Severity::kNote,
                                .what = fmt::format("{} {} has no effect", flag.name, to_yaml(each.value)),
                                .where = place(each.raw->origin),
                                .why = fmt::format("a run has one, and {} wins ({})", to_yaml(winner.value),
                                                   place(winner.raw->origin)),
                                .hint = "leave one of them out"});
    }
  }

  // What is joined may come from several files.
  void remember_parts(const std::string& name, const Candidate& winner,
                      const std::vector<Candidate>& candidates) {
    outcome_.places[name] = winner.raw->places;
    for (const Candidate& each : candidates)
      outcome_.plain[name].insert(each.raw->plain.begin(), each.raw->plain.end());
  }

  void keep(const std::string& old_name, const Candidate& winner) {
    outcome_.unread[old_name] = winner.value;
    outcome_.origins.set(old_name, winner.raw->origin);
  }

  // Unset, said aloud, is no more than silence: of a list too, whose null is the default of the release.
  void record_origin(const Flag& flag, const std::string& name, const Candidate& winner) {
    const bool is_default = winner.value == flag.default_value();
    if (is_default && (winner.value.is_null() || winner.raw->written.is_null())) return;
    const int layer = winner.raw->layer;
    const bool in_file = layer != kCommandLineLayer && layer != kEnvironmentLayer;
    if (is_default && in_file) return outcome_.origins.set_repeated(name, winner.raw->origin);
    outcome_.origins.set(name, winner.raw->origin);
  }

  // The last one of the latest layer; different names in one layer must agree.
  Candidate chosen(const Flag& flag, const std::vector<Candidate>& candidates) {
    const int layer = latest(candidates);
    const Candidate* renamed = nullptr;
    const Candidate* named = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.raw->layer != layer) continue;
      if (candidate.old != nullptr && renamed != nullptr) check_names(flag, *renamed, candidate);
      if (flag.given_once && named != nullptr && named->value != candidate.value)
        conflict(flag, *named, candidate);
      (candidate.old != nullptr ? renamed : named) = &candidate;
    }
    if (renamed != nullptr && renamed->old->adds && !renamed->neutral)
      return added(flag, *renamed, named != nullptr ? *named : before(flag, layer, candidates));
    if (renamed == nullptr || named == nullptr) return renamed != nullptr ? *renamed : *named;
    const bool unset = renamed->old->zero_is_unset && named->value == 0;
    if (renamed->old->wins || unset || renamed->value == named->value) return *renamed;
    conflict(flag, *named, *renamed);
    return *named;
  }

  // A switch of its own once, which took nothing back of what the new name says.
  static Candidate added(const Flag& flag, const Candidate& renamed, const Candidate& said) {
    Candidate whole = renamed;
    if (said.raw == nullptr || said.value == flag.default_value()) return whole;
    whole.value = said.value;
    if (!whole.value.is_array()) return whole;
    for (const Json& word : renamed.value) {
      if (std::find(whole.value.begin(), whole.value.end(), word) == whole.value.end())
        whole.value.push_back(word);
    }
    return whole;
  }

  // Keys that come through old names join the mapping that is given beside them, or else the one of the
  // layers before.
  Candidate joined(const Flag& flag, const std::vector<Candidate>& candidates) {
    const int layer = latest(candidates);
    Candidate whole;
    const bool anew = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
      return candidate.raw->layer == layer && candidate.old == nullptr;
    });
    if (!anew) return with_keys(flag, layer, candidates, before(flag, layer, candidates));
    for (const Candidate& candidate : candidates) {
      if (candidate.raw->layer == layer && candidate.old == nullptr) whole = candidate;
    }
    for (const Candidate& candidate : candidates) {
      if (candidate.raw->layer != layer || candidate.old == nullptr) continue;
      if (whole.raw == nullptr || whole.value.is_null()) {
        whole = candidate;
        continue;
      }
      if (candidate.old->key.empty()) {  // another name of all of it
        check_names(flag, whole, candidate);
        continue;
      }
      for (const auto& [key, value] : candidate.value.items()) {
        if (whole.value.contains(key) && whole.value[key] != value) conflict(flag, whole, candidate);
        whole.value[key] = value;
      }
    }
    return whole;
  }

  // What the layers before `layer` make of the flag; without a value when they say nothing of it.
  Candidate before(const Flag& flag, int layer, const std::vector<Candidate>& candidates) {
    std::vector<Candidate> earlier;
    for (const Candidate& candidate : candidates) {
      if (candidate.raw->layer < layer) earlier.push_back(candidate);
    }
    if (earlier.empty()) return {};
    return flag.slot.type == Type::kMapping ? joined(flag, earlier) : chosen(flag, earlier);
  }

  // `whole` with what the old names of `layer` say: a key of it, or all of it.
  Candidate with_keys(const Flag& flag, int layer, const std::vector<Candidate>& candidates,
                      Candidate whole) {
    for (const Candidate& candidate : candidates) {
      if (candidate.raw->layer != layer) continue;
      if (candidate.old->key.empty()) {
        if (whole.raw != nullptr && whole.raw->layer == layer) check_names(flag, whole, candidate);
        whole = candidate;
        continue;
      }
      const bool unasked = !whole.value.is_object() || !whole.value.contains(candidate.old->key);
      if (candidate.neutral && unasked) continue;
      if (!whole.value.is_object()) whole.value = Json::object();
      whole.value.update(candidate.value);
      whole.raw = candidate.raw;
      whole.old = candidate.old;
    }
    return whole;
  }

  static int latest(const std::vector<Candidate>& candidates) {
    int layer = kEnvironmentLayer;
    for (const Candidate& candidate : candidates) layer = std::max(layer, candidate.raw->layer);
    return layer;
  }

  // Two names of one flag in one layer. Of one name that is given twice the last one counts.
  void check_names(const Flag& flag, const Candidate& one, const Candidate& other) {
    if (name_in(*one.raw) == name_in(*other.raw)) return;
    const bool section = flag.imported && flag.slot.type == Type::kMapping;
    const bool same = section ? same_section(one.value, other.value) : one.value == other.value;
    if (!same) conflict(flag, one, other);
  }

  void conflict(const Flag& flag, const Candidate& named, const Candidate& renamed) {
    problems_.push_back(
        {.what =
             fmt::format("{} and {} say two different things", named.raw->spelling, renamed.raw->spelling),
         .where = places_of(*named.raw, *renamed.raw),
         .why = flag.secret ? "they are secrets, and not shown"
                            : fmt::format("{} against {}", to_yaml(named.value), to_yaml(renamed.value)),
         .hint = named.old != nullptr ? "keep one of them" : "keep " + option(flag)});
  }

  // Whether this build does what is asked. Defaults are always fine.
  void check_support(const Flag& flag, const Candidate& winner) {
    const Json& value = winner.value;
    if (means_default(flag, value)) return;
    const std::string name = winner.raw->spelling;
    // What import/ reads it tells of itself, where the value says something that is not so.
    const bool told_by_reader = flag.imported && flag.support.status == Support::kAccepted;
    if (!told_by_reader && !check(flag.support, name, winner)) return;
    const Json words = value.is_array() ? value : Json::array({value});
    for (const Json& word : words) {
      if (!word.is_string() || !flag.is_choice()) continue;
      const Choice* choice = flag.choice(word.get<std::string>());
      const bool named =
          winner.old != nullptr && !winner.old->value.empty();  // --group_by_length says it all
      if (choice != nullptr)
        check(choice->support, named ? name : name + ' ' + std::string(choice->word), winner);
    }
    check_keys(flag.keys, value, "", name, winner);
  }

  void check_keys(std::span<const Key> keys, const Json& mapping, const std::string& pointer,
                  const std::string& name, const Candidate& winner) {
    for (const Key& key : keys) {
      if (!mapping.is_object() || !mapping.contains(key.name)) continue;
      const Json& value = mapping[std::string(key.name)];
      const std::string inner = pointer + '/' + std::string(key.name);
      if (!key.keys.empty()) check_keys(key.keys, value, inner, name, winner);
      if (key.support.status == Support::kImplemented || value.is_null()) continue;
      if (value == neutral_value(key.type, key.neutral)) continue;
      check(key.support, name + ": key '" + std::string(key.name) + '\'', winner, inner);
    }
  }

  // False when the flag asks for something that this build does not do.
  bool check(const Support& support, const std::string& name, const Candidate& winner,
             const std::string& pointer = "") {
    if (support.status == Support::kImplemented) return true;
    Diagnostic diagnostic{
        .what = name, .where = where(*winner.raw, pointer), .why = std::string(support.reason), .hint = ""};
    diagnostic.hint = support.instead.empty() ? "leave it out" : "use " + std::string(support.instead);
    if (support.status == Support::kAccepted) {
      diagnostic.severity = Severity::kNote;
      diagnostic.what += " has no effect here";
      outcome_.notes.push_back(std::move(diagnostic));
      return true;
    }
    diagnostic.what += " is not supported";
    unsupported_.push_back(std::move(diagnostic));
    return false;
  }

  void mistake(const RawArgument& raw, const ValueError& error) {
    // What is not there is refused whatever kind of value it has.
    if (raw.flag->support.status == Support::kRefused) {
      check(raw.flag->support, raw.spelling, Candidate{.raw = &raw});
      return;
    }
    problems_.push_back({.what = raw.spelling + ": " + error.what,
                         .where = where(raw, error.pointer),
                         .why = "it takes " + takes(*raw.flag),
                         .hint = error.hint.empty() ? explain(std::string(raw.flag->name)) : error.hint});
  }

  static std::string takes(const Flag& flag) {
    const std::string range = describe(flag.range);
    const std::string_view file = flag.words_of_file;
    return describe_type(flag) + (range.empty() ? "" : ' ' + range) +
           (file.empty() ? "" : ", or with --" + std::string(file) + " a word that its file adds");
  }

  static std::string where(const RawArgument& raw, const std::string& pointer) {
    const auto inner = raw.places.find(pointer);
    if (inner != raw.places.end()) return inner->second;
    const bool part = !pointer.empty() && raw.flag->slot.type == Type::kMapping;
    const std::string file = part ? file_of_mapping(raw.written) : "";
    return file.empty() ? place(raw.origin) : where_in_file(file, pointer);
  }

  // file:line:column, or the file alone where the reader that knows positions takes less than the one of values.
  static std::string where_in_file(const std::string& file, const std::string& pointer) {
    Diagnostics untold;
    const std::optional<Section> section = read_section_file(file, untold);
    return section ? section->place(pointer) : file;
  }

  const std::string& home_;
  ParseOutcome& outcome_;
  Diagnostics& problems_;
  Diagnostics& unsupported_;
  Diagnostics advice_;
  std::set<std::string_view> given_;
  std::map<std::pair<const Flag*, std::string>, std::vector<Candidate>> candidates_;
};

}  // namespace

std::string explain(const std::string& flag) {
  return "`hftrain explain " + flag + "` says what it takes";
}

std::string places_of(const RawArgument& one, const RawArgument& other) {
  if (one.layer == kCommandLineLayer && other.layer == kCommandLineLayer)
    return one.spelling + " and " + other.spelling + " (" + place(one.origin) + ')';
  return place(one.origin) + " and " + place(other.origin);
}

std::string values_of(std::span<const std::string_view> flags, const ParseOutcome& outcome) {
  std::vector<std::string> parts;
  for (const std::string_view name : flags) {
    const Flag& flag = flag_table().named(name);
    const auto unread = outcome.unread.find(std::string(name));
    const Json value = unread != outcome.unread.end() ? unread->second
                       : flag.slot.get != nullptr     ? flag.slot.get(outcome.arguments)
                                                      : Json();
    const bool unset = value.is_null() || (value.is_array() && value.empty());
    parts.push_back(std::string(name) + (unset ? " is not given" : " is " + to_yaml(value)));
  }
  return join(parts, ", ");
}

Diagnostics merge(const std::vector<RawArgument>& raw, const std::string& home, ParseOutcome& outcome,
                  Diagnostics& problems, Diagnostics& unsupported) {
  Merger merger(home, outcome, problems, unsupported);
  merger.look_for_files(raw);
  for (const RawArgument& each : raw) merger.add(each);
  return merger.finish();
}

}  // namespace hftrain::arguments
