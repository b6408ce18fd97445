"""The score table and what can be computed from it alone: the only room that sorts, pools ties and validates."""
