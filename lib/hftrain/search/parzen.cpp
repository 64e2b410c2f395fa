#include "hftrain/search/parzen.h"

#include <algorithm>
#include <cmath>

namespace hftrain::search {
namespace {

using Place = std::vector<double>;  // of all parameters

constexpr int kCandidates = 64;
constexpr double kGoodShare = 0.1;
constexpr double kGoodWidth = 0.25, kOtherWidth = 0.06;  // of one point; they shrink as points come
// That of good points shrinks faster: from wide looks around to the last digits, and no further than to a tenth.
constexpr double kTrialsOfFullWidth = 4, kLeastWidth = 0.1;
constexpr double kGoodElsewhere = 0.3, kOtherElsewhere = 1;  // what the even part weighs beside a point

double uniform(std::mt19937_64& random) {
  return std::generate_canonical<double, 53>(random);
}

// Box and Muller's, since the library's own normal is not the same everywhere.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(2 * M_PI * uniform(random));
}

// Of the normal distribution up to `z` deviations.
double normal_share(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// A mixture on the unit cube: around every point a normal cut off at the faces (of choices: mostly the same one), and
// one even part for where nobody was, which weighs `elsewhere` points.
class Density {
 public:
  Density(const Space& space, std::vector<Place> points, double width, double elsewhere)
      : space_(space), points_(std::move(points)), even_(elsewhere) {
    const auto count = static_cast<double>(points_.size());
    width_ = width * std::pow(count + 1, -1.0 / (4 + static_cast<double>(space.size())));  // Scott's rule
    whole_ = count + elsewhere;
    elsewhere_ = elsewhere / whole_;
    for (const Parameter& parameter : space) {
      if (!parameter.choices.empty()) even_ /= static_cast<double>(parameter.choices.size());
    }
  }

  Place draw(std::mt19937_64& random) const {
    const auto part = static_cast<size_t>(uniform(random) * whole_);
    Place place;
    for (size_t i = 0; i < space_.size(); ++i)
      place.push_back(part < points_.size() ? near(i, points_[part][i], random) : uniform(random));
    return place;
  }

  double at(const Place& place) const {
    double sum = even_;
    for (const Place& point : points_) {
      double product = 1;
      for (size_t i = 0; i < space_.size(); ++i) product *= at(i, place[i], point[i]);
      sum += product;
    }
    return sum / whole_;
  }

 private:
  double near(size_t parameter, double point, std::mt19937_64& random) const {
    if (!space_[parameter].choices.empty()) return uniform(random) < elsewhere_ ? uniform(random) : point;
    for (;;) {
      const double place = point + width_ * normal(random);
      if (place >= 0 && place <= 1) return place;
    }
  }
  double at(size_t parameter, double place, double point) const {
    const std::vector<Json>& choices = space_[parameter].choices;
    if (!choices.empty()) {
      const bool same = space_[parameter].value_at(place) == space_[parameter].value_at(point);
      return elsewhere_ / static_cast<double>(choices.size()) + (same ? 1 - elsewhere_ : 0);
    }
    const double z = (place - point) / width_;
    const double inside = normal_share((1 - point) / width_) - normal_share(-point / width_);
    return std::exp(-0.5 * z * z) / (width_ * std::sqrt(2 * M_PI) * inside);
  }

  const Space& space_;
  std::vector<Place> points_;
  double even_;  // of its whole weight, in choices divided among them
  double width_ = 0, elsewhere_ = 0, whole_ = 0;
};

}  // namespace

std::vector<double> draw_by_parzen(const Space& space, const std::vector<Place>& ranked,
                                   std::mt19937_64& random) {
  const auto share = static_cast<size_t>(std::ceil(kGoodShare * static_cast<double>(ranked.size())));
  const auto border = ranked.begin() + static_cast<std::ptrdiff_t>(share);
  const double shrunk = std::clamp(kTrialsOfFullWidth / static_cast<double>(ranked.size()), kLeastWidth, 1.0);
  const Density good(space, {ranked.begin(), border}, kGoodWidth * shrunk, kGoodElsewhere),
      others(space, {border, ranked.end()}, kOtherWidth, kOtherElsewhere);
  Place best;
  double best_ratio = -1;
  for (int i = 0; i < kCandidates; ++i) {
    Place place = good.draw(random);
    const double ratio = good.at(place) / others.at(place);
    if (ratio <= best_ratio) continue;
    best_ratio = ratio;
    best = std::move(place);
  }
  return best;
}

}  // namespace hftrain::search
