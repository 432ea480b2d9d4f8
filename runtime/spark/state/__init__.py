"""The stateful operator, and the engines that it caches."""
