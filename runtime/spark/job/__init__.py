"""A job from its start to its end: session, checkpoint, lease, supervision."""
