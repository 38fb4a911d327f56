#pragma once

#define PLUGINLIB_EXPORT_CLASS(Class, Base) static_assert(std::is_base_of_v<Base, Class>);
