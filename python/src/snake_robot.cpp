#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numbers>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"
#include "tendril/model_error.hpp"
#include "tendril/snake/head_pose.hpp"
#include "tendril/snake/path_march.hpp"

namespace tendril::python {
namespace {

std::size_t joints_of(const PySnake& snake) {
  return static_cast<std::size_t>(snake.chain.joint_count());
}

/// Joint angles (..., joints) and the pose of body 0, one or one for each item.
struct Postures {
  Input angles, base;

  Postures(const PySnake& snake, nb::handle angles_value, nb::handle base_value)
      : angles("angles", angles_value, Axes{joints_of(snake)}),
        base("base", base_value.is_none() ? numpy("eye")(4) : nb::borrow(base_value), Axes{4, 4}) {
    angles.require_angles(0, 1, 2.0 * std::numbers::pi);
    base.require_finite();
    base.require_leading(angles.leading());
  }
  [[nodiscard]] Eigen::Isometry3d X_WB(std::size_t k) const noexcept {
    return pose_of(base.item(base.count() == 1 ? 0 : k));
  }
};

nb::object points(const PySnake& snake, nb::handle angles, nb::handle base, int threads) {
  const Postures all(snake, angles, base);
  const std::size_t count = joints_of(snake) + 1;
  Output lines(all.angles.leading(), Axes{count, 3});
  for_each(all.angles.count(), threads, [&, to = lines.data()](std::size_t k) noexcept {
    static_assert(sizeof(Eigen::Vector3d) == 3 * sizeof(double));
    snake_points(snake.chain, all.X_WB(k), all.angles.item(k),
                 {reinterpret_cast<Eigen::Vector3d*>(to + 3 * count * k), count});
  });
  return lines.take();
}

nb::object frames(const PySnake& snake, nb::handle angles, nb::handle base, int threads) {
  const Postures all(snake, angles, base);
  const std::size_t count = joints_of(snake) + 1;
  Output poses(all.angles.leading(), Axes{count, 4, 4});
  for_each(all.angles.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    thread_local std::vector<Eigen::Isometry3d> X_WL;
    X_WL.resize(count);
    snake_frames(snake.chain, all.X_WB(k), all.angles.item(k), X_WL);
    for (std::size_t i = 0; i < count; ++i) write_pose(X_WL[i], to + 16 * (count * k + i));
  });
  return poses.take();
}

nb::object within(const PySnake& snake, nb::handle value) {
  const Input angles("angles", value, Axes{joints_of(snake)});
  Output inside(angles.leading(), Axes{}, "?");
  for (std::size_t k = 0; k < angles.count(); ++k)
    inside.data<bool>()[k] = snake.chain.within_limits(angles.item(k));
  return inside.take();
}

/// One of the words; throws ModelError `<name> = '<value>': must be ...`.
template <class Value>
Value choice_of(const char* name, const std::string& word,
                std::initializer_list<std::pair<const char*, Value>> words) {
  std::string allowed;
  for (const auto& [text, value] : words) {
    if (word == text) return value;
    allowed += (allowed.empty() ? "'" : ", '") + std::string(text) + "'";
  }
  throw ModelError(std::string(name) + " = '" + word + "': must be one of " + allowed);
}

struct MarchWords {
  std::optional<std::string> base;
  std::string path, root, joints;
};

PathMarchOptions march_options(const PySnake& snake, const MarchWords& words) {
  PathMarchOptions options{.base = snake.base};
  if (words.base) {
    options.base = choice_of<MarchBase>("base", *words.base,
                                        {{"fixed", MarchBase::Fixed},
                                         {"carriage", MarchBase::Carriage},
                                         {"free", MarchBase::Free}});
  }
  options.update = choice_of<PathUpdate>(
      "path_update", words.path, {{"kept", PathUpdate::Kept}, {"refit", PathUpdate::Refitted}});
  options.march.method = choice_of<RootMethod>("root", words.root,
                                               {{"newton", RootMethod::Newton},
                                                {"chord", RootMethod::FalsePosition},
                                                {"bisection", RootMethod::Bisection}});
  options.march.target = choice_of<MarchTarget>(
      "joints", words.joints, {{"all", MarchTarget::AllJoints}, {"even", MarchTarget::EvenJoints}});
  return options;
}

/// The steps as arrays.
nb::dict march_arrays(const PySnake& snake, std::span<const PathMarchStep> steps) {
  const std::size_t n = joints_of(snake);
  const Shape count{steps.size()};
  Output s(count, Axes{}), feed(count, Axes{}), even(count, Axes{}), odd(count, Axes{});
  Output base(count, Axes{4, 4}), angles(count, Axes{n});
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const PathMarchStep& step = steps[k];
    s.data()[k] = step.s;
    feed.data()[k] = step.feed;
    even.data()[k] = step.even;
    odd.data()[k] = step.odd;
    write_pose(step.X_WB, base.data() + 16 * k);
    std::copy(step.angles.begin(), step.angles.end(), angles.data() + n * k);
  }
  nb::dict arrays;
  arrays["s"] = s.take();
  arrays["feed"] = feed.take();
  arrays["base"] = base.take();
  arrays["angles"] = angles.take();
  arrays["even"] = even.take();
  arrays["odd"] = odd.take();
  return arrays;
}

nb::dict march(const PySnake& snake, nb::handle path, std::optional<std::string> base, double step,
               std::optional<double> feed_limit, std::optional<double> fold, double fold_angle,
               nb::object head, std::string path_update, std::string root, std::string joints) {
  const Input points("path", path, Axes{3});
  points.require_finite();
  if (points.leading().size() != 1) throw ModelError("path: must be of the shape (points, 3)");
  std::vector<Eigen::Vector3d> through;
  for (std::size_t k = 0; k < points.count(); ++k)
    through.push_back(Eigen::Map<const Eigen::Vector3d>(points.item(k).data()));
  PathMarchOptions options = march_options(
      snake, {std::move(base), std::move(path_update), std::move(root), std::move(joints)});
  options.step = step;
  options.fold = fold;
  options.fold_angle = fold_angle;
  if (!head.is_none()) {
    const Input angles("head", head, Axes{3});
    angles.require_angles(0, 1, 2.0 * std::numbers::pi);
    if (angles.count() != 1) throw ModelError("head: must be roll, pitch and yaw");
    const std::span<const double> of = angles.item(0);
    options.head = head_orientation(of[0], of[1], of[2]);
  }
  options.feed_limit = feed_limit.value_or(snake.feed_limit);
  if (options.base == MarchBase::Carriage && !(options.feed_limit > 0.0))
    throw ModelError("feed_limit: must be > 0 for a carriage");
  if (fold && (options.base != MarchBase::Fixed || !(*fold >= 0.0)))
    throw ModelError("fold: must be >= 0, of a fixed base");
  std::vector<PathMarchStep> steps;
  try {
    const nb::gil_scoped_release unlocked;
    steps = march_along(snake.chain, through, options);
  } catch (const ModelError& error) {
    throw ModelError(std::string("path: ") + error.what());
  }
  return march_arrays(snake, steps);
}

/// A number of each joint.
template <class Value>
nb::object of_joints(const PySnake& snake, const Value& value) {
  Output numbers({}, Axes{joints_of(snake)});
  for (int j = 1; j <= snake.chain.joint_count(); ++j) numbers.data()[j - 1] = value(j);
  return numbers.take();
}

}  // namespace

void PySnake::bind(nb::module_& module) {
  nb::class_<PySnake>(module, "Snake",
                      "A chain of links with hinges whose axes alternate: odd joints (counted from "
                      "1) yaw about z,\n"
                      "even ones pitch about -y of the body before. Body 0 is the tail link or the "
                      "carriage; link j\n"
                      "goes from the point B_(j-1) to B_j, along x of body j. Immutable.\n"
                      "Source: [Torus] (3)-(10); docs/theory/snakes.md, \"The chain\".")
      .def(
          "__init__",
          [](PySnake* self, std::vector<double> link_lengths, double joint_limit,
             double rear_length, std::string name) {
            SnakeChain chain({.link_lengths = std::move(link_lengths),
                              .joint_limit = joint_limit,
                              .rear_length = rear_length});
            const MarchBase base = rear_length > 0.0 ? MarchBase::Free : MarchBase::Fixed;
            new (self) PySnake{std::move(name), std::move(chain), base, 0.0};
          },
          nb::arg("link_lengths"), nb::kw_only(), nb::arg("joint_limit") = std::numbers::pi / 2.0,
          nb::arg("rear_length") = 0.0, nb::arg("name") = "snake",
          nb::sig("def __init__(self, link_lengths: collections.abc.Sequence[float], *, "
                  "joint_limit: float = 1.5707963267948966, rear_length: float = 0.0, name: str = "
                  "'snake') -> None"),
          ":param link_lengths: from the base to the head, m, each > 0, an even number; of "
          "universal joints: 0, length, 0, length, ...\n"
          ":param joint_limit: of every joint in both directions, rad, in (0, pi/2]\n"
          ":param rear_length: of body 0 behind joint 1, m, >= 0\n"
          ":raises ModelError: a parameter outside its range")
      .def_ro("name", &PySnake::name, "As the robot file says.")
      .def_prop_ro(
          "joint_count", [](const PySnake& s) { return s.chain.joint_count(); },
          "As many as links.")
      .def_prop_ro(
          "length", [](const PySnake& s) { return s.chain.length(); },
          "From joint 1 to the end of the head when straight, m.")
      .def_prop_ro(
          "rear_length", [](const PySnake& s) { return s.chain.rear_length(); },
          "Of body 0 behind joint 1, m.")
      .def_prop_ro(
          "link_lengths",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.link_length(j); });
          },
          nb::sig("def link_lengths(self) -> " TENDRIL_ARRAY), "(joints,): m.")
      .def_prop_ro(
          "joint_limits",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.joint_limit(j); });
          },
          nb::sig("def joint_limits(self) -> " TENDRIL_ARRAY),
          "(joints,): in both directions, rad.")
      .def_prop_ro(
          "curvature_limits",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.curvature_limit(j); });
          },
          nb::sig("def curvature_limits(self) -> " TENDRIL_ARRAY),
          "(joints,): largest curvature of a steady arc in the joint's plane that it can follow, "
          "1/m.\n\nSource: docs/theory/snakes.md, \"Steady arcs\".")
      .def("__len__", [](const PySnake& s) { return s.chain.joint_count(); })
      .def("__getstate__",
           [](const PySnake& s) {
             std::vector<double> lengths, limits;
             for (int j = 1; j <= s.chain.joint_count(); ++j) {
               lengths.push_back(s.chain.link_length(j));
               limits.push_back(s.chain.joint_limit(j));
             }
             return std::tuple(s.name, std::move(lengths), std::move(limits), s.chain.rear_length(),
                               static_cast<int>(s.base), s.feed_limit);
           })
      .def("__setstate__",
           [](PySnake& self, const std::tuple<std::string, std::vector<double>, std::vector<double>,
                                              double, int, double>& state) {
             const auto& [name, lengths, limits, rear_length, base, feed_limit] = state;
             new (&self) PySnake{
                 name,
                 SnakeChain(
                     {.link_lengths = lengths, .joint_limits = limits, .rear_length = rear_length}),
                 static_cast<MarchBase>(base), feed_limit};
           })
      .def(
          "__repr__",
          [](const PySnake& s) {
            nb::str text("<Snake {!r}: {} joints, {:g} m>");
            return text.attr("format")(s.name, s.chain.joint_count(), s.chain.length());
          },
          nb::sig("def __repr__(self) -> str"))
#define TENDRIL_SNAKE_SIGNATURE                             \
  "(self, angles: " TENDRIL_LIKE ", *, base: " TENDRIL_LIKE \
  " | None = None, threads: int = 0) -> " TENDRIL_ARRAY
#define TENDRIL_SNAKE_DOC                                                                       \
  ":param angles: (..., joints), rad; limits are not checked\n"                                 \
  ":param base: (4, 4) or (..., 4, 4): pose of body 0 in the world, its origin at joint 1, m; " \
  "none: the identity\n"                                                                        \
  ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on it\n"   \
  ":raises ModelError: wrong shape or type, a number that is not finite\n"
      .def("points", &points, nb::arg("angles"), nb::kw_only(), nb::arg("base") = nb::none(),
           nb::arg("threads") = 0, nb::sig("def points" TENDRIL_SNAKE_SIGNATURE),
           "The points B_0 ... B_N of the chain in the world.\n\n" TENDRIL_SNAKE_DOC
           ":returns: (..., joints + 1, 3), m\n\nSource: [Torus] (3)-(10).")
      .def("frames", &frames, nb::arg("angles"), nb::kw_only(), nb::arg("base") = nb::none(),
           nb::arg("threads") = 0, nb::sig("def frames" TENDRIL_SNAKE_SIGNATURE),
           "Poses of the bodies 0 ... N in the world, each with its origin at "
           "B_j.\n\n" TENDRIL_SNAKE_DOC
           ":returns: (..., joints + 1, 4, 4), m\n\nSource: [Torus] (3)-(10).")
      .def("march", &march, nb::arg("path"), nb::kw_only(), nb::arg("base") = nb::none(),
           nb::arg("step") = 0.01, nb::arg("feed_limit") = nb::none(), nb::arg("fold") = nb::none(),
           nb::arg("fold_angle") = 0.0, nb::arg("head") = nb::none(),
           nb::arg("path_update") = "kept", nb::arg("root") = "newton", nb::arg("joints") = "all",
           nb::sig("def march(self, path: " TENDRIL_LIKE
                   ", *, base: str | None = None, step: float = 0.01, feed_limit: float | None = "
                   "None, fold: float | None = None, fold_angle: float = 0.0, head: " TENDRIL_LIKE
                   " | None = None, path_update: str = "
                   "'kept', root: str = 'newton', joints: str = 'all') -> dict[str, " TENDRIL_ARRAY
                   "]"),
           "Joint angles along a path, as `tendril march`: the chain lies on it while its head "
           "advances.\n\n"
           ":param path: (points, 3), m: in the frame of the base, from 0 0 0; free base: in the "
           "world\n"
           ":param base: 'fixed', 'carriage' or 'free'; none: as the robot file says, without one "
           "'free' if rear_length > 0, else 'fixed'\n"
           ":param step: of the feed or of the length unfolded, free base: of the head along the "
           "path, m, > 0\n"
           ":param feed_limit: of a carriage, m; none: as the robot file says\n"
           ":param fold: fixed base: length of the body that is folded aside at first, m; none: as "
           "much as the path is shorter than the body\n"
           ":param fold_angle: fixed base: direction of the fold, from y about x, rad\n"
           ":param head: roll, pitch and yaw of the head, rad: a last step in which it has this "
           "orientation at the path's end, body 0 standing still; none: no such step\n"
           ":param path_update: 'kept', or 'refit': a new spline through the joints and the head's "
           "next point in every step, as [Torus] has it (free base)\n"
           ":param root: 'newton' [Torus] (24), 'chord' (25) or 'bisection' [Andersson]\n"
           ":param joints: 'all' as near to the path as possible, or 'even' ones exactly on it; "
           "free base: 'even'\n"
           ":returns: arrays with a row for each step: s (steps,), length along the path, m; feed "
           "(steps,), m; base (steps, 4, 4), pose of body 0; angles (steps, joints), rad; even, "
           "odd (steps,), largest distances of the joints from the path, m\n"
           ":raises ModelError: names the point, or the place and the module, that cannot be "
           "followed\n\n"
           "Source: [Torus] (22)-(27); docs/theory/snakes.md, \"March from the base\".")
      .def("within_limits", &within, nb::arg("angles"),
           nb::sig("def within_limits(self, angles: " TENDRIL_LIKE
                   ") -> numpy.typing.NDArray[numpy.bool_]"),
           "Whether all joints are inside their limits.\n\n"
           ":param angles: (..., joints), rad\n:returns: (...), bool\n"
           ":raises ModelError: wrong shape or type");
}

}  // namespace tendril::python
