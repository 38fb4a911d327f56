#include "tendril/model/mechanism.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>

#include "tendril/model/mjcf_document.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

Matrix3d cross_matrix(const Vector3d& p) {
  Matrix3d X;
  X << 0, -p.z(), p.y(), p.z(), 0, -p.x(), -p.y(), p.x(), 0;
  return X;
}

template <class Element>
int find(const std::vector<Element>& elements, std::string_view name) noexcept {
  const auto at = std::ranges::find(elements, name, &Element::name);
  return at == elements.end() ? -1 : static_cast<int>(at - elements.begin());
}

template <class Element>
int require(const Mechanism& m, const std::vector<Element>& elements, const char* type,
            std::string_view name) {
  const int index = find(elements, name);
  if (index < 0)
    throw ModelError(
        fmt::format("{} {}{}{}: missing: the model must contain the robot described by the setting "
                    "robot",
                    type, m.prefix, name, m.suffix));
  return index;
}

// ---- from a document

/// Numbers of an attribute; empty without it.
std::vector<double> numbers(const XmlNode& node, std::string_view key) {
  std::vector<double> values;
  const std::string* const text = node.find(key);
  if (text == nullptr) return values;
  for (const char* at = text->c_str();;) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at) return values;
    values.push_back(value);
    at = end;
  }
}

double number(const XmlNode& node, std::string_view key, double standard = 0.0) {
  const std::vector<double> values = numbers(node, key);
  return values.empty() ? standard : values.front();
}

Vector3d vector(const XmlNode& node, std::string_view key, const Vector3d& standard) {
  const std::vector<double> values = numbers(node, key);
  return values.size() < 3 ? standard : Vector3d(values[0], values[1], values[2]);
}

std::string text(const XmlNode& node, std::string_view key, std::string_view standard = "") {
  const std::string* const value = node.find(key);
  return value != nullptr ? *value : std::string(standard);
}

Eigen::Quaterniond orientation(const XmlNode& node) {
  if (const auto q = numbers(node, "quat"); q.size() == 4)
    return Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized();
  if (const auto z = numbers(node, "zaxis"); z.size() == 3)
    return Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), Vector3d(z[0], z[1], z[2]));
  if (const auto xy = numbers(node, "xyaxes"); xy.size() == 6) {
    const Vector3d x = Vector3d(xy[0], xy[1], xy[2]).normalized();
    Vector3d y(xy[3], xy[4], xy[5]);
    y = (y - x.dot(y) * x).normalized();
    Matrix3d R;
    R << x, y, x.cross(y);
    return Eigen::Quaterniond(R);
  }
  return {1.0, 0.0, 0.0, 0.0};
}

/// Mass, center and inertia about the center, body frame.
struct Inertia {
  double mass = 0.0;
  Vector3d center = Vector3d::Zero();
  Matrix3d moments = Matrix3d::Zero();

  void add(const Inertia& other) {
    if (other.mass <= 0.0) return;
    const double sum = mass + other.mass;
    const Vector3d middle = (mass * center + other.mass * other.center) / sum;
    const auto shifted = [&](const Inertia& of) -> Matrix3d {
      const Vector3d d = of.center - middle;
      return of.moments + of.mass * (d.squaredNorm() * Matrix3d::Identity() - d * d.transpose());
    };
    moments = shifted(*this) + shifted(other);
    mass = sum;
    center = middle;
  }
};

/// A solid of revolution, or a box, of the mass of a geom.
Inertia geom_inertia(const XmlNode& geom) {
  constexpr double kDensity = 1000.0;  // of the engine [kg/m^3]
  Inertia out{.mass = number(geom, "mass", -1.0)};
  if (out.mass == 0.0) return out;
  const std::string type = text(geom, "type", "sphere");
  const auto refuse = [&] {
    throw ModelError("geom " + text(geom, "name") + ": type = " + type +
                     ": only an engine knows its mass");
  };
  const std::vector<double> size = numbers(geom, "size");
  out.center = vector(geom, "pos", Vector3d::Zero());
  Eigen::Quaterniond R = orientation(geom);
  double half = size.size() > 1 ? size[1] : 0.0;  // its length
  if (const auto ends = numbers(geom, "fromto"); ends.size() == 6) {
    const Vector3d from(ends[0], ends[1], ends[2]), to(ends[3], ends[4], ends[5]);
    out.center = (from + to) / 2.0;
    half = (to - from).norm() / 2.0;
    R = Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), to - from);
  }
  const double r2 = size.empty() ? 0.0 : size[0] * size[0], length = 2.0 * half;
  Vector3d moments = Vector3d::Zero();
  double volume = 0.0;
  const double disk = std::numbers::pi * r2, ball = 4.0 / 3.0 * disk * std::sqrt(r2);
  if (type == "sphere") {
    volume = ball;
    moments.setConstant(0.4 * r2);
  } else if (type == "cylinder") {
    volume = disk * length;
    moments << r2 / 4.0 + length * length / 12.0, r2 / 4.0 + length * length / 12.0, r2 / 2.0;
  } else if (type == "capsule") {
    volume = disk * length + ball;
    const double r = size[0];
    const double ends = 4.0 * r / (4.0 * r + 3.0 * length);  // part of the mass in the half spheres
    const double across = (1.0 - ends) * (r2 / 4.0 + length * length / 12.0) +
                          ends * (0.4 * r2 + length * (3.0 * r + 2.0 * length) / 8.0);
    moments << across, across, (1.0 - ends) * r2 / 2.0 + ends * 0.4 * r2;
  } else if (type == "box" && size.size() == 3) {
    volume = 8.0 * size[0] * size[1] * size[2];
    const Vector3d s(size[0] * size[0], size[1] * size[1], size[2] * size[2]);
    moments << s.y() + s.z(), s.x() + s.z(), s.x() + s.y();
    moments /= 3.0;
  } else {
    refuse();
  }
  if (out.mass < 0.0) out.mass = number(geom, "density", kDensity) * volume;
  const Matrix3d turn = R.toRotationMatrix();
  out.moments = turn * (out.mass * moments).asDiagonal() * turn.transpose();
  return out;
}

void set_inertia(const XmlNode& node, Mechanism::Body& body) {
  for (const auto& child : node.children()) {
    if (child->tag() != "inertial") continue;
    body.mass = number(*child, "mass");
    body.center = vector(*child, "pos", Vector3d::Zero());
    body.inertia = vector(*child, "diaginertia", Vector3d::Zero());
    body.inertia_axes = orientation(*child);
    return;
  }
  Inertia sum;
  for (const auto& child : node.children())
    if (child->tag() == "geom") sum.add(geom_inertia(*child));
  body.mass = sum.mass;
  body.center = sum.center;
  Eigen::SelfAdjointEigenSolver<Matrix3d> axes(sum.moments);
  body.inertia = axes.eigenvalues();
  Matrix3d R = axes.eigenvectors();
  if (R.determinant() < 0.0) R.col(0) *= -1.0;
  body.inertia_axes = Eigen::Quaterniond(R);
}

/// Reads the document of a robot, whose elements it writes as tendril/model does.
class DocumentReader {
 public:
  explicit DocumentReader(const MjcfDocument& mjcf) : mjcf_(mjcf) {
    mechanism_.timestep = number(mjcf.option, "timestep", 0.002);
    if (text(mjcf.option, "integrator") == "discrete")
      mechanism_.numerical_damping_time = mechanism_.timestep;
    for (const auto& body : mjcf.worldbody.children())
      if (body->tag() == "body" && text(*body, "name") == names::kBase) read_body(*body, -1);
    for (const auto& tendon : mjcf.tendon.children()) read_tendon(*tendon);
    for (const auto& actuator : mjcf.actuator.children()) read_actuator(*actuator);
  }

  [[nodiscard]] Mechanism mechanism() && { return std::move(mechanism_); }

 private:
  void read_body(const XmlNode& node, int parent) {
    const int index = static_cast<int>(mechanism_.bodies.size());
    Mechanism::Body& body = mechanism_.bodies.emplace_back();
    body = {.name = text(node, "name"),
            .parent = parent,
            .position = vector(node, "pos", Vector3d::Zero()),
            .orientation = orientation(node),
            .gravity_compensation = number(node, "gravcomp"),
            .id = index};
    set_inertia(node, body);
    for (const auto& child : node.children()) {
      if (child->tag() == "joint") read_joint(*child, index);
      if (child->tag() == "site")
        mechanism_.sites.push_back({.name = text(*child, "name"),
                                    .body = index,
                                    .position = vector(*child, "pos", Vector3d::Zero()),
                                    .orientation = orientation(*child),
                                    .id = static_cast<int>(mechanism_.sites.size())});
    }
    for (const auto& child : node.children())
      if (child->tag() == "body") read_body(*child, index);
  }

  void read_joint(const XmlNode& node, int body) {
    Mechanism::Joint joint{.name = text(node, "name"),
                           .body = body,
                           .is_slide = text(node, "type") == "slide",
                           .axis = vector(node, "axis", Vector3d::UnitZ()).normalized(),
                           .anchor = vector(node, "pos", Vector3d::Zero()),
                           .zero = number(node, "ref"),
                           .stiffness = number(node, "stiffness"),
                           .rest = number(node, "springref"),
                           .damping = number(node, "damping"),
                           .armature = number(node, "armature"),
                           .id = static_cast<int>(mechanism_.joints.size())};
    joint.start = mjcf_.keyframe == Keyframe::None ? joint.zero : mjcf_.start_position(node);
    mechanism_.joints.push_back(std::move(joint));
  }

  void read_tendon(const XmlNode& node) {
    Mechanism::Tendon tendon{.name = text(node, "name"),
                             .stiffness = number(node, "stiffness"),
                             .damping = number(node, "damping"),
                             .id = static_cast<int>(mechanism_.tendons.size())};
    const auto place = [&](int site) {
      const Mechanism::Site& of = mechanism_.sites[static_cast<std::size_t>(site)];
      Vector3d p = of.position;
      for (int b = of.body; b >= 0;) {
        const Mechanism::Body& body = mechanism_.bodies[static_cast<std::size_t>(b)];
        p = body.position + body.orientation * p;
        b = body.parent;
      }
      return p;
    };
    for (const auto& child : node.children()) {
      if (child->tag() == "joint") {
        const int joint = mechanism_.joint(text(*child, "joint"));
        const double coefficient = number(*child, "coef");
        tendon.path.push_back({true, joint, coefficient});
        tendon.length += coefficient * mechanism_.joints[static_cast<std::size_t>(joint)].zero;
      } else if (child->tag() == "site") {
        const int site = mechanism_.site(text(*child, "site"));
        if (!tendon.path.empty())
          tendon.length += (place(site) - place(tendon.path.back().index)).norm();
        tendon.path.push_back({false, site, 0.0});
      }
    }
    mechanism_.tendons.push_back(std::move(tendon));
  }

  void read_actuator(const XmlNode& node) {
    Mechanism::Actuator actuator{.name = text(node, "name"),
                                 .gear = number(node, "gear", 1.0),
                                 .id = static_cast<int>(mechanism_.actuators.size())};
    if (node.find("joint") != nullptr) actuator.joint = mechanism_.joint(text(node, "joint"));
    if (node.find("tendon") != nullptr) actuator.tendon = mechanism_.tendon(text(node, "tendon"));
    const auto set = [&](std::array<double, 3>& out, std::string_view key) {
      const std::vector<double> values = numbers(node, key);
      std::copy_n(values.begin(), std::min(values.size(), out.size()), out.begin());
    };
    if (node.tag() == "position") {
      const double kp = number(node, "kp", 1.0);
      actuator.gain = {kp, 0.0, 0.0};
      actuator.bias = {0.0, -kp, -number(node, "kv")};
      if (const double ratio = number(node, "dampratio"); ratio > 0.0)
        actuator.bias[2] = -ratio * 2.0 * std::sqrt(kp * reflected_mass(actuator));
    } else if (node.tag() == "adhesion") {
      actuator.gain[0] = number(node, "gain", 1.0);
    } else {
      set(actuator.gain, "gainprm");
      set(actuator.bias, "biasprm");
      actuator.is_affine = text(node, "gaintype") == "affine";
    }
    actuator.is_slow = node.find("dyntype") != nullptr;
    if (const auto range = numbers(node, "forcerange"); range.size() == 2)
      actuator.force_range = {range[0], range[1]};
    if (const auto range = numbers(node, "ctrlrange"); range.size() == 2)
      actuator.command_range = {range[0], range[1]};
    mechanism_.actuators.push_back(std::move(actuator));
  }

  /// What the actuator of a joint, or of joints, accelerates: 1 / (J M^-1 J^T).
  [[nodiscard]] double reflected_mass(const Mechanism::Actuator& actuator) const {
    std::vector<int> all(mechanism_.joints.size());
    std::iota(all.begin(), all.end(), 0);
    Eigen::VectorXd J = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(all.size()));
    if (actuator.joint >= 0) J[actuator.joint] = actuator.gear;
    if (actuator.tendon >= 0)
      for (const auto& point : mechanism_.tendons[static_cast<std::size_t>(actuator.tendon)].path)
        J[point.index] = actuator.gear * point.coefficient;
    return 1.0 / J.dot(mechanism_.inertia(all).llt().solve(J));
  }

  const MjcfDocument& mjcf_;
  Mechanism mechanism_;
};

}  // namespace

int Mechanism::joint(std::string_view name) const { return require(*this, joints, "joint", name); }
int Mechanism::site(std::string_view name) const { return require(*this, sites, "site", name); }
int Mechanism::tendon(std::string_view name) const {
  return require(*this, tendons, "tendon", name);
}
int Mechanism::actuator(std::string_view name) const {
  return require(*this, actuators, "actuator", name);
}
int Mechanism::find_actuator(std::string_view name) const noexcept { return find(actuators, name); }

double Mechanism::joint_damping(int joint) const noexcept {
  const Joint& of = joints[static_cast<std::size_t>(joint)];
  return of.damping + numerical_damping_time * of.stiffness;
}

double Mechanism::weighing_mass(int body) const noexcept {
  const auto root = static_cast<std::size_t>(body);
  std::size_t end = root + 1;  // bodies that hang on it follow it
  while (end < bodies.size() && bodies[end].parent >= body) ++end;
  // From the tip on, as the engine sums them.
  std::vector<double> mass(end - root);
  for (std::size_t b = end; b-- > root;) {
    mass[b - root] += bodies[b].mass * (1.0 - bodies[b].gravity_compensation);
    if (b > root) mass[static_cast<std::size_t>(bodies[b].parent) - root] += mass[b - root];
  }
  return mass.front();
}

/// Composite rigid bodies (Featherstone 2008, table 6.2), in the frame of the base: rotation first,
/// then translation of its origin.
Eigen::MatrixXd Mechanism::inertia(const std::vector<int>& of) const {
  std::vector<Eigen::Isometry3d> X_BL{Eigen::Isometry3d::Identity()};  // from the base's body on
  std::vector<Matrix6> composite{Matrix6::Zero()};
  for (std::size_t b = 1; b < bodies.size(); ++b) {
    const Body& body = bodies[b];
    const Eigen::Isometry3d X = X_BL[static_cast<std::size_t>(body.parent)] *
                                Eigen::Translation3d(body.position) * body.orientation.normalized();
    const Vector3d c = X * body.center;
    const Matrix3d R = X.linear() * body.inertia_axes.toRotationMatrix();
    const Matrix3d cx = cross_matrix(c);
    Matrix6 I;
    I << R * body.inertia.asDiagonal() * R.transpose() - body.mass * cx * cx, body.mass * cx,
        -body.mass * cx, body.mass * Matrix3d::Identity();
    X_BL.push_back(X);
    composite.push_back(I);
  }
  for (std::size_t b = bodies.size(); b-- > 1;)
    composite[static_cast<std::size_t>(bodies[b].parent)] += composite[b];

  const auto n = static_cast<Eigen::Index>(of.size());
  std::vector<Vector6> rate;
  for (const int index : of) {
    const Joint& joint = joints[static_cast<std::size_t>(index)];
    const Eigen::Isometry3d& X = X_BL[static_cast<std::size_t>(joint.body)];
    const Vector3d axis = X.linear() * joint.axis;
    if (joint.is_slide)
      rate.emplace_back() << Vector3d::Zero(), axis;
    else
      rate.emplace_back() << axis, (X * joint.anchor).cross(axis);
  }
  Eigen::MatrixXd M = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index a = 0; a < n; ++a) {
    const int i = of[static_cast<std::size_t>(a)];
    const Joint& joint = joints[static_cast<std::size_t>(i)];
    const Vector6 momentum =
        composite[static_cast<std::size_t>(joint.body)] * rate[static_cast<std::size_t>(a)];
    for (Eigen::Index b = 0; b < n; ++b) {
      const int j = of[static_cast<std::size_t>(b)];
      if (j > i) continue;  // nearer to the tip
      const int root = joints[static_cast<std::size_t>(j)].body;
      int body = joint.body;
      while (body > root) body = bodies[static_cast<std::size_t>(body)].parent;
      if (body != root) continue;  // on another branch
      M(a, b) = M(b, a) = rate[static_cast<std::size_t>(b)].dot(momentum);
    }
    M(a, a) += joint.armature;
  }
  return M;
}

Mechanism robot_mechanism(const RobotDescription& robot) {
  MjcfDocument mjcf("robot", "");
  std::visit([&](const auto& d) { d.write(mjcf, {}); }, robot);
  return DocumentReader(mjcf).mechanism();
}

}  // namespace tendril
