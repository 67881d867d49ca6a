"""Where a NaN or an infinity comes from: a step run again, or looked at in the act."""
