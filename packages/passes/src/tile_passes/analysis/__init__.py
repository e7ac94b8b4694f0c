"""Compute facts about functions that several passes share: live ranges, liveness, memories."""
