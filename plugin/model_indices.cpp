#include "plugin/model_indices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace tendril {
namespace {

using Size = mjtSize mjModel::*;

/// One array of indices: from `low` to below a count of the model.
struct IndexRule {
  std::string_view array;
  int low;
  Size size;
};
constexpr IndexRule kIndices[] = {
    {"body_rootid", 0, &mjModel::nbody},
    {"body_weldid", 0, &mjModel::nbody},
    {"body_mocapid", -1, &mjModel::nmocap},
    {"body_treeid", -1, &mjModel::ntree},
    {"body_plugin", -1, &mjModel::nplugin},
    {"jnt_bodyid", 0, &mjModel::nbody},
    {"jnt_actuatorid", -1, &mjModel::nactuator},
    {"jnt_plasticadr", -1, &mjModel::nplastic},
    {"dof_bodyid", 0, &mjModel::nbody},
    {"dof_jntid", 0, &mjModel::njnt},
    {"dof_treeid", 0, &mjModel::ntree},
    {"dof_Madr", 0, &mjModel::nM},
    {"geom_bodyid", 0, &mjModel::nbody},
    {"geom_matid", -1, &mjModel::nmat},
    {"geom_plugin", -1, &mjModel::nplugin},
    {"site_bodyid", 0, &mjModel::nbody},
    {"site_matid", -1, &mjModel::nmat},
    {"cam_bodyid", 0, &mjModel::nbody},
    {"cam_targetbodyid", -1, &mjModel::nbody},
    {"light_bodyid", 0, &mjModel::nbody},
    {"light_targetbodyid", -1, &mjModel::nbody},
    {"light_texid", -1, &mjModel::ntex},
    {"flex_matid", -1, &mjModel::nmat},
    {"flex_nodebodyid", 0, &mjModel::nbody},
    {"flex_vertbodyid", -1, &mjModel::nbody},
    {"flexedge_J_colind", 0, &mjModel::nv},
    {"mesh_graphadr", -1, &mjModel::nmeshgraph},
    {"mesh_pathadr", -1, &mjModel::npaths},
    {"skin_matid", -1, &mjModel::nmat},
    {"skin_pathadr", -1, &mjModel::npaths},
    {"skin_bonebodyid", 0, &mjModel::nbody},
    {"skin_bonevertid", 0, &mjModel::nskinvert},
    {"hfield_pathadr", -1, &mjModel::npaths},
    {"tex_pathadr", -1, &mjModel::npaths},
    {"mat_texid", -1, &mjModel::ntex},
    {"pair_geom1", 0, &mjModel::ngeom},
    {"pair_geom2", 0, &mjModel::ngeom},
    {"tendon_matid", -1, &mjModel::nmat},
    {"tendon_actuatorid", -1, &mjModel::nactuator},
    {"tendon_plasticadr", -1, &mjModel::nplastic},
    {"tendon_treeid", -1, &mjModel::ntree},
    {"ten_J_colind", 0, &mjModel::nv},
    {"actuator_historyadr", -1, &mjModel::nhistory},
    {"actuator_plugin", -1, &mjModel::nplugin},
    {"sensor_historyadr", -1, &mjModel::nhistory},
    {"sensor_plugin", -1, &mjModel::nplugin},
    {"plugin_attradr", 0, &mjModel::npluginattr},
    {"bvh_child", -1, &mjModel::nbvh},
    {"oct_child", -1, &mjModel::noct},
    {"B_colind", 0, &mjModel::nv},
    {"M_colind", 0, &mjModel::nv},
    {"mapM2M", 0, &mjModel::nM},
    {"D_colind", 0, &mjModel::nv},
    {"mapM2D", -1, &mjModel::nC},
    {"mapD2M", 0, &mjModel::nD},
};

/// A pair of arrays: where something begins, and how many there are.
struct RangeRule {
  std::string_view begin, number;
  Size size;
};
constexpr RangeRule kRanges[] = {
    {"body_jntadr", "body_jntnum", &mjModel::njnt},
    {"body_dofadr", "body_dofnum", &mjModel::nv},
    {"body_geomadr", "body_geomnum", &mjModel::ngeom},
    {"body_bvhadr", "body_bvhnum", &mjModel::nbvh},
    {"tree_bodyadr", "tree_bodynum", &mjModel::nbody},
    {"tree_dofadr", "tree_dofnum", &mjModel::nv},
    {"flex_nodeadr", "flex_nodenum", &mjModel::nflexnode},
    {"flex_vertadr", "flex_vertnum", &mjModel::nflexvert},
    {"flex_edgeadr", "flex_edgenum", &mjModel::nflexedge},
    {"flex_elemadr", "flex_elemnum", &mjModel::nflexelem},
    {"flex_bvhadr", "flex_bvhnum", &mjModel::nbvh},
    {"flexedge_J_rowadr", "flexedge_J_rownnz", &mjModel::nJfe},
    {"mesh_vertadr", "mesh_vertnum", &mjModel::nmeshvert},
    {"mesh_faceadr", "mesh_facenum", &mjModel::nmeshface},
    {"mesh_bvhadr", "mesh_bvhnum", &mjModel::nbvh},
    {"mesh_octadr", "mesh_octnum", &mjModel::noct},
    {"mesh_normaladr", "mesh_normalnum", &mjModel::nmeshnormal},
    {"mesh_texcoordadr", "mesh_texcoordnum", &mjModel::nmeshtexcoord},
    {"skin_vertadr", "skin_vertnum", &mjModel::nskinvert},
    {"skin_faceadr", "skin_facenum", &mjModel::nskinface},
    {"skin_boneadr", "skin_bonenum", &mjModel::nskinbone},
    {"skin_bonevertadr", "skin_bonevertnum", &mjModel::nskinbonevert},
    {"tendon_adr", "tendon_num", &mjModel::nwrap},
    {"ten_J_rowadr", "ten_J_rownnz", &mjModel::nJten},
    {"actuator_ctrladr", "actuator_ctrlnum", &mjModel::nu},
    {"actuator_outadr", "actuator_outnum", &mjModel::nout},
    {"actuator_actadr", "actuator_actnum", &mjModel::na},
    {"sensor_adr", "sensor_dim", &mjModel::nsensordata},
    {"plugin_stateadr", "plugin_statenum", &mjModel::npluginstate},
    {"numeric_adr", "numeric_size", &mjModel::nnumericdata},
    {"text_adr", "text_size", &mjModel::ntextdata},
    {"tuple_adr", "tuple_size", &mjModel::ntupledata},
    {"B_rowadr", "B_rownnz", &mjModel::nB},
    {"M_rowadr", "M_rownnz", &mjModel::nC},
    {"D_rowadr", "D_rownnz", &mjModel::nD},
};

/// Parts and the wholes that have them in a row: each part is in the row of its whole.
struct OwnerRule {
  std::string_view owner, begin, number;
};
constexpr OwnerRule kOwners[] = {{"jnt_bodyid", "body_jntadr", "body_jntnum"},
                                 {"dof_bodyid", "body_dofadr", "body_dofnum"},
                                 {"geom_bodyid", "body_geomadr", "body_geomnum"},
                                 {"dof_treeid", "tree_dofadr", "tree_dofnum"},
                                 {"body_treeid", "tree_bodyadr", "tree_bodynum"}};

/// Arrays whose entry i names an earlier one: the engine goes from entry to entry until the first.
constexpr IndexRule kParents[] = {{"body_parentid", 0, &mjModel::nbody},
                                  {"dof_parentid", -1, &mjModel::nv}};

/// Arrays of enumerations, and the first invalid number.
struct KindRule {
  std::string_view array;
  int below;
};
constexpr KindRule kKinds[] = {{"geom_type", mjNGEOMTYPES},
                               {"site_type", mjNGEOMTYPES},
                               {"eq_type", mjEQ_DISTANCE + 1},
                               {"wrap_type", mjWRAP_CYLINDER + 1},
                               {"sensor_type", mjSENS_USER + 1}};

/// Arrays of texts, each of which ends with a zero.
constexpr std::string_view kTexts[] = {"names", "paths", "text_data", "plugin_attr"};

class Checker {
 public:
  Checker(const mjModel& sizes, std::span<const BinaryArray> arrays)
      : sizes_(sizes), arrays_(arrays) {}

  std::string problem() {
    for (const IndexRule& rule : kIndices) {
      const Ints values = ints(rule.array);
      for (std::size_t i = 0; i < values.count; ++i)
        check(rule.array, i, values[i], rule.low, sizes_.*rule.size - 1);
    }
    for (const RangeRule& rule : kRanges) check_ranges(rule);
    for (const IndexRule& rule : kParents) {
      const Ints values = ints(rule.array);
      for (std::size_t i = 0; i < values.count; ++i)
        check(rule.array, i, values[i], rule.low, std::max(rule.low, static_cast<int>(i) - 1));
    }
    for (const OwnerRule& rule : kOwners) check_owners(rule);
    for (const BinaryArray& array : arrays_) check_flags(array);
    check_joints();
    check_shapes();
    check_sensors();
    check_histories();
    check_names();
    check_meshes();
    check_pixels();
    for (const auto& [array, below] : kKinds) {
      const Ints values = ints(array);
      for (std::size_t i = 0; i < values.count; ++i) check(array, i, values[i], 0, below - 1);
    }
    for (const std::string_view name : kTexts) {
      const std::span<const std::byte> bytes = array(name).bytes;
      if (problem_.empty() && !bytes.empty() && bytes.back() != std::byte{0})
        problem_ = fmt::format("{}: must end with a zero", name);
    }
    return std::move(problem_);
  }

 private:
  struct Ints {
    std::span<const std::byte> bytes;
    std::size_t count;
    int operator[](std::size_t i) const {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    }
  };

  [[nodiscard]] const BinaryArray& array(std::string_view name) const {
    return *std::ranges::find(arrays_, name, &BinaryArray::name);
  }
  [[nodiscard]] static Ints ints_of(const BinaryArray& array) {
    return {array.bytes, array.bytes.size() / sizeof(std::int32_t)};
  }
  [[nodiscard]] Ints ints(std::string_view name) const { return ints_of(array(name)); }

  void check(std::string_view name, std::size_t i, mjtSize value, mjtSize low, mjtSize high) {
    if ((value < low || value > high) && problem_.empty())
      problem_ = fmt::format("{}[{}] = {}: must be in [{}, {}]", name, i, value, low, high);
  }

  void check_flags(const BinaryArray& array) {
    if (!array.has_flags) return;
    for (std::size_t i = 0; i < array.bytes.size(); ++i)
      check(array.name, i, std::to_integer<int>(array.bytes[i]), 0, 1);
  }

  void check_ranges(const RangeRule& rule) {
    const Ints begins = ints(rule.begin), numbers = ints(rule.number);
    const mjtSize size = sizes_.*rule.size;
    for (std::size_t i = 0; i < begins.count; ++i) {
      check(rule.number, i, numbers[i], 0, size);
      if (numbers[i] > 0) check(rule.begin, i, begins[i], 0, size - numbers[i]);
      if (numbers[i] == 0) check(rule.begin, i, begins[i], -1, size);
    }
  }

  void check_owners(const OwnerRule& rule) {
    if (!problem_.empty()) return;
    const Ints owners = ints(rule.owner), begins = ints(rule.begin), numbers = ints(rule.number);
    mjtSize owned = 0;
    for (std::size_t i = 0; i < owners.count; ++i) {
      if (owners[i] < 0) continue;
      ++owned;
      const auto owner = static_cast<std::size_t>(owners[i]);
      check(rule.begin, owner, begins[owner], static_cast<mjtSize>(i) + 1 - numbers[owner],
            static_cast<mjtSize>(i));
    }
    for (std::size_t i = 0; i < numbers.count; ++i) owned -= numbers[i];
    if (owned != 0 && problem_.empty())
      problem_ = fmt::format("{}: their sum must be the number of parts", rule.number);
  }

  void check_joints() {
    constexpr std::array<mjtSize, 4> kPositions = {7, 4, 1, 1}, kSpeeds = {6, 3, 1, 1};
    const Ints types = ints("jnt_type"), joints = ints("dof_jntid");
    const Ints positions = ints("jnt_qposadr"), dofs = ints("jnt_dofadr");
    for (std::size_t i = 0; i < types.count; ++i) {
      check("jnt_type", i, types[i], 0, mjJNT_HINGE);
      if (!problem_.empty()) return;
      const auto type = static_cast<std::size_t>(types[i]);
      check("jnt_qposadr", i, positions[i], 0, sizes_.nq - kPositions[type]);
      check("jnt_dofadr", i, dofs[i], 0, sizes_.nv - kSpeeds[type]);
    }
    for (std::size_t i = 0; problem_.empty() && i < joints.count; ++i) {
      const auto joint = static_cast<std::size_t>(joints[i]);
      const mjtSize first = dofs[joint];
      check("dof_jntid", i, static_cast<mjtSize>(i), first,
            first + kSpeeds[static_cast<std::size_t>(types[joint])] - 1);
    }
  }

  void check_shapes() {
    const Ints types = ints("geom_type"), data = ints("geom_dataid");
    for (std::size_t i = 0; i < types.count; ++i) {
      if (types[i] == mjGEOM_MESH || types[i] == mjGEOM_SDF)
        check("geom_dataid", i, data[i], 0, sizes_.nmesh - 1);
      if (types[i] == mjGEOM_HFIELD) check("geom_dataid", i, data[i], 0, sizes_.nhfield - 1);
    }
  }

  /// What the engine takes for granted of sensors of some types: it divides by the size of a
  /// contact's data, which are bits, and of a tactile sensor's mesh.
  void check_sensors() {
    const Ints types = ints("sensor_type"), parameters = ints("sensor_intprm");
    const Ints objects = ints("sensor_objtype"), plugins = ints("sensor_plugin");
    for (std::size_t i = 0; i < types.count; ++i) {
      if (types[i] == mjSENS_CONTACT)
        check("sensor_intprm", mjNSENS * i, parameters[mjNSENS * i], 1, (1 << mjNCONDATA) - 1);
      if (types[i] == mjSENS_TACTILE)
        check("sensor_objtype", i, objects[i], mjOBJ_MESH, mjOBJ_MESH);
      if (types[i] == mjSENS_PLUGIN) check("sensor_plugin", i, plugins[i], 0, sizes_.nplugin - 1);
    }
  }

  /// Entries `begin` to `begin` + `number` of an array, each at least `low` and below `size`.
  void check_part(std::string_view name, mjtSize begin, mjtSize number, int low, mjtSize size) {
    check_part(array(name), begin, number, low, size);
  }
  void check_part(const BinaryArray& part, mjtSize begin, mjtSize number, int low, mjtSize size) {
    if (number == 0) return;
    const Ints values = ints_of(part);
    const std::string_view name = part.name;
    if (problem_.empty() && (begin < 0 || begin + number > static_cast<mjtSize>(values.count)))
      problem_ = fmt::format("{}: {} entries from {} are not all among its {}", name, number, begin,
                             values.count);
    if (!problem_.empty()) return;
    for (mjtSize i = begin; i < begin + number; ++i) {
      const auto k = static_cast<std::size_t>(i);
      check(name, k, values[k], low, size - 1);
    }
  }

  /// A history has two numbers, and a time and the values of every sample (mj_initSensorHistory).
  void check_histories() {
    check_histories("actuator_history", "actuator_historyadr", [](std::size_t) { return 1; });
    check_histories("sensor_history", "sensor_historyadr",
                    [values = ints("sensor_dim")](std::size_t i) { return values[i]; });
  }

  template <class Values>
  void check_histories(std::string_view of, std::string_view begin, const Values& values) {
    const Ints samples = ints(of), addresses = ints(begin);
    for (std::size_t i = 0; i < addresses.count; ++i) {
      const mjtSize number = samples[2 * i], size = mjtSize{values(i)} + 1;
      check(of, 2 * i, number, 0, addresses[i] < 0 ? 0 : sizes_.nhistory);
      if (number > 0) check(begin, i, addresses[i], 0, sizes_.nhistory - number * size - 2);
    }
  }

  /// Where names begin, and their map: two slots for each, kind by kind in the order of the arrays,
  /// with a number of its kind or -1.
  void check_names() {
    mjtSize begin = 0;
    for (const BinaryArray& one : arrays_) {
      if (!one.name.starts_with("name_")) continue;
      const auto count = static_cast<mjtSize>(ints(one.name).count);
      check_part(one.name, 0, count, 0, sizes_.nnames);
      check_part("names_map", begin, 2 * count, -1, count);
      begin += 2 * count;
    }
  }

  void check_meshes() {
    for (std::size_t i = 0; problem_.empty() && i < static_cast<std::size_t>(sizes_.nmesh); ++i) {
      const auto of = [&](std::string_view name) { return mjtSize{ints(name)[i]}; };
      const mjtSize vertices = of("mesh_vertnum"), face = 3 * of("mesh_faceadr"),
                    corners = 3 * of("mesh_facenum"), coordinates = of("mesh_texcoordnum");
      check_part("mesh_face", face, corners, 0, vertices);
      check_part("mesh_facenormal", face, corners, 0, of("mesh_normalnum"));
      if (coordinates > 0) check_part("mesh_facetexcoord", face, corners, 0, coordinates);
      check_part("mesh_extrema", 27 * static_cast<mjtSize>(i), 27, -1, vertices);
      check_part("bvh_nodeid", of("mesh_bvhadr"), of("mesh_bvhnum"), -1, of("mesh_facenum"));
      check_lists("mesh_polyvert", of("mesh_polyadr"), of("mesh_polynum"), sizes_.nmeshpolyvert,
                  vertices);
      check_lists("mesh_polymap", of("mesh_vertadr"), vertices, sizes_.nmeshpolymap,
                  of("mesh_polynum"));
      if (of("mesh_graphadr") >= 0) check_graph(of("mesh_graphadr"), vertices);
    }
    const Ints begins = ints("body_bvhadr"), numbers = ints("body_bvhnum");
    for (std::size_t i = 0; problem_.empty() && i < begins.count; ++i)
      check_part("bvh_nodeid", begins[i], numbers[i], -1, sizes_.ngeom);
  }

  /// Lists of an array, `name`adr and `name`num long, of entries `begin` to `begin` + `number`;
  /// each item is below `size`.
  void check_lists(const std::string& name, mjtSize begin, mjtSize number, mjtSize longest,
                   mjtSize size) {
    check_part(name + "num", begin, number, 0, longest + 1);
    const Ints addresses = ints(name + "adr"), numbers = ints(name + "num");
    const BinaryArray items = array(name);
    for (mjtSize i = begin; problem_.empty() && i < begin + number; ++i) {
      const auto k = static_cast<std::size_t>(i);
      check_part(items, addresses[k], numbers[k], 0, size);
    }
  }

  /// Counts of vertices and faces, begin of each vertex's edges, its number in the mesh, the edges,
  /// each list of which ends with -1, and the faces (mjmodel.h, mesh_graph).
  void check_graph(mjtSize begin, mjtSize vertices) {
    check_part("mesh_graph", begin, 2, 0, sizes_.nmeshgraph);
    if (!problem_.empty()) return;
    const Ints graph = ints("mesh_graph");
    const mjtSize count = graph[static_cast<std::size_t>(begin)],
                  faces = graph[static_cast<std::size_t>(begin) + 1], edges = count + 3 * faces;
    begin += 2;
    check_part("mesh_graph", begin, count, 0, edges);
    check_part("mesh_graph", begin + count, count, 0, vertices);
    check_part("mesh_graph", begin + 2 * count, edges, -1, count);
    check_part("mesh_graph", begin + 2 * count + edges, 3 * faces, 0, vertices);
    if (edges > 0) check_part("mesh_graph", begin + 2 * count + edges - 1, 1, -1, 0);
  }

  /// Data of height fields and textures.
  void check_pixels() {
    for (std::size_t i = 0; problem_.empty() && i < static_cast<std::size_t>(sizes_.nhfield); ++i) {
      check("hfield_nrow", i, ints("hfield_nrow")[i], 1, sizes_.nhfielddata);
      check("hfield_ncol", i, ints("hfield_ncol")[i], 1, sizes_.nhfielddata);
      if (problem_.empty())
        check("hfield_adr", i, ints("hfield_adr")[i], 0,
              sizes_.nhfielddata - mjtSize{ints("hfield_nrow")[i]} * ints("hfield_ncol")[i]);
    }
    for (std::size_t i = 0; problem_.empty() && i < static_cast<std::size_t>(sizes_.ntex); ++i) {
      constexpr int kMaxSide = 1 << 16, kMaxChannels = 4;
      check("tex_height", i, ints("tex_height")[i], 1, kMaxSide * 6);
      check("tex_width", i, ints("tex_width")[i], 1, kMaxSide);
      check("tex_nchannel", i, ints("tex_nchannel")[i], 1, kMaxChannels);
      mjtSize begin = 0;
      std::memcpy(&begin, array("tex_adr").bytes.data() + i * sizeof begin, sizeof begin);
      if (problem_.empty())
        check("tex_adr", i, begin, 0,
              sizes_.ntexdata -
                  mjtSize{ints("tex_height")[i]} * ints("tex_width")[i] * ints("tex_nchannel")[i]);
    }
  }

  const mjModel& sizes_;
  std::span<const BinaryArray> arrays_;
  std::string problem_;
};

}  // namespace

std::string index_problem(const mjModel& sizes, std::span<const BinaryArray> arrays) {
  return Checker(sizes, arrays).problem();
}

}  // namespace tendril
