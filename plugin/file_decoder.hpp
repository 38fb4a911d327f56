#pragma once

namespace tendril {

/// Registers the decoder that lets any MuJoCo program read Tendril's TOML files (robots, tubes):
/// `<asset><model name="arm" file="arm.toml"/></asset>` and `<attach model="arm" body="base"
/// prefix="A_"/>`, or `mj_parse`.
void register_file_decoder();

}  // namespace tendril
