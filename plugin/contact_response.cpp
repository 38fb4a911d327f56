#include "plugin/contact_response.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

namespace tendril {
namespace {

using Eigen::Vector3d;
using ConstVector3 = Eigen::Map<const Vector3d>;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

/// Stands for the hardness of a contact: so much more than a link's own stiffness over its lever
/// that the link does not go in, little enough to keep the equations well conditioned [N/m].
constexpr double kContactStiffness = 2e4;

}  // namespace

ContactResponse::ContactResponse(const mjModel* m, std::vector<DrivenJoint> joints,
                                 std::vector<DrivenTendon> tendons, int base_body, int feed_joint,
                                 int coordinate_count, double guide_length)
    : joints_(std::move(joints)),
      tendons_(std::move(tendons)),
      base_body_(base_body),
      feed_joint_(feed_joint),
      guide_length_(guide_length),
      link_of_body_(static_cast<std::size_t>(m->nbody), -1),
      arc_length_(static_cast<std::size_t>(m->nbody), 0.0) {
  // The chain in its reference pose: bodies come after their parents.
  const int first = joints_.empty() ? -1 : joints_.front().body;
  for (int body = first; body >= 0 && body < m->nbody; ++body) {
    const int parent = m->body_parentid[body];
    const bool in_chain = body == first || link_of_body_[static_cast<std::size_t>(parent)] >= 0;
    if (!in_chain) break;
    const double step = m->body_pos[3 * body + 2];
    arc_length_[static_cast<std::size_t>(body)] =
        body == first ? step : arc_length_[static_cast<std::size_t>(parent)] + step;
    link_of_body_[static_cast<std::size_t>(body)] = static_cast<int>(std::count_if(
        joints_.begin(), joints_.end(), [&](const auto& j) { return j.body <= body; }));
  }
  const auto size = static_cast<Eigen::Index>(joints_.size());
  const auto rows = static_cast<Eigen::Index>(tendons_.size()) + kMaxMeasuredContacts;
  normals_ = scaled_ = Eigen::MatrixXd::Zero(size, rows);
  small_ = Eigen::MatrixXd::Zero(rows, rows);
  rhs_ = Eigen::MatrixXd::Zero(rows, coordinate_count + 1);
  solution_ = Eigen::MatrixXd::Zero(size, coordinate_count + 1);
  compliance_ = feed_part_ = Eigen::VectorXd::Zero(rows);
  order_.reserve(kMaxMeasuredContacts + 1);
}

void ContactResponse::add_row(double compliance) noexcept {
  normals_.col(rows_).setZero();
  compliance_[rows_] = compliance;
  feed_part_[rows_] = 0.0;
  ++rows_;
}

/// Keeps the contacts nearest to the base, in the order of their arc length.
void ContactResponse::find_contacts(const mjModel* m, const mjData* d,
                                    ArmMeasurement& out) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  order_.clear();
  for (int c = 0; c < d->ncon; ++c) {
    const mjContact& contact = d->contact[c];
    if (contact.exclude != 0 || contact.geom[0] < 0 || contact.geom[1] < 0) continue;
    const int first = m->geom_bodyid[contact.geom[0]], second = m->geom_bodyid[contact.geom[1]];
    const bool first_is_arm = link_of_body_[static_cast<std::size_t>(first)] >= 0;
    const bool second_is_arm = link_of_body_[static_cast<std::size_t>(second)] >= 0;
    if (first_is_arm == second_is_arm) continue;
    const std::pair entry(arc_length_[static_cast<std::size_t>(first_is_arm ? first : second)], c);
    order_.insert(std::upper_bound(order_.begin(), order_.end(), entry), entry);
    if (order_.size() > kMaxMeasuredContacts) order_.pop_back();
  }
  out.contacts.clear();
  for (const auto& [arc_length, c] : order_) {
    const mjContact& contact = d->contact[c];
    const int first = m->geom_bodyid[contact.geom[0]], second = m->geom_bodyid[contact.geom[1]];
    const bool first_is_arm = link_of_body_[static_cast<std::size_t>(first)] >= 0;
    const int body = first_is_arm ? first : second;
    // The frame's x axis points from the first geom to the second.
    const Vector3d normal = (first_is_arm ? -1.0 : 1.0) * ConstVector3(contact.frame);
    const ConstVector3 point(contact.pos);
    MeasuredContact measured;
    measured.position.noalias() = R_WB.transpose() * (point - p_WB);
    measured.normal.noalias() = R_WB.transpose() * normal;
    measured.depth = -contact.dist;
    measured.arc_length = arc_length;
    measured.is_guide = (first_is_arm ? second : first) == base_body_;
    out.contacts.push_back(measured);

    add_row(1.0 / kContactStiffness);
    const int count = link_of_body_[static_cast<std::size_t>(body)];
    for (int i = 0; i < count; ++i) {
      const DrivenJoint& joint = joints_[static_cast<std::size_t>(i)];
      const ConstVector3 axis(d->xaxis + 3 * joint.joint);
      const ConstVector3 anchor(d->xanchor + 3 * joint.joint);
      const bool slides = m->jnt_type[joint.joint] == mjJNT_SLIDE;
      normals_(i, rows_ - 1) = slides ? normal.dot(axis) : normal.dot(axis.cross(point - anchor));
    }
    if (feed_joint_ >= 0) {
      feed_part_[rows_ - 1] = normal.dot(ConstVector3(d->xaxis + 3 * feed_joint_));
    }
  }
}

void ContactResponse::measure(const mjModel* m, const mjData* d, int tip_site,
                              std::span<const double> command, ArmMeasurement& out) noexcept {
  rows_ = 0;
  for (const DrivenTendon& tendon : tendons_) {
    add_row(1.0 / tendon.servo_gain);
    for (const int i : tendon.joints) normals_(i, rows_ - 1) = 1.0;
  }
  find_contacts(m, d, out);

  // dq without rows, then what the rows take back: Sherman, Morrison, Woodbury.
  const Eigen::Index n = solution_.cols() - 1;
  solution_.setZero();
  const auto joint_count = static_cast<Eigen::Index>(joints_.size());
  for (Eigen::Index i = 0; i < joint_count; ++i) {
    const DrivenJoint& joint = joints_[static_cast<std::size_t>(i)];
    const Exposure out_of_guide =
        guide_exposure(guide_length_, out.base.feed, joint.start, joint.length);
    const double force_rate = joint.gain * command[static_cast<std::size_t>(joint.coordinate)];
    solution_(i, joint.coordinate) = out_of_guide.part * joint.gain / joint.stiffness;
    solution_(i, n) = out_of_guide.rate * force_rate / joint.stiffness;
    scaled_.row(i).head(rows_) = normals_.row(i).head(rows_) / joint.stiffness;
  }
  if (rows_ > 0) {
    auto small = small_.topLeftCorner(rows_, rows_);
    auto rhs = rhs_.topRows(rows_);
    small.noalias() = normals_.leftCols(rows_).transpose() * scaled_.leftCols(rows_);
    small.diagonal() += compliance_.head(rows_);
    rhs.noalias() = normals_.leftCols(rows_).transpose() * solution_;
    rhs.col(n) += feed_part_.head(rows_);
    // In place: LLT of a block of memory that is there already.
    Eigen::Ref<Eigen::MatrixXd> block(small);
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(block);
    factor.solveInPlace(rhs);
    solution_.noalias() -= scaled_.leftCols(rows_) * rhs;
  }

  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  const ConstVector3 p_WE(d->site_xpos + 3 * tip_site);
  out.tip_response.setZero();
  for (Eigen::Index i = 0; i < joint_count; ++i) {
    const DrivenJoint& joint = joints_[static_cast<std::size_t>(i)];
    const ConstVector3 axis(d->xaxis + 3 * joint.joint);
    const bool slides = m->jnt_type[joint.joint] == mjJNT_SLIDE;
    Eigen::Matrix<double, 6, 1> rate;
    if (slides) {
      rate << R_WB.transpose() * axis, Vector3d::Zero();
    } else {
      const ConstVector3 anchor(d->xanchor + 3 * joint.joint);
      rate << R_WB.transpose() * axis.cross(p_WE - anchor), R_WB.transpose() * axis;
    }
    out.tip_response.noalias() += rate * solution_.row(i);
  }
  if (feed_joint_ >= 0) {
    out.tip_response.col(n).head<3>().noalias() +=
        R_WB.transpose() * ConstVector3(d->xaxis + 3 * feed_joint_);
  }
}

}  // namespace tendril
