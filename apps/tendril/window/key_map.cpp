#include "apps/tendril/window/key_map.hpp"

#include <GLFW/glfw3.h>

namespace tendril {
namespace {

using Where = KeyRow::Where;

// clang-format off
constexpr KeyRow kRows[] = {
    {Where::Live, {GLFW_KEY_SPACE}, "Space", "run / pause",
     [](Session& s, int) { s.run_or_pause(); }},
    {Where::Live, {GLFW_KEY_RIGHT}, "Right", "one step (Shift: ten)",
     [](Session& s, int many) { s.step(many); }},
    {Where::Recording, {GLFW_KEY_SPACE}, "Space", "play / pause",
     [](Session& s, int) { s.run_or_pause(); }},
    {Where::Recording, {GLFW_KEY_RIGHT}, "Left, Right", "one row (Shift: ten)",
     [](Session& s, int many) { s.step(many); }},
    {Where::Recording, {GLFW_KEY_LEFT}, nullptr, nullptr,
     [](Session& s, int many) { s.step(-many); }},
    {Where::Recording, {GLFW_KEY_PAGE_UP}, "Page up, down", "a tenth of the recording",
     [](Session& s, int) { s.jump(-0.1); }},
    {Where::Recording, {GLFW_KEY_PAGE_DOWN}, nullptr, nullptr,
     [](Session& s, int) { s.jump(0.1); }},
    {Where::Recording, {GLFW_KEY_HOME}, "Home, End", "first, last row",
     [](Session& s, int) { s.jump(-1.0); }},
    {Where::Recording, {GLFW_KEY_END}, nullptr, nullptr,
     [](Session& s, int) { s.jump(1.0); }},
    {Where::Live, {GLFW_KEY_BACKSPACE}, "Backspace", "reset",
     [](Session& s, int) { s.source->reset(); }},
    {Where::Recording, {GLFW_KEY_BACKSPACE}, "Backspace", "first row",
     [](Session& s, int) { s.source->reset(); }},
    {Where::Always, {GLFW_KEY_EQUAL, GLFW_KEY_KP_ADD}, "+  -", "faster, slower",
     [](Session& s, int) { s.change_speed(2.0); }},
    {Where::Always, {GLFW_KEY_MINUS, GLFW_KEY_KP_SUBTRACT}, nullptr, nullptr,
     [](Session& s, int) { s.change_speed(0.5); }},
    {Where::Recording, {}, "Drag bar below", "go to a time", nullptr},
    {Where::Live, {GLFW_KEY_F3}, "F3", "panel: commands, joints, faults",
     [](Session& s, int) { s.shown.panel = !s.shown.panel; }},
    {Where::Live, {GLFW_KEY_R}, "R", "record, end the recording",
     [](Session& s, int) { s.record_or_end(); }},
    {Where::Motions, {GLFW_KEY_M}, "M", "motion of the experiment on, off",
     [](Session& s, int) { s.source->switch_motions(!s.source->motions_on()); }},
    {Where::Always, {GLFW_KEY_C}, "C", "contact points, forces, names",
     [](Session& s, int) { s.switch_contacts(); }},
    {Where::Always, {GLFW_KEY_P}, "P", "planned and actual centerline",
     [](Session& s, int) { s.shown.centerline = !s.shown.centerline; }},
    {Where::Always, {GLFW_KEY_K}, "K", "links of continuum arms instead of their smooth body",
     [](Session& s, int) { s.shown.links = !s.shown.links; }},
    {Where::Always, {GLFW_KEY_L}, "L", "plots",
     [](Session& s, int) { s.shown.plots = !s.shown.plots; }},
    {Where::Always, {GLFW_KEY_I}, "I", "numbers",
     [](Session& s, int) { s.shown.numbers = !s.shown.numbers; }},
    {Where::Always, {GLFW_KEY_S}, "S", "shadows (switched off automatically if rendering is slow)",
     [](Session& s, int) { s.shown.shadows = !s.shown.shadows; s.shown.shadows_chosen = true; }},
    {Where::Always, {GLFW_KEY_TAB}, "Tab", "next camera (Esc: free)",
     [](Session& s, int) { s.next_camera(); }},
    {Where::Always, {GLFW_KEY_ESCAPE}, nullptr, nullptr,
     [](Session& s, int) { s.free_camera(); }},
    {Where::Always, {}, "Left drag", "rotate the view", nullptr},
    {Where::Always, {}, "Right drag", "move the view (Shift: horizontally)", nullptr},
    {Where::Always, {}, "Scroll, middle drag", "zoom", nullptr},
    {Where::Always, {}, "Double click", "select a body", nullptr},
    {Where::Live, {}, "Drag a target", "move it (left: across, right: deep)", nullptr},
    {Where::Live, {GLFW_KEY_G}, "G", "select the next target",
     [](Session& s, int) { s.mouse.select_next_target(s.model()); }},
    {Where::Live, {}, "Ctrl + right drag", "pull the selected body", nullptr},
    {Where::Live, {}, "Ctrl + left drag", "rotate the selected body", nullptr},
    {Where::Always, {GLFW_KEY_F1}, "F1", "this help",
     [](Session& s, int) { s.shown.help = !s.shown.help; }},
    {Where::Always, {GLFW_KEY_F2}, "F2", "screenshot of the window (PNG)",
     [](Session& s, int) { s.screenshot_requested = true; }},
    {Where::Always, {GLFW_KEY_Q}, "Q", "close", [](Session& s, int) { s.window.close(); }},
};
// clang-format on

}  // namespace

std::span<const KeyRow> key_rows() noexcept { return kRows; }

bool applies(const KeyRow& row, const simulation::ViewSource& source) {
  switch (row.where) {
    case Where::Always:
      return true;
    case Where::Live:
      return source.is_live();
    case Where::Motions:
      return source.has_motions();
    case Where::Recording:
      return !source.is_live();
  }
  return false;
}

void press(Session& session, int key, int modifiers) {
  const int many = (modifiers & GLFW_MOD_SHIFT) != 0 ? 10 : 1;
  for (const KeyRow& row : kRows) {
    const bool is_meant = row.action != nullptr && (row.keys[0] == key || row.keys[1] == key);
    if (is_meant && applies(row, *session.source)) return row.action(session, many);
  }
}

}  // namespace tendril
