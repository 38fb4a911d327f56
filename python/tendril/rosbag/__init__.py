"""ROS 2 bags: the topics of a scene, and `tendril import`."""
