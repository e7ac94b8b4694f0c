"""Explain the decisions of passes, as text and as pictures.

Nothing here decides or changes anything. `explanations` lists the passes that can be explained.
"""
