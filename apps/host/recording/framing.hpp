#pragma once

#include <mujoco/mujoco.h>

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tendril::host {

/// Geoms that a picture must show, as far as they are drawn (see picture_options): those of robots;
/// without a robot those of moving bodies.
[[nodiscard]] std::vector<int> geoms_to_show(const mjModel& model);

/// A corner of the box around a geom in the world frame; poses must have been computed.
/// @param corner  0 to 7
void geom_corner(const mjModel& model, const mjData& data, int geom, int corner, mjtNum point[3]);

/// Whether a point is inside a picture.
/// @param aspect  width / height of the picture
[[nodiscard]] bool is_in_picture(const mjvGLCamera& eye, double aspect, const mjtNum point[3]);

/// The nearest free camera that looks in the direction of another one and has a set of points inside
/// its picture. With coordinates (x, y, z) along right, up and forward, a camera at c sees the point
/// p with tangents a, b of half its angles of view if
///
///     |x - c_x| <= a (z - c_z)  and  |y - c_y| <= b (z - c_z),
///
/// which is linear in c: the largest c_z is half the sum of the smallest a z - x and a z + x of all
/// points, divided by a; the same of y; and c_x, c_y halve what remains.
class Framing {
 public:
  /// @param data  with the poses of cameras (mj_camlight)
  Framing(const mjModel& model, const mjData& data, const mjvCamera& like, double aspect);

  void add(const mjtNum point[3]);

  /// Adds the corners of what a camera shows at the distance of the model's centre.
  void add_picture(const mjModel& model, const mjvGLCamera& eye);

  /// No value without points, or if the engine would not draw the farthest one.
  [[nodiscard]] std::optional<mjvCamera> camera() const;

 private:
  mjvCamera camera_;  // with the direction of the result
  double aspect_;
  mjtNum forward_[3], up_[3], right_[3];
  double near_, far_;             // planes between which the engine draws
  double tangent_x_, tangent_y_;  // of half the angles of view, less the margin
  double least_x_[2], least_y_[2], nearest_, farthest_;
};

}  // namespace tendril::host
