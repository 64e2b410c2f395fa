// The schemes as seqeval 1.2.2 defines them (seqeval/scheme.py), including where it leaves holes: its IOE1
// has no end between E and another type, for one.
#include "hftrain/metrics/tag_patterns.h"

namespace hftrain::metrics {
namespace {

constexpr std::string_view kEvery = "IOBESUL";
constexpr TagTypes kAny = TagTypes::kAny, kSame = TagTypes::kSame, kDifferent = TagTypes::kDifferent;

constexpr TagPattern kIob1Begins[] = {{"OB", "I", kAny}, {"I", "I", kDifferent}, {"IB", "B", kSame}};
constexpr TagPattern kIob1Ends[] = {
    {"I", "I", kDifferent}, {"I", "OB", kAny}, {"B", "O", kAny}, {"B", "I", kDifferent}, {"B", "B", kSame}};
constexpr TagPattern kIobContinues[] = {{"BI", "I", kSame}};

constexpr TagPattern kIob2Begins[] = {{kEvery, "B", kAny}};
constexpr TagPattern kIob2Ends[] = {{"IB", "OB", kAny}, {"IB", "I", kDifferent}};

constexpr TagPattern kIoe1Begins[] = {{"OE", "I", kAny}, {"I", "I", kDifferent}, {"E", "E", kSame}};
constexpr TagPattern kIoe1Ends[] = {{"I", "IE", kDifferent}, {"I", "O", kAny}, {"E", "IE", kSame}};
constexpr TagPattern kIoeContinues[] = {{"I", "IE", kSame}};

constexpr TagPattern kIoe2Begins[] = {{"OE", "IE", kAny}, {"I", "IE", kDifferent}};
constexpr TagPattern kIoe2Ends[] = {{"E", kEvery, kAny}};

constexpr TagPattern kIobesBegins[] = {{kEvery, "BS", kAny}};
constexpr TagPattern kIobesContinues[] = {{"BI", "IE", kSame}};
constexpr TagPattern kIobesEnds[] = {{"SE", kEvery, kAny}};

constexpr TagPattern kBilouBegins[] = {{kEvery, "BU", kAny}};
constexpr TagPattern kBilouContinues[] = {{"BI", "IL", kSame}};
constexpr TagPattern kBilouEnds[] = {{"UL", kEvery, kAny}};

constexpr TagPatterns kSchemes[] = {
    {"IOB1", "IOB", kIob1Begins, kIobContinues, kIob1Ends},
    {"IOB2", "IOB", kIob2Begins, kIobContinues, kIob2Ends},
    {"IOE1", "IOE", kIoe1Begins, kIoeContinues, kIoe1Ends},
    {"IOE2", "IOE", kIoe2Begins, kIoeContinues, kIoe2Ends},
    {"IOBES", "IOBES", kIobesBegins, kIobesContinues, kIobesEnds},
    {"BILOU", "BILOU", kBilouBegins, kBilouContinues, kBilouEnds},
};

}  // namespace

const TagPatterns& patterns_of(TagScheme scheme) {
  return kSchemes[static_cast<int>(scheme) - static_cast<int>(TagScheme::kIob1)];
}

}  // namespace hftrain::metrics
