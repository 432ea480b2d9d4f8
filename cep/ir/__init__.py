"""What the stages hand to each other: syntax tree, checked patterns, queries, shapes, plans, and the types in them.

Nothing here decides anything; nothing here imports a pass.
"""
