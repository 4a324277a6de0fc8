"""From arrays to a model and a verdict: does training for decisions pay on these data?"""
