#include "apps/tendril/window/plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tendril {
namespace {

constexpr int kTimeIntervals = 5;  // of a plot's grid, at most
/// Plots reach at least to this, so that noise is not magnified: mm and N.
constexpr double kSmallestTop = 0.2;

/// The least of 1, 2 and 5 times a power of ten by which `intervals` cover `span` > 0.
double round_step(double span, int intervals) {
  const double step = span / intervals;
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1.0 - 1e-9)) return factor * power;
  return 10.0 * power;
}

/// The least times between round ticks that contain [first, last].
void fit_times(mjvFigure& figure, double first, double last) {
  constexpr double kShortest = 0.1, kRounding = 1e-6;  // s; of a step
  const double step = round_step(std::max(last - first, kShortest), kTimeIntervals);
  const double begin = std::floor(first / step + kRounding);
  const double end = std::max(std::ceil(last / step - kRounding), begin + 1.0);
  figure.range[0][0] = static_cast<float>(begin * step);
  figure.range[0][1] = static_cast<float>(end * step);
  figure.gridsize[0] = static_cast<int>(end - begin) + 1;
}

/// Sets the value axis from zero to the least multiple of a power of ten that contains `largest` >
/// 0, as the engine rounds it, with round ticks.
void fit_values(mjvFigure& figure, double largest) {
  constexpr int kIntervals[] = {5, 5, 4, 3, 4, 5, 3, 7, 4, 3, 5};  // by the multiple
  constexpr double kRounding = 1e-4;                               // the engine's is upwards
  const double power = std::pow(10.0, std::floor(std::log10(largest)));
  const int multiple = std::clamp(static_cast<int>(std::ceil(largest / power - kRounding)), 1, 10);
  figure.range[1][0] = 0.0F;
  figure.range[1][1] = static_cast<float>((multiple - kRounding) * power);
  figure.gridsize[1] = kIntervals[multiple] + 1;
}

std::unique_ptr<mjvFigure> make_figure(const char* title, const float color[3]) {
  auto figure = std::make_unique<mjvFigure>();
  mjv_defaultFigure(figure.get());
  mju_strncpy(figure->title, title, sizeof figure->title);
  mju_strncpy(figure->xformat, "%g", sizeof figure->xformat);
  mju_strncpy(figure->yformat, "%g", sizeof figure->yformat);
  mju_strncpy(figure->minwidth, "0.000", sizeof figure->minwidth);
  figure->flg_legend = 0;
  figure->flg_extend = 0;
  figure->flg_selection = 1;
  figure->linewidth = 2.0F;
  figure->gridwidth = 1.0F;
  const std::array<float, 4> back{0.08F, 0.10F, 0.13F, 0.75F};
  std::copy(back.begin(), back.end(), figure->figurergba);
  std::copy_n(color, 3, figure->linergb[0]);
  return figure;
}

/// Fills a plot, from zero to the largest value. Returns whether there is anything to show.
template <class Value>
bool fill(mjvFigure& figure, simulation::ViewSource& source, const Value& value) {
  int count = 0;
  double largest = 0.0;
  for (const simulation::ViewHistory::Point& point : source.history().points()) {
    const double y = value(point);
    if (!std::isfinite(y) || count >= mjMAXLINEPNT) continue;
    figure.linedata[0][2 * count] = static_cast<float>(point.time);
    figure.linedata[0][2 * count + 1] = static_cast<float>(y);
    largest = std::max(largest, y);
    ++count;
  }
  figure.linepnt[0] = count;
  figure.selection = static_cast<float>(source.data().time);
  figure.flg_selection = source.range() ? 1 : 0;
  if (count == 0) return false;
  fit_times(figure, figure.linedata[0][0], figure.linedata[0][2 * count - 2]);
  fit_values(figure, std::max(largest, kSmallestTop));
  return true;
}

}  // namespace

Plots::Plots(bool several) {
  const float blue[3] = {0.35F, 0.70F, 1.0F}, orange[3] = {1.0F, 0.65F, 0.2F};
  tip_ = make_figure(several ? "Tip error, worst robot (mm)" : "Tip error (mm)", blue);
  force_ = make_figure(several ? "Wall force, all robots (N)" : "Wall force (N)", orange);
}

void Plots::draw(simulation::ViewSource& source, const mjrRect& whole, const mjrContext& context) {
  const int bottom = source.range() ? 52 : 10;  // above the bar
  mjrRect place{0, bottom, std::min(360, 3 * whole.width / 10), std::min(190, whole.height / 4)};
  place.left = whole.width - place.width - 10;
  if (fill(*force_, source, [](const auto& p) { return p.wall_force; })) {
    mjr_figure(place, force_.get(), &context);
    place.bottom += place.height + 8;
  }
  if (fill(*tip_, source, [](const auto& p) { return 1e3 * p.tip_error; }))
    mjr_figure(place, tip_.get(), &context);
}

}  // namespace tendril
