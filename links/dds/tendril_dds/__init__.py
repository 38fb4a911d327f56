"""The controller of a robot file on DDS topics, as nodes of ROS 2 see them; docs/guide/dds.md."""

from tendril_dds.bridge import Bridge

__all__ = ["Bridge"]
